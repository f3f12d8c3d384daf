// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// server is one process that listens on a port of 127.0.0.1.
type server struct {
	kind, role string
	port       int
	argv, env  []string
	dir, log   string

	process *exec.Cmd
	ended   chan struct{}
	endErr  error
}

func (s *server) addr() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// startLimit bounds a start; Java's servers take seconds, on a busy machine minutes. stopLimit bounds an orderly stop;
// Apache's broker takes a quarter of a minute.
const (
	startLimit = 4 * time.Minute
	stopLimit  = 60 * time.Second
)

// apacheJava are the JVM options that Java 17 and a small machine ask for.
var apacheJava = []string{
	"--add-opens", "java.base/java.nio=ALL-UNNAMED", "--add-opens", "java.base/sun.nio.ch=ALL-UNNAMED",
	"--add-exports", "java.base/jdk.internal.ref=ALL-UNNAMED", "--add-opens", "java.base/java.lang=ALL-UNNAMED",
	"--add-opens", "java.base/jdk.internal.misc=ALL-UNNAMED", "--add-opens", "java.base/java.util=ALL-UNNAMED",
	"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:MaxDirectMemorySize=512m",
}

var apacheMain = map[string]string{
	"namesrv": "org.apache.rocketmq.namesrv.NamesrvStartup",
	"broker":  "org.apache.rocketmq.broker.BrokerStartup",
}

var apacheHeap = map[string]string{"namesrv": "-Xmx192m", "broker": "-Xmx640m"}

// apacheVersion returns the version of a kind like apache-5.3.3, "" for ours.
func apacheVersion(kind string) string {
	v, ok := strings.CutPrefix(kind, "apache-")
	if !ok {
		return ""
	}
	return v
}

// newServer writes the server's configuration into dir and prepares its command line.
func (c *cluster) newServer(ctx context.Context, kind, role, dir string, port int, common string, keys map[string]string) (*server, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString(common)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		fmt.Fprintf(&b, "%s=%s\n", k, keys[k])
	}
	conf := filepath.Join(dir, role+".conf")
	if err := os.WriteFile(conf, []byte(b.String()), 0o644); err != nil {
		return nil, err
	}
	s := &server{kind: kind, role: role, port: port, dir: dir, log: filepath.Join(dir, role+".out")}
	version := apacheVersion(kind)
	if version == "" {
		s.argv = []string{c.binary, role, "-c", conf}
		if role == "broker" {
			s.argv = append(s.argv, "-n", c.namesrv.addr())
		}
		s.env = []string{"HOME=" + dir, "ROCKETMQ_HOME=" + dir}
		return s, nil
	}
	jars, err := apacheJars(ctx, c.root, version, "broker")
	if err != nil {
		return nil, err
	}
	if err := quietLogback(filepath.Join(dir, "conf")); err != nil {
		return nil, err
	}
	s.argv = slices.Concat([]string{"java"}, apacheJava, c.java, []string{
		apacheHeap[role], "-Duser.home=" + dir,
		"-cp", filepath.Join(jars, "*"), apacheMain[role], "-c", conf,
	})
	s.env = []string{"ROCKETMQ_HOME=" + dir}
	return s, nil
}

// quietLogback writes the logging configurations without which 4.x does not start.
func quietLogback(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, role := range []string{"namesrv", "broker"} {
		text := []byte("<configuration><root level=\"OFF\"/></configuration>\n")
		if err := os.WriteFile(filepath.Join(dir, "logback_"+role+".xml"), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// apacheJars returns the folder of the jars of name server and broker ("broker"), or of the proxy, fetched once with Maven.
// ROCKETMQ_APACHE_JARS names another place that has a folder per version.
func apacheJars(ctx context.Context, root, version, program string) (string, error) {
	home, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache := filepath.Join(home, "rocketmq-go", "apache")
	if d := os.Getenv("ROCKETMQ_APACHE_JARS"); d != "" {
		cache = d
	}
	dir := filepath.Join(cache, version)
	if program == "proxy" {
		dir += "-proxy"
	}
	if _, err := os.Stat(filepath.Join(dir, "rocketmq-"+program+"-"+version+".jar")); err == nil {
		return dir, nil
	}
	part := fmt.Sprintf("%s.%d.part", dir, os.Getpid()) // renamed when complete: an interrupted download never counts
	defer os.RemoveAll(part)
	cmd := exec.CommandContext(ctx, "mvn", "-B", "-q", "-Dstyle.color=never", "-f", filepath.Join(root, "conformance", "apache", "pom.xml"),
		"dependency:copy-dependencies", "-DoutputDirectory="+part, "-Drocketmq.version="+version, "-Drocketmq.program="+program)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("jars of Apache RocketMQ %s: %w", version, err)
	}
	return dir, os.Rename(part, dir)
}

// start returns when the port accepts connections.
func (s *server) start(ctx context.Context) error {
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(s.argv[0], s.argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	cmd.Env = append(os.Environ(), s.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt of the terminal reaches it through stop only
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s %s: %w", s.kind, s.role, err)
	}
	s.process, s.ended = cmd, make(chan struct{})
	go func() {
		s.endErr = cmd.Wait()
		close(s.ended)
	}()
	for deadline := time.Now().Add(startLimit); ; {
		conn, err := net.DialTimeout("tcp", s.addr(), time.Second)
		if err == nil {
			return conn.Close()
		}
		if err := s.alive(); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("%s %s does not listen on %s, see %s", s.kind, s.role, s.addr(), s.log), s.stop(syscall.SIGKILL))
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), s.stop(syscall.SIGKILL))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// alive tells why the process ended, if it did.
func (s *server) alive() error {
	select {
	case <-s.ended:
		text, _ := os.ReadFile(s.log)
		return fmt.Errorf("%s %s ended: %v\n%s", s.kind, s.role, s.endErr, text[max(0, len(text)-4000):])
	default:
		return nil
	}
}

// stop ends the process with a signal and waits for it; an orderly stop that takes too long becomes an error.
func (s *server) stop(sig syscall.Signal) error {
	if s.process == nil {
		return nil
	}
	defer func() { s.process = nil }()
	if err := s.alive(); err != nil {
		return err
	}
	start := time.Now()
	if err := s.process.Process.Signal(sig); err != nil {
		return err
	}
	select {
	case <-s.ended:
		fmt.Fprintf(os.Stderr, "%s %s stopped after %d ms\n", s.role, s.kind, time.Since(start).Milliseconds())
		return nil
	case <-time.After(stopLimit):
		_ = s.process.Process.Kill()
		<-s.ended
		return fmt.Errorf("%s %s did not stop within %s and was killed", s.kind, s.role, stopLimit)
	}
}

// clusterInfo asks a name server for GET_BROKER_CLUSTER_INFO and returns the body of its answer.
func clusterInfo(addr string) (string, error) {
	conn, err := net.DialTimeout("tcp", addr, 3*time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(3 * time.Second))
	header := `{"code":106,"flag":0,"language":"GO","opaque":1,"serializeTypeCurrentRPC":"JSON","version":317}`
	frame := binary.BigEndian.AppendUint32(nil, uint32(4+len(header)))
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(header)))
	if _, err := conn.Write(append(frame, header...)); err != nil {
		return "", err
	}
	var sizes [8]byte
	if _, err := io.ReadFull(conn, sizes[:]); err != nil {
		return "", err
	}
	rest := int(binary.BigEndian.Uint32(sizes[:])) - 4
	head := int(binary.BigEndian.Uint32(sizes[4:]) & 0xffffff)
	if rest < head || rest > 1<<20 {
		return "", fmt.Errorf("answer of %d bytes with a header of %d", rest, head)
	}
	answer := make([]byte, rest)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return "", err
	}
	return string(answer[head:]), nil
}

// fetchJars brings the jars of the named releases onto this machine.
func fetchJars(ctx context.Context, releases []string) error {
	for _, release := range releases {
		if _, err := apacheJars(ctx, ".", release, "broker"); err != nil {
			return err
		}
	}
	return nil
}

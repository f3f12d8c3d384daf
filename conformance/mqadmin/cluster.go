// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cluster is our name server and our broker, with the recorded servers' configuration.
type cluster struct {
	base      int // port of the name server
	processes []*exec.Cmd
}

// Ports above that of the name server, in whose process the controller is.
const (
	brokerPort     = 10
	controllerPort = 20
	metricsPort    = 30
	portsUsed      = 31
	startLimit     = 20 * time.Second
	stopLimit      = 20 * time.Second
)

func (c *cluster) addr(above int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(c.base+above))
}
func (c *cluster) namesrv() string    { return c.addr(0) }
func (c *cluster) controller() string { return c.addr(controllerPort) }

// Lines of the configuration that only 5.x knows are marked.
var (
	mark5 = regexp.MustCompile(`[ \t]*#5\.x.*`)
	only5 = regexp.MustCompile(`(?m)^.*#5\.x.*\n?`)
)

// configuration is the recorded servers' one, for servers that follow a release ("" for 5.3.3).
func configuration(text, compat string) string {
	if compat == "" {
		return mark5.ReplaceAllString(text, "")
	}
	return only5.ReplaceAllString(text, "") + "compatVersion=" + compat + "\n"
}

func start(ctx context.Context, s settings, work string) (*cluster, error) {
	base, err := freePorts()
	if err != nil {
		return nil, err
	}
	c := &cluster{base: base}
	binary, err := filepath.Abs(s.binary)
	if err != nil {
		return nil, err
	}
	for _, role := range []string{"namesrv", "broker"} {
		text, err := os.ReadFile(filepath.Join(s.peer, "conf", role+".conf"))
		if err != nil {
			return nil, errors.Join(err, c.stop())
		}
		conf := strings.NewReplacer("@NS@", strconv.Itoa(base), "@BROKER@", strconv.Itoa(base+brokerPort),
			"@CONTROLLER@", strconv.Itoa(base+controllerPort), "@PROM@", strconv.Itoa(base+metricsPort), "@WORK@", work,
		).Replace(configuration(string(text), s.compat))
		if err := c.startOne(ctx, binary, role, work, conf); err != nil {
			return nil, errors.Join(err, c.stop())
		}
	}
	return c, nil
}

func (c *cluster) startOne(ctx context.Context, binary, role, work, conf string) error {
	path := filepath.Join(work, role+".conf")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(conf), 0o644); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(work, role+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(binary, role, "-c", path)
	cmd.Dir, cmd.Stdout, cmd.Stderr = work, log, log
	cmd.Env = append(os.Environ(), "HOME="+work, "ROCKETMQ_HOME="+work)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.processes = append(c.processes, cmd)
	addr := c.namesrv()
	if role == "broker" {
		addr = c.addr(brokerPort)
	}
	for deadline := time.Now().Add(startLimit); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			return conn.Close()
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return fmt.Errorf("%s does not listen on %s, see %s", role, addr, log.Name())
		}
	}
}

// stop ends the processes, the newest first.
func (c *cluster) stop() error {
	var errs []error
	for i := len(c.processes) - 1; i >= 0; i-- {
		p := c.processes[i]
		kill := time.AfterFunc(stopLimit, func() { _ = p.Process.Kill() })
		if err := p.Process.Signal(syscall.SIGTERM); err != nil {
			errs = append(errs, err)
		}
		if err := p.Wait(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.Args[1], err))
		}
		kill.Stop()
	}
	return errors.Join(errs...)
}

// freePorts finds a range of ports that are free, below those that the system gives to outgoing connections and above those
// of conformance/harness, which may run at the same time.
func freePorts() (int, error) {
	for base := 28000 + os.Getpid()%30*101; base < 32000; base += 101 {
		if free(base) {
			return base, nil
		}
	}
	return 0, errors.New("no free ports")
}

func free(base int) bool {
	for port := base; port < base+portsUsed; port++ {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}

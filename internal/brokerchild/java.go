// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package brokerchild

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// StartJava runs Apache's broker of a release, on the store that is in settings (of Settings), and waits until it takes
// connections. Needs Java and the jars that conformance/harness fetches; ROCKETMQ_APACHE_JARS names another place.
func StartJava(ctx context.Context, t testing.TB, release string, settings map[string]string) *Child {
	t.Helper()
	jars := os.Getenv("ROCKETMQ_APACHE_JARS")
	if jars == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		jars = filepath.Join(cache, "rocketmq-go", "apache")
	}
	home, port := t.TempDir(), freePort(t)
	var conf strings.Builder
	for key, value := range settings {
		switch key {
		case "bindAddress", "rocketmqHome", "listenPort", "compatVersion": // ours alone, or set here
		default:
			fmt.Fprintf(&conf, "%s=%s\n", key, value)
		}
	}
	fmt.Fprintf(&conf, "listenPort=%d\nhaListenPort=%d\n", port, port+1)
	file := filepath.Join(home, "broker.conf")
	if err := os.Mkdir(filepath.Join(home, "conf"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		file: conf.String(),
		filepath.Join(home, "conf", "logback_broker.xml"): `<configuration><root level="OFF"/></configuration>`, // 4.9's
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(ctx, "java", "--add-opens", "java.base/java.nio=ALL-UNNAMED",
		"--add-opens", "java.base/sun.nio.ch=ALL-UNNAMED", "--add-exports", "java.base/jdk.internal.ref=ALL-UNNAMED",
		"--add-opens", "java.base/java.lang=ALL-UNNAMED", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m",
		"-XX:MaxDirectMemorySize=256m", "-Duser.home="+home, "-cp", filepath.Join(jars, release, "*"),
		"org.apache.rocketmq.broker.BrokerStartup", "-c", file)
	cmd.Env = append(os.Environ(), "ROCKETMQ_HOME="+home)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &Child{Addr: "127.0.0.1:" + strconv.Itoa(port), cmd: cmd, java: true}
	for {
		conn, err := net.DialTimeout("tcp", c.Addr, time.Second)
		if err == nil {
			conn.Close()
			return c
		}
		if ctx.Err() != nil {
			t.Fatal("the Java broker does not start")
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// stopJava ends it as its shutdown script does.
func (c *Child) stopJava(t testing.TB) {
	t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	_ = c.cmd.Wait() // 143 after the signal
}

// freePort finds a port whose neighbours that a Java broker listens on are free, too, above those of conformance/harness, which
// may run at the same time.
func freePort(t testing.TB) int {
	t.Helper()
	for port := 28000 + os.Getpid()%700*5; port < 32700; port += 5 {
		if isFree(port-2) && isFree(port) && isFree(port+1) {
			return port
		}
	}
	t.Fatal("no free ports")
	return 0
}

func isFree(port int) bool {
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		return false
	}
	l.Close()
	return true
}

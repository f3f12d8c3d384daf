// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

//go:build java

package transaction_test

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

	"rocketmq-go/internal/brokerchild"
)

// A Java broker goes on with the transactions that we began, and we with its own: over one store, in turn. Needs Java and the
// jars that conformance/harness fetches.
func TestJavaContinues(t *testing.T) {
	for _, release := range []string{"5.3.3", "4.9.7"} {
		t.Run(release, func(t *testing.T) { continues(t, release) })
	}
}

func continues(t *testing.T, release string) {
	jars := os.Getenv("ROCKETMQ_APACHE_JARS")
	if jars == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		jars = filepath.Join(cache, "rocketmq-go", "apache")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	dir := t.TempDir()
	store := filepath.Join(dir, "store")
	t.Setenv(moreEnv, "compatVersion="+release+";transactionTimeOut=1000;transactionCheckInterval=1000")
	committed := 0
	for life := range 4 {
		name, start := "ours", func() (string, func()) { return ours(t, store) }
		if life%2 == 1 {
			name, start = "Java", func() (string, func()) { return java(t, ctx, filepath.Join(jars, release), dir, store) }
		}
		addr, stop := start()
		c := newClient(t, addr)
		// Those of the former life are asked about first.
		if err := c.heartbeat(ctx); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(2 * time.Minute); ; {
			if n := count(t, c.delivered(ctx)); n == committed || time.Now().After(end) {
				t.Logf("%s: %d of %d delivered, %d questions", name, n, committed, c.asked.Load())
				if n != committed {
					t.Errorf("%s does not go on", name)
				}
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		if life > 0 && c.asked.Load() == 0 {
			t.Errorf("%s asked nothing", name)
		}
		c.forget(ctx)
		for i := range 8 {
			body := []string{"commit", "rollback"}[i%2] + fmt.Sprintf(" %d.%d", life, i)
			queueOffset, phyOffset, ok := c.half(ctx, body)
			if !ok {
				t.Fatal("no half message")
			}
			if i < 4 {
				if err := c.Oneway(ctx, c.addr, end(body, queueOffset, phyOffset, false)); err != nil {
					t.Fatal(err)
				}
			}
			if i%2 == 0 {
				committed++
			}
		}
		time.Sleep(4 * time.Second) // the ends are noted, and the rest is asked about in vain
		_ = c.Close()
		stop()
	}
}

// forget makes the producer unknown: nobody is there to be asked.
func (c *client) forget(ctx context.Context) {
	cmd := command(35, nil, nil)
	cmd.Fields.Add("clientID", "kill")
	cmd.Fields.Add("producerGroup", goodGroup)
	if _, err := c.Call(ctx, c.addr, cmd); err != nil {
		c.t.Fatal(err)
	}
}

// count is how many messages were delivered; all must be those that were committed.
func count(t *testing.T, seen map[string]int) int {
	for body := range seen {
		if !strings.HasPrefix(body, "commit") {
			t.Errorf("%q was rolled back and is delivered", body)
		}
	}
	return len(seen)
}

func ours(t *testing.T, store string) (addr string, stop func()) {
	b := brokerchild.Start(t, store)
	return b.Addr, func() { b.Stop(t) }
}

func java(t *testing.T, ctx context.Context, jars, dir, store string) (addr string, stop func()) {
	port := freePorts(t)
	var b strings.Builder
	for key, value := range settings(store) {
		if key != "compatVersion" && key != "bindAddress" && key != "rocketmqHome" {
			fmt.Fprintf(&b, "%s=%s\n", key, value)
		}
	}
	fmt.Fprintf(&b, "listenPort=%d\nhaListenPort=%d\n", port, port+1)
	conf := filepath.Join(dir, "broker.conf")
	if err := os.MkdirAll(filepath.Join(dir, "conf"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		conf: b.String(),
		filepath.Join(dir, "conf", "logback_broker.xml"): `<configuration><root level="OFF"/></configuration>`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(ctx, "java", "--add-opens", "java.base/java.nio=ALL-UNNAMED",
		"--add-opens", "java.base/sun.nio.ch=ALL-UNNAMED", "--add-exports", "java.base/jdk.internal.ref=ALL-UNNAMED",
		"--add-opens", "java.base/java.lang=ALL-UNNAMED", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m",
		"-XX:MaxDirectMemorySize=256m", "-Duser.home="+dir, "-cp", filepath.Join(jars, "*"),
		"org.apache.rocketmq.broker.BrokerStartup", "-c", conf)
	cmd.Env = append(os.Environ(), "ROCKETMQ_HOME="+dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	addr = "127.0.0.1:" + strconv.Itoa(port)
	for {
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			conn.Close()
			break
		}
		if ctx.Err() != nil {
			t.Fatal("the Java broker does not start")
		}
		time.Sleep(100 * time.Millisecond)
	}
	return addr, func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // 143 after a signal
	}
}

// freePorts finds a port with free neighbours.
func freePorts(t *testing.T) int {
	for port := 18000 + os.Getpid()%8000; port < 32000; port += 5 {
		free := true
		for _, p := range []int{port - 2, port, port + 1} {
			l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(p))
			if err != nil {
				free = false
				break
			}
			l.Close()
		}
		if free {
			return port
		}
	}
	t.Fatal("no free ports")
	return 0
}

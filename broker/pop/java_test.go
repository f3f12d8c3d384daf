// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

//go:build java

package pop_test

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

// A Java broker gives again what nobody acknowledged at ours, and ours what nobody acknowledged at Java's: over one store, in
// turn. Nothing that was acknowledged comes again. Needs Java and the jars that conformance/harness fetches.
func TestJavaContinues(t *testing.T) {
	jars := os.Getenv("ROCKETMQ_APACHE_JARS")
	if jars == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		jars = filepath.Join(cache, "rocketmq-go", "apache")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	dir := t.TempDir()
	store := filepath.Join(dir, "store")
	l := newLedger(t)
	for life := range 3 {
		name, start := "ours", func() (string, func()) { return ours(t, store) }
		if life%2 == 1 {
			name, start = "Java", func() (string, func()) { return java(t, ctx, filepath.Join(jars, "5.3.3"), dir, store) }
		}
		addr, stop := start()
		c := newClient(addr)
		open := l.missing()
		began := time.Now()
		l.until(ctx, c, func() bool { return l.missing() == 0 })
		t.Logf("%s: %d that the other one left were given again within %v", name, open, time.Since(began).Round(time.Second))
		for i := range 8 {
			body := strconv.Itoa(life) + "." + strconv.Itoa(i)
			if !c.send(ctx, body) {
				t.Fatal("not sent")
			}
			l.mu.Lock()
			l.sent[body] = true
			l.mu.Unlock()
		}
		l.until(ctx, c, func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return len(l.seen) == len(l.sent)
		})
		_ = c.Close()
		stop()
	}
	if ctx.Err() != nil {
		t.Errorf("%d of %d were not given again", l.missing(), len(l.sent))
	}
	if n := l.missing(); n != 4 { // of the last life
		t.Errorf("%d are open", n)
	}
}

// until pops until something is so.
func (l *ledger) until(ctx context.Context, c *client, is func() bool) {
	for ctx.Err() == nil && !is() {
		list, err := c.pop(ctx, 500)
		if err != nil {
			l.t.Error(err)
			return
		}
		for i := range list {
			if g := &list[i]; l.take(g) {
				l.ackedNow(g, c.ack(ctx, g))
			}
		}
	}
}

func ours(t *testing.T, store string) (addr string, stop func()) {
	b := brokerchild.Start(t, store)
	return b.Addr, func() { b.Stop(t) }
}

func java(t *testing.T, ctx context.Context, jars, dir, store string) (addr string, stop func()) {
	port := freePorts(t)
	var b strings.Builder
	for key, value := range settings(store) {
		if key != "bindAddress" && key != "rocketmqHome" && key != "listenPort" {
			fmt.Fprintf(&b, "%s=%s\n", key, value)
		}
	}
	fmt.Fprintf(&b, "listenPort=%d\nhaListenPort=%d\n", port, port+1)
	conf := filepath.Join(dir, "broker.conf")
	if err := os.MkdirAll(filepath.Join(dir, "conf"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(conf, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
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

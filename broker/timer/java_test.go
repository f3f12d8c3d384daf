// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

//go:build java

package timer_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"rocketmq-go/internal/brokerchild"
)

// A Java broker delivers what we have entered, and we what it has: over one store, in turn, stopped cleanly and killed.
// Needs Java and the jars that conformance/harness fetches.
func TestJavaContinues(t *testing.T) {
	jars := os.Getenv("ROCKETMQ_APACHE_JARS")
	if jars == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		jars = filepath.Join(cache, "rocketmq-go", "apache")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 12*time.Minute)
	defer cancel()
	dir := t.TempDir()
	store := filepath.Join(dir, "store")
	b := &book{due: map[string]time.Time{}, taken: map[string]bool{}, maybe: map[string]bool{}}
	by := map[string]string{} // who took each message
	var lives []string
	var killed [][2]time.Time
	for life, name := range []string{"ours", "Java", "ours, killed", "Java, killed", "ours", "Java", "ours"} {
		var addr string
		var stop func(kill bool)
		if strings.HasPrefix(name, "ours") {
			addr, stop = ours(t, store)
		} else {
			addr, stop = java(t, ctx, filepath.Join(jars, "5.3.3"), dir, store)
		}
		began := time.Now()
		c := newClient(t, addr)
		before := len(c.delivered(ctx))
		if life < 6 {
			for i := range 60 {
				body := fmt.Sprintf("%d.%d", life, i)
				// Within this life, the next one, or some later one.
				due := time.UnixMilli(time.Now().Add(time.Duration(i) * 500 * time.Millisecond).UnixMilli())
				handle, ok := c.send(ctx, body, due)
				if !ok {
					t.Fatal("not sent")
				}
				b.due[body], by[body] = due, name
				if i%7 == 6 {
					b.taken[body] = c.recall(ctx, handle)
				}
			}
			time.Sleep(6 * time.Second)
		} else {
			for end := time.Now().Add(3 * time.Minute); !complete(b, c.delivered(ctx)) && time.Now().Before(end); {
				time.Sleep(500 * time.Millisecond)
			}
		}
		after := len(c.delivered(ctx))
		lives = append(lives, fmt.Sprintf("%s %v: %d delivered", name, time.Since(began).Round(time.Second), after-before))
		if life == 6 {
			checkAll(t, b, by, c.delivered(ctx), killed)
		}
		_ = c.Close()
		stop(strings.HasSuffix(name, "killed"))
		if strings.HasSuffix(name, "killed") {
			killed = append(killed, [2]time.Time{began, time.Now()})
		}
	}
	t.Log(strings.Join(lives, "; "))
}

// complete tells whether all messages have come that shall.
func complete(b *book, seen map[string][]time.Time) bool {
	for body := range b.due {
		if !b.taken[body] && len(seen[body]) == 0 {
			return false
		}
	}
	return true
}

// checkAll also looks for messages that came twice: they may if they came first in a life that was killed.
func checkAll(t *testing.T, b *book, by map[string]string, seen map[string][]time.Time, killed [][2]time.Time) {
	twice := map[string]int{}
	for body, due := range b.due {
		times := seen[body]
		switch {
		case b.taken[body] && len(times) > 0:
			t.Errorf("message %s, sent to %s, was taken back and came", body, by[body])
		case !b.taken[body] && len(times) == 0:
			t.Errorf("message %s, sent to %s, did not come", body, by[body])
		case len(times) > 1:
			twice[by[body]]++
			if !slices.ContainsFunc(killed, func(life [2]time.Time) bool {
				return times[0].After(life[0]) && times[0].Before(life[1])
			}) {
				t.Errorf("message %s, sent to %s, came twice: %v", body, by[body], times)
			}
		}
		for _, at := range times {
			if at.Before(due) {
				t.Errorf("message %s, sent to %s, came %v early", body, by[body], due.Sub(at))
			}
		}
	}
	t.Logf("%d messages; twice came %v", len(b.due), twice)
}

func ours(t *testing.T, store string) (addr string, stop func(kill bool)) {
	b := brokerchild.Start(t, store)
	return b.Addr, func(kill bool) {
		if !kill {
			b.Stop(t)
			return
		}
		b.Kill(t)
	}
}

func java(t *testing.T, ctx context.Context, jars, dir, store string) (addr string, stop func(kill bool)) {
	port := freePorts(t)
	var conf strings.Builder
	for key, value := range settings(store) {
		if key != "bindAddress" && key != "rocketmqHome" && key != "listenPort" {
			fmt.Fprintf(&conf, "%s=%s\n", key, value)
		}
	}
	fmt.Fprintf(&conf, "listenPort=%d\nhaListenPort=%d\n", port, port+1)
	file := filepath.Join(dir, "broker.conf")
	if err := os.MkdirAll(filepath.Join(dir, "conf"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		file: conf.String(),
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
		"org.apache.rocketmq.broker.BrokerStartup", "-c", file)
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
	return addr, func(kill bool) {
		if kill {
			_ = cmd.Process.Kill()
		} else {
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
		_ = cmd.Wait() // 143 after a signal
	}
}

// freePorts finds a port with free neighbours.
func freePorts(t *testing.T) int {
	for port := 19000 + os.Getpid()%8000; port < 32000; port += 5 {
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

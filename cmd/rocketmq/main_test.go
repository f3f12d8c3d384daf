// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// output is a writer that a running server and the test share.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

type process struct {
	out, err output
	portFile string // of startStandalone
	stop     context.CancelFunc
	code     chan int
}

func run(t *testing.T, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p := &process{stop: cancel, code: make(chan int, 1)}
	home := t.TempDir()
	getenv := func(name string) string {
		if name == "HOME" {
			return home
		}
		return ""
	}
	go func() {
		p.code <- dispatch(ctx, env{args: args, stdout: &p.out, stderr: &p.err, getenv: getenv})
	}()
	t.Cleanup(func() {
		cancel()
		p.wait(t)
	})
	return p
}

// wait is the exit code of a command that ends.
func (p *process) wait(t *testing.T) int {
	t.Helper()
	select {
	case code := <-p.code:
		p.code <- code
		return code
	case <-time.After(2 * time.Minute):
		t.Fatalf("the command does not end\n%s%s", &p.out, &p.err)
		return -1
	}
}

// ready waits for the port file of a server.
func (p *process) ready(t *testing.T, file string) ports {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		text, err := os.ReadFile(file)
		if err == nil {
			var got ports
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatalf("port file %q: %v", text, err)
			}
			return got
		} else if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		select {
		case code := <-p.code:
			t.Fatalf("the server ended with %d before it was ready\n%s%s", code, &p.out, &p.err)
		case <-tick.C:
		}
	}
}

func startStandalone(t *testing.T, store string, more ...string) (*process, ports) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ports.json")
	args := append([]string{
		"standalone", "--store", store, "--bind", "127.0.0.1", "--listen-port", "0", "--namesrv-port", "0",
		"--port-file", file,
	}, more...)
	p := run(t, args...)
	p.portFile = file
	return p, p.ready(t, file)
}

func TestStandaloneAndDemo(t *testing.T) {
	store := filepath.Join(t.TempDir(), "data")
	server, at := startStandalone(t, store)
	for _, want := range []string{"RocketMQ is ready", at.Namesrv, at.Broker, store, "Clients will be told", "Next: rocketmq demo -n " + at.Namesrv} {
		if !strings.Contains(server.out.String(), want) {
			t.Errorf("%q is missing in what the server says:\n%s", want, &server.out)
		}
	}
	settings := run(t, "mqadmin", "getBrokerConfig", "-b", at.Broker)
	if code := settings.wait(t); code != exitOK || !regexp.MustCompile(`enablePropertyFilter += +true`).MatchString(settings.out.String()) {
		t.Errorf("SQL92 filters are not on: exit code %d\n%s%s", code, &settings.out, &settings.err)
	}
	for range 2 { // the second run shares the topic with the first
		demo := run(t, "demo", "-n", at.Namesrv)
		if code := demo.wait(t); code != exitOK || strings.Count(demo.out.String(), "received ") != 3 {
			t.Errorf("demo ends with %d\n%s%s", code, &demo.out, &demo.err)
		}
	}
	server.stop()
	if code := server.wait(t); code != exitOK || server.err.String() != "" {
		t.Errorf("the server ends with %d\n%s", code, &server.err)
	}
	for _, file := range []string{filepath.Join(store, "abort"), server.portFile} {
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after a clean stop: %s: %v", file, err)
		}
	}
}

// TestSeparateServers starts the two servers as the scripts do, with configuration files, and checks Java's boot lines.
func TestSeparateServers(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	nsConf := write("namesrv.conf", "listenPort=0\nbindAddress=127.0.0.1\n")
	nsPorts := filepath.Join(dir, "ns.json")
	ns := run(t, "namesrv", "-c", nsConf, "--port-file", nsPorts)
	nsAddr := ns.ready(t, nsPorts).Namesrv
	for _, want := range []string{"load config properties file OK, " + nsConf + "\n", "The Name Server boot success. serializeType=JSON, address " + nsAddr + "\n"} {
		if !strings.Contains(ns.out.String(), want) {
			t.Errorf("%q is missing in %q", want, &ns.out)
		}
	}
	conf := write("broker.conf", "brokerName=b1\nbrokerIP1=127.0.0.1\nlistenPort=0\nstorePathRootDir="+dir+"/store\n")
	brokerPorts := filepath.Join(dir, "b.json")
	b := run(t, "broker", "-configFile", conf, "-n", nsAddr, "--port-file", brokerPorts)
	addr := b.ready(t, brokerPorts).Broker
	want := "The broker[b1, " + addr + "] boot success. serializeType=JSON and name server is " + nsAddr + "\n"
	if !strings.Contains(b.out.String(), want) {
		t.Errorf("%q is missing in %q", want, &b.out)
	}
	if !strings.Contains(b.out.String(), "Clients will be told "+addr+" (") {
		t.Errorf("the address that clients are told is missing in %q", &b.out)
	}
	demo := run(t, "demo", "-n", nsAddr)
	if code := demo.wait(t); code != exitOK {
		t.Errorf("demo ends with %d\n%s", code, &demo.err)
	}
	for _, p := range []*process{b, ns} {
		p.stop()
		if code := p.wait(t); code != exitOK {
			t.Errorf("a server ends with %d\n%s", code, &p.err)
		}
	}
}

// TestStartFails shows that what prevents a start is said on one line that names the thing and the remedy.
func TestStartFails(t *testing.T) {
	store := filepath.Join(t.TempDir(), "data")
	_, at := startStandalone(t, store)
	_, nsPort, _ := strings.Cut(at.Namesrv, ":")
	_, brokerPort, _ := strings.Cut(at.Broker, ":")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	standalone := func(args ...string) []string {
		return append([]string{"standalone", "--bind", "127.0.0.1"}, args...)
	}
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"name server's port in use": {standalone("--store", t.TempDir(), "--listen-port", "0", "--namesrv-port", nsPort), []string{nsPort, "--namesrv-port"}},
		"broker's port in use":      {standalone("--store", t.TempDir(), "--listen-port", brokerPort, "--namesrv-port", "0"), []string{brokerPort, "--listen-port"}},
		"store in use":              {standalone("--store", store, "--listen-port", "0", "--namesrv-port", "0"), []string{store, "lock"}},
		"store is a file":           {standalone("--store", file, "--listen-port", "0", "--namesrv-port", "0"), []string{file}},
		"no place for port file":    {standalone("--store", t.TempDir(), "--port-file", filepath.Join(file, "ports")), []string{"--port-file", file}},
		"repair of a store in use":  {[]string{"store", "repair", store, "--rebuild-index"}, []string{store, "(stop the server that uses this store)"}},
		"no configuration file":     {[]string{"config", "check", file + ".none"}, []string{"config check", file + ".none"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := run(t, c.args...)
			code, text := p.wait(t), p.err.String()
			if out := p.out.String(); out != "" {
				t.Errorf("it says\n%s", out)
			}
			if code != exitFailed || strings.Count(text, "\n") != 1 {
				t.Errorf("exit code %d, and it says\n%s", code, text)
			}
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q is missing in %q", want, text)
				}
			}
		})
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"", exitUsage, "usage: rocketmq"},
		{"help", exitOK, "standalone"},
		{"nonsense", exitUsage, `no sub-command "nonsense"`},
		{"version", exitOK, "rocketmq "},
		{"--version", exitOK, "rocketmq "},
		{"help broker", exitOK, "--configFile"},
		{"config check -h", exitOK, "config check"},
		{"store dump -h", exitOK, "dump DIR"},
		{"standalone nonsense", exitUsage, "nonsense"},
		{"standalone --set x", exitUsage, "--set x: key=value is expected"},
		{"standalone --log-level loud", exitUsage, "loud"},
		{"standalone --listen-port 70000", exitUsage, "--listen-port 70000: 3 to 65535"},
		{"standalone --listen-port 2", exitUsage, "--listen-port 2: 3 to 65535"},
		{"standalone --namesrv-port -1", exitUsage, "--namesrv-port -1: 1 to 65535"},
		{"config check --nonsense", exitUsage, "--nonsense"},
		{"demo nonsense", exitUsage, "nonsense"},
		{"broker -h", exitOK, "--configFile"},
		{"broker --nonsense", exitUsage, "nonsense"},
		{"store", exitUsage, "feed INPUTS"},
		{"store nonsense", exitUsage, "nonsense"},
		{"config", exitUsage, "config check"},
		{"broker -p", exitOK, "autoCreateTopicEnable=true"},
		{"broker -m", exitOK, "autoCreateTopicEnable"},
		{"broker -c /nonexistent/broker.conf", 255, "/nonexistent/broker.conf"},
		{"broker -n abc", 253, "abc"},
		{"standalone --set brokerRole=SLAVE --set brokerId=1", 253, "Start a slave with mqbroker -c FILE"},
		{"broker -m autoCreateTopicEnable=false", exitOK, `"autoCreateTopicEnable=false" has no effect`},
	} {
		p := run(t, strings.Fields(c.args)...)
		if code := p.wait(t); code != c.code || !strings.Contains(p.out.String()+p.err.String(), c.want) {
			t.Errorf("rocketmq %s: code %d, expected %d with %q\n%s%s", c.args, code, c.code, c.want, &p.out, &p.err)
		}
	}
}

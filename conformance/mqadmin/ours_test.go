// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/compat"
	"rocketmq-go/compat/properties"
	"rocketmq-go/config"
	"rocketmq-go/controller"
	"rocketmq-go/rocketmqtest"
)

// brokerOptions are the recorded broker's configuration.
func brokerOptions(t *testing.T, dir, release string) []rocketmqtest.Option {
	t.Helper()
	text, err := os.ReadFile("testdata/broker.conf")
	if err != nil {
		t.Fatal(err)
	}
	list, err := properties.Parse([]byte(configuration(string(text), release)))
	if err != nil {
		t.Fatal(err)
	}
	var options []rocketmqtest.Option
	for _, e := range list {
		if strings.ContainsAny(e.Value, "@") && e.Key != "authConfigPath" {
			continue // ports, addresses and paths are those of the test
		}
		options = append(options, rocketmqtest.WithConfig(e.Key, strings.ReplaceAll(e.Value, "@WORK@", dir)))
	}
	for _, other := range [][2]string{ // what rocketmqtest chooses for small tests
		{"maxIndexNum", "20000000"},
		{"maxHashSlotNum", "5000000"},
		{"bindAddress", "0.0.0.0"},
		{"storePathCommitLog", filepath.Join(dir, "store", "commitlog")},
	} {
		options = append(options, rocketmqtest.WithConfig(other[0], other[1]))
	}
	options = append(options, rocketmqtest.WithNamesrvConfig("bindAddress", "0.0.0.0"))
	if release != "" {
		return append(options, rocketmqtest.WithNamesrvConfig("compatVersion", release))
	}
	for key, value := range controllerKeys(dir) {
		options = append(options, rocketmqtest.WithNamesrvConfig(key, value))
	}
	return options
}

// controllerKeys are those of the recorded controller, which was in the process of the name server.
func controllerKeys(dir string) map[string]string {
	return map[string]string{
		"enableControllerInNamesrv": "true", "controllerDLegerGroup": "group1", "controllerDLegerPeers": "n0-" + controllerAddr,
		"controllerDLegerSelfId": "n0", "controllerStorePath": filepath.Join(dir, "controller"),
	}
}

// TestOurs runs our tool through the whole plan against our servers, in virtual time, and compares what it prints with what
// Java's tool printed for Apache's. MQADMIN_RESULTS names a folder for the outputs; with MQADMIN_RECORD the lines of known
// differences are written into the list.
func TestOurs(t *testing.T) {
	t.Run(compat.Release533, func(t *testing.T) { testOurs(t, "ours", "") })
	t.Run(compat.Release497, func(t *testing.T) { testOurs(t, "ours@4.9.7", compat.Release497) })
}

func testOurs(t *testing.T, name, release string) {
	recorded, err := recordings(compat.Release533, release)
	if err != nil {
		t.Fatal(err)
	}
	list, err := filepath.Abs("../mqadmin-known.txt")
	if err != nil {
		t.Fatal(err)
	}
	known, err := readKnown(list)
	if err != nil {
		t.Fatal(err)
	}
	results := os.Getenv("MQADMIN_RESULTS")
	if results != "" {
		results = filepath.Join(results, name)
		if err := os.MkdirAll(results, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dir, work := t.TempDir(), t.TempDir()
	options := append(brokerOptions(t, dir, release), rocketmqtest.WithPipe(), rocketmqtest.WithDir(dir))
	t.Chdir(work)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)))
		c := rocketmqtest.Start(t, options...)
		dial := c.Dial
		if release == "" { // 4.9 has no controllers
			dial = withController(t, dir, dial)
		}
		r := &ours{
			namesrv: c.NamesrvAddr, broker: c.BrokerAddr, controller: controllerAddr, release: release,
			dial: dial, work: work, recorded: recorded, results: results,
		}
		got, err := r.run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if os.Getenv("MQADMIN_RECORD") != "" {
			known.record(name, comparableAll(recorded), comparableAll(got))
			if err := os.WriteFile(list, []byte(known.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		var w bytes.Buffer
		if err := report(&w, name, comparableAll(recorded), comparableAll(got), known); err != nil {
			t.Errorf("%v\n%s", err, &w)
		}
	})
}

// controllerAddr is where nothing but withController listens.
const controllerAddr = "127.0.0.1:9878"

// withController starts a controller with the recorded one's configuration, which is reached by dial besides what dial
// reaches.
func withController(t *testing.T, dir string, dial func(context.Context, string) (net.Conn, error)) func(context.Context, string) (net.Conn, error) {
	t.Helper()
	set := controllerKeys(dir)
	set["rocketmqHome"], set["kvConfigPath"] = dir, filepath.Join(dir, "kvConfig.json")
	set["configStorePath"] = filepath.Join(dir, "controller.properties")
	cfg, _, err := config.LoadController(config.Options{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	ctl, err := controller.New(cfg, controller.Options{NoListen: true})
	if err == nil {
		err = ctl.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ctl.Close(); err != nil {
			t.Error(err)
		}
	})
	for !ctl.Leading() {
		time.Sleep(time.Millisecond)
	}
	return func(ctx context.Context, addr string) (net.Conn, error) {
		if addr == controllerAddr {
			return ctl.Pipe(), nil
		}
		return dial(ctx, addr)
	}
}

// TestTables wants docs/mqadmin.md to say what the lists say: go run ./conformance/mqadmin --table docs/mqadmin.md
func TestTables(t *testing.T) {
	known, err := readKnown("../mqadmin-known.txt")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../docs/mqadmin.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := withTables(string(text), known)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != want {
		t.Error("the tables are not up to date: go run ./conformance/mqadmin --table docs/mqadmin.md")
	}
}

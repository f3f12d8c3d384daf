// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStoreTools uses the tools as an operator does: on the store of a broker that runs, then on it stopped, damaged,
// and repaired.
func TestStoreTools(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	server, at := startStandalone(t, dir)
	demo := run(t, "demo", "-n", at.Namesrv)
	if code := demo.wait(t); code != exitOK {
		t.Fatal(demo.err.String())
	}
	conf := filepath.Join(t.TempDir(), "broker.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, "storePathRootDir=%s\n", dir), 0o644); err != nil {
		t.Fatal(err)
	}
	step := func(args string, want int, say ...string) {
		t.Helper()
		p := run(t, append([]string{"store"}, strings.Fields(args)...)...)
		code, text := p.wait(t), p.out.String()+p.err.String()
		if code != want {
			t.Errorf("store %s: code %d, expected %d\n%s", args, code, want, text)
		}
		for _, s := range say {
			if !strings.Contains(text, s) {
				t.Errorf("store %s: %q is missing\n%s", args, s, text)
			}
		}
	}
	step("check "+dir, exitFailed, "NO: take over", "a running broker has it open")
	step("repair --rebuild-queues "+dir, exitFailed, "already started", "(stop the server that uses this store)")

	server.stop()
	server.wait(t)
	step("check --from-version 5.3.3 -c "+conf, exitOK, "OK", dir, "file sizes: as the configuration says", "way back to Java 5.3.3")
	step("stat "+dir, exitOK, "commit log   offsets 0..", "files of 1073741824 bytes", "DemoTopic-1", "config")
	step("verify -c "+conf, exitOK, " records; ", "OK: log, consume queues and index agree")

	if err := os.RemoveAll(filepath.Join(dir, "consumequeue")); err != nil {
		t.Fatal(err)
	}
	step("verify "+dir, exitFailed, "DAMAGE", "missing", "NOT OK: ")
	step("repair "+dir, exitUsage, "say what to do")
	step("repair --rebuild-queues "+dir, exitOK, "consume queues: ")
	step("verify "+dir, exitOK)

	step("check", exitUsage, "give one store directory")
	step("check --from-version 3.2 "+dir, exitUsage, "4.9.7 or 5.3.3")
	for _, name := range []string{"/nonexistent/store", filepath.Dir(conf)} {
		for _, command := range []string{"check", "verify", "stat", "repair --rebuild-index"} {
			step(command+" "+name, exitFailed, "no store here: "+name)
		}
	}
	for _, c := range storeCommands {
		step(c.name+" -h", exitOK, "usage: rocketmq store "+c.name)
	}
	step("-h", exitOK, "verify", "repair")
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// odd loads testdata/odd.conf, a file full of odd spellings, as the recorded Java process did.
func odd(t *testing.T, version string) (*Broker, []Warning) {
	t.Helper()
	c, warnings, err := LoadBroker(Options{
		File: filepath.Join("testdata", "odd.conf"), NamesrvAddr: "127.0.0.1:9876", CompatVersion: version, CPUs: 2,
		Env:    func(name string) string { return map[string]string{"ROCKETMQ_HOME": "/opt/rocketmq"}[name] },
		System: func(name string) string { return map[string]string{"user.home": "/home/rocketmq"}[name] },
		Now:    func() time.Time { return time.Date(2024, 2, 29, 20, 0, 1, 0, time.UTC) },
	})
	if err == nil || !strings.Contains(err.Error(), "messageDelayLevel") {
		t.Fatalf("got error %v, want one about messageDelayLevel", err)
	}
	return c, warnings
}

// The output of -p and -m, and with it every conversion, must be as recorded from Java.
func TestPrintAsRecorded(t *testing.T) {
	for _, version := range []string{V533, V497} {
		c, _ := odd(t, version)
		for flag, important := range map[string]bool{"p": false, "m": true} {
			var b strings.Builder
			if err := c.Print(&b, important); err != nil {
				t.Fatal(err)
			}
			want := golden(t, "odd-"+version+"-"+flag+".txt")
			// Only 5.3.3 trims Strings; here both versions do.
			want = strings.ReplaceAll(want, "Cluster\u00e9A and more   \n", "Cluster\u00e9A and more\n")
			wantLines, gotLines := strings.Split(want, "\n"), strings.Split(b.String(), "\n")
			for i, line := range gotLines {
				line, prefixed := strings.CutPrefix(line, "2024-03-01 04:00:01 INFO main - ")
				if !prefixed && line != "" {
					t.Fatalf("line %q lacks the prefix", line)
				}
				gotLines[i] = line
			}
			if !slices.Equal(gotLines, wantLines) {
				for i := range min(len(gotLines), len(wantLines)) {
					if gotLines[i] != wantLines[i] {
						t.Errorf("%s -%s line %d: got %q, want %q", version, flag, i+1, gotLines[i], wantLines[i])
						break
					}
				}
				t.Errorf("%s -%s: %d lines, want %d", version, flag, len(gotLines), len(wantLines))
			}
		}
	}
}

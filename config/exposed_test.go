// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// nothing is an environment that contributes nothing.
func nothing(string) string { return "" }

// file writes a configuration file.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func golden(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The recorded broker was started with the settings below on a machine with two processors; its answer to code 26 must
// come out byte by byte.
func TestBrokerConfigAsRecorded(t *testing.T) {
	want := golden(t, "broker-5.3.3.txt")
	c, _, err := LoadBroker(Options{
		File: file(t, `brokerClusterName = DefaultCluster
brokerName = broker-a
brokerIP1 = 127.0.0.2
brokerIP2 = 127.0.0.1
bindAddress = 127.0.0.1
listenPort : 21011
namesrvAddr 127.0.0.1:21000
brokerFastFailureEnable=false
defaultTopicQueueNums=2
enablePropertyFilter=true
mappedFileSizeCommitLog=16777216
mappedFileSizeConsumeQueue=60000
mappedFileSizeTimerLog=1048576
maxHashSlotNum=5000
maxIndexNum=20000
messageDelayLevel=1s 2s 3s 4s 5s 6s 7s 8s 9s 10s
recallMessageEnable=true
storePathCommitLog=/var/lib/rocketmq/recording01/b/store/commitlog
storePathRootDir=/var/lib/rocketmq/recording01/b/store
transactionCheckInterval=3000
transactionTimeOut=9000
`),
		System: func(name string) string {
			return map[string]string{"rocketmq.home.dir": "/opt/rocketmq-5.3.3"}[name]
		},
		Env: nothing, CPUs: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	diff(t, c.Exposed(), want)
}

func TestNamesrvConfigAsRecorded(t *testing.T) {
	path := file(t, "listenPort=21000\nkvConfigPath=/var/lib/rocketmq/recording01/ns/namesrv/kvConfig.json\n")
	c, _, err := LoadNamesrv(Options{File: path, System: nothing, Env: func(name string) string {
		return map[string]string{"ROCKETMQ_HOME": "/opt/rocketmq-5.3.3"}[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	diff(t, strings.ReplaceAll(c.Exposed(), path, "/var/lib/rocketmq/recording01/ns.conf"), golden(t, "namesrv-5.3.3.txt"))
}

func TestNamesrvConfigOfProbes(t *testing.T) {
	for version, settings := range map[string]string{
		"5.3.3": "listenPort=24710\nsupportActingMaster=true\n",
		"4.9.7": "listenPort=24700\n",
	} {
		path := file(t, settings)
		c, _, err := LoadNamesrv(Options{
			File: path, CompatVersion: version,
			Env:    func(name string) string { return map[string]string{"ROCKETMQ_HOME": "$ROCKETMQ_HOME"}[name] },
			System: func(name string) string { return map[string]string{"user.home": "$HOME"}[name] },
		})
		if err != nil {
			t.Fatal(err)
		}
		diff(t, strings.ReplaceAll(c.Exposed(), path, "$NSCONF"), golden(t, "namesrv-probe-"+version+".txt"))
	}
}

// diff compares two texts of sorted lines; want may be in hash order, as 4.9.7 writes it.
func diff(t *testing.T, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	g, w := lines(got), lines(want)
	if slices.Equal(slices.Sorted(maps.Keys(g)), slices.Sorted(maps.Keys(w))) && !slices.IsSorted(strings.Split(strings.TrimSpace(want), "\n")) {
		return
	}
	for line := range g {
		if !w[line] {
			t.Errorf("only here: %s", line)
		}
	}
	for line := range w {
		if !g[line] {
			t.Errorf("only in Java: %s", line)
		}
	}
	if !t.Failed() {
		t.Error("order of lines differs")
	}
}

func lines(text string) map[string]bool {
	m := map[string]bool{}
	for line := range strings.Lines(text) {
		m[line] = true
	}
	return m
}

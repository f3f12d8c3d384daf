// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

//go:build golden

package config

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every recorded answer to getBrokerConfig shows the keys this package shows, and the same values wherever neither the
// recorded process's file nor its machine decided.
func TestAllRecordedConfigurations(t *testing.T) {
	root := os.Getenv("ROCKETMQ_GOLDEN")
	if root == "" {
		t.Log("ROCKETMQ_GOLDEN is not set")
		return
	}
	// What the files of the recorded brokers or their machines decided.
	decided := map[string]bool{}
	for key := range strings.FieldsSeq(`brokerName brokerIP1 brokerIP2 listenPort haListenPort namesrvAddr rocketmqHome
		storePathRootDir storePathCommitLog mappedFileSizeCommitLog mappedFileSizeConsumeQueue mappedFileSizeTimerLog
		maxIndexNum maxHashSlotNum maxMessageSize transactionCheckInterval transactionTimeOut diskMaxUsedSpaceRatio
		enablePropertyFilter traceTopicEnable metricsExporterType metricsPromExporterHost recallMessageEnable useServerSideResetOffset`) {
		decided[key] = true
	}
	for name, texts := range map[string]map[string]string{
		"mqadmin 5.3.3":    mqadminTable(t, filepath.Join(root, "mqadmin/5.3.3/getBrokerConfig.txt")),
		"mqadmin of 4.9.7": mqadminTable(t, filepath.Join(root, "mqadmin/4.9.7-on-5.3.3/getBrokerConfig.txt")),
		"dashboard":        dashboardTable(t, filepath.Join(root, "dashboard/cluster.brokerConfig.json")),
		"behaviour":        behaviourTable(t, filepath.Join(root, "behaviour/m_system.jsonl")),
	} {
		if len(texts) < 400 {
			t.Errorf("%s: %d keys", name, len(texts))
		}
		c := mustLoad(t, "namesrvAddr=h:1\nrocketmqHome=/x\n")
		shown := map[string]string{}
		for line := range strings.Lines(c.Exposed()) {
			key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			shown[key] = value
			if _, ok := texts[key]; !ok {
				t.Errorf("%s: Java does not show %s", name, key)
			}
		}
		for key, value := range texts {
			here, ok := shown[key]
			if ok && here != value && !strings.Contains(value, "<") && !decided[key] {
				t.Errorf("%s: %s=%s, here %s", name, key, value, here)
			}
		}
	}
}

func mqadminTable(t *testing.T, path string) map[string]string {
	table := map[string]string{}
	for _, line := range fileLines(t, path) {
		if key, value, ok := strings.Cut(line, "  ="); ok {
			table[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return table
}

func dashboardTable(t *testing.T, path string) map[string]string {
	var recording struct {
		Answer struct{ Data map[string]string }
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &recording); err != nil {
		t.Fatal(err)
	}
	return recording.Answer.Data
}

func behaviourTable(t *testing.T, path string) map[string]string {
	table := map[string]string{}
	for _, line := range fileLines(t, path) {
		var step struct {
			Code   int
			Expect struct{ BodyText string }
		}
		if err := json.Unmarshal([]byte(line), &step); err == nil && step.Code == 26 {
			for l := range strings.Lines(step.Expect.BodyText) {
				key, value, _ := strings.Cut(strings.TrimSuffix(l, "\n"), "=")
				table[key] = value
			}
		}
	}
	return table
}

func fileLines(t *testing.T, path string) []string {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	scanner := bufio.NewScanner(bytes.NewReader(data))
	scanner.Buffer(nil, 1<<24)
	var lines []string
	for scanner.Scan() {
		lines = append(lines, scanner.Text())
	}
	return lines
}

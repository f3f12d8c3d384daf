// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package protocol

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rocketmq-go/compat/fastjson"
)

// configBody names the class of each file that Java keeps under store/config.
var configBody = map[string]string{
	"consumerFilter.json":     "ConsumerFilterManager",
	"consumerOffset.json":     "ConsumerOffsetSerializeWrapper",
	"consumerOrderInfo.json":  "ConsumerOrderInfoManager",
	"delayOffset.json":        "DelayOffsetSerializeWrapper",
	"kvConfig.json":           "KVConfigSerializeWrapper",
	"lmqConsumerOffset.json":  "ConsumerOffsetSerializeWrapper",
	"messageRequestMode.json": "MessageRequestModeSerializeWrapper",
	"subscriptionGroup.json":  "SubscriptionGroupWrapper",
	"timermetrics":            "TimerMetricsSerializeWrapper",
	"topicQueueMapping.json":  "TopicQueueMappingSerializeWrapper",
	"topics.json":             "TopicConfigSerializeWrapper",
	"transactionMetrics":      "TransactionMetricsSerializeWrapper",
}

// Files written by real brokers come out the same, byte for byte.
func TestConfigFiles(t *testing.T) {
	files, _ := filepath.Glob("testdata/bodies/config/*/*")
	if len(files) < 15 {
		t.Fatalf("only %d files", len(files))
	}
	for _, file := range files {
		checkConfigFile(t, file, filepath.Base(filepath.Dir(file)) == "497")
	}
}

func checkConfigFile(t *testing.T, file string, java497 bool) {
	t.Helper()
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	class := configBody[strings.TrimSuffix(filepath.Base(file), ".bak")]
	if class == "" {
		t.Fatalf("%s: no class", file)
	}
	body := bodyNamed[class]()
	if err := fastjson.Unmarshal(want, body); err != nil {
		t.Errorf("%s: %v", file, err)
		return
	}
	var o fastjson.Options
	if java497 {
		o.Omit = "v5"
	}
	o.Pretty = len(want) > 1 && want[1] == '\n'
	if got := o.Marshal(body); string(got) != string(want) {
		t.Errorf("%s:\n got %s\nwant %s", file, got, want)
	}
}

// The tables of a broker come in the order of its maps, made with these capacities.
func TestConfigFileOrder(t *testing.T) {
	for _, release := range []string{"497", "533"} {
		var topics TopicConfigSerializeWrapper
		readConfig(t, release, "topics.json", &topics)
		checkOrder(t, &topics.TopicConfigTable, func(m *fastjson.Map[string, *TopicConfig]) { m.SortConcurrentHashMap(1024) })
		var groups SubscriptionGroupWrapper
		readConfig(t, release, "subscriptionGroup.json", &groups)
		checkOrder(t, &groups.SubscriptionGroupTable, func(m *fastjson.Map[string, *SubscriptionGroupConfig]) { m.SortConcurrentHashMap(1024) })
		var offsets ConsumerOffsetSerializeWrapper
		readConfig(t, release, "lmqConsumerOffset.json", &offsets)
		checkOrder(t, &offsets.OffsetTable, func(m *fastjson.Map[string, fastjson.Map[int32, int64]]) { m.SortConcurrentHashMap(512) })
		checkOrder(t, &offsets.GroupTopicMap, func(m *fastjson.Map[string, []string]) { m.SortHashMap(128) })
	}
}

func readConfig(t *testing.T, release, file string, body any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/bodies/config", release, file))
	if err != nil {
		t.Fatal(err)
	}
	if err := fastjson.Unmarshal(text, body); err != nil {
		t.Fatal(err)
	}
}

func checkOrder[V any](t *testing.T, m *fastjson.Map[string, V], sort func(*fastjson.Map[string, V])) {
	t.Helper()
	names := func() (list []string) {
		for k := range m.All() {
			list = append(list, k)
		}
		return list
	}
	want := names()
	sort(m)
	if got := names(); !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package protocol

import (
	"os"
	"path/filepath"
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
	class := configBody[filepath.Base(file)]
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

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package inspect

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"rocketmq-go/compat/fastjson"
)

// metadataFiles are the JSON files of config/, of all releases.
var metadataFiles = []string{
	"topics.json", "subscriptionGroup.json", "consumerOffset.json", "lmqConsumerOffset.json", "delayOffset.json",
	"consumerFilter.json", "consumerOrderInfo.json", "topicQueueMapping.json", "messageRequestMode.json",
	"timermetrics", "transactionMetrics",
}

// topicsFile is what matters here of topics.json.
type topicsFile struct {
	DataVersion struct {
		StateVersion *int64 `fastjson:"stateVersion"`
	} `fastjson:"dataVersion"`
	Topics fastjson.Map[string, topicEntry] `fastjson:"topicConfigTable"`
}

type topicEntry struct {
	Attributes fastjson.Map[string, string] `fastjson:"attributes"`
}

// readMetadata reads a file of config/ as a broker does: the file, or its backup if that is missing, empty or broken.
// fromBackup tells that the file itself could not be used.
func readMetadata(p Place, name string, v any) (fromBackup bool, err error) {
	path := filepath.Join(p.Dir, "config", name)
	err = readJSON(path, v)
	if err == nil {
		return false, nil
	}
	bakErr := readJSON(path+".bak", v)
	if bakErr == nil {
		return !errors.Is(err, fs.ErrNotExist), nil
	}
	return false, err
}

var errEmpty = errors.New("empty")

func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if len(b) == 0 {
		return errEmpty
	}
	return fastjson.Unmarshal(b, v)
}

// topicNames are the topics of topics.json and those that are in none; nil if the file cannot be read.
func topicNames(p Place) map[string]bool {
	var f topicsFile
	if _, err := readMetadata(p, "topics.json", &f); err != nil || f.Topics.Len() == 0 {
		return nil
	}
	names := map[string]bool{"SCHEDULE_TOPIC_XXXX": true, "rmq_sys_wheel_timer": true}
	for name := range f.Topics.All() {
		names[name] = true
	}
	return names
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package storedbytes

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"rocketmq-go/message"
	"rocketmq-go/rocketmqtest"
)

// play sends some of the requests to a broker of ours.
func play(t *testing.T) *Run {
	t.Helper()
	all, err := Sections()
	if err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(s Section) bool {
		return !slices.Contains([]string{"java533-producer", "go-producer", "single", "batch", "binary header", "transactions"}, s.Name)
	})
	dir := t.TempDir()
	mq := rocketmqtest.Start(t, rocketmqtest.WithConfig("storePathRootDir", dir), rocketmqtest.WithConfig("transactionOpBatchInterval", "100"),
		rocketmqtest.WithConfig("messageDelayLevel", "1s 1s"))
	p := &Player{Addr: mq.BrokerAddr, Log: OpenLog(filepath.Join(dir, "commitlog"))}
	run, err := p.Play(all)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func TestTwoBrokersStoreTheSame(t *testing.T) {
	one, other := play(t), play(t)
	if res := Compare(one, other); len(res.Differences) > 0 || res.Records < 60 || res.Masked[message.PropUniqKey] == 0 {
		t.Fatalf("%d records, %q, %v", res.Records, res.Differences, res.Masked)
	}
	for at, seen := range map[int]bool{0: true, 20: true, 36: true, 45: true, 60: false /* store time */} {
		raw := other.Records[70].Raw
		other.Records[70].Raw = bytes.Clone(raw)
		other.Records[70].Raw[at] ^= 1
		if res := Compare(one, other); (len(res.Differences) == 1) != seen {
			t.Errorf("byte %d is another: %q", at, res.Differences)
		}
		other.Records[70].Raw = raw
	}
	other.Records = slices.Delete(other.Records, 70, 71)
	for i := range other.Requests {
		if other.Requests[i].Stored > 70 {
			other.Requests[i].Stored--
		}
	}
	if res := Compare(one, other); len(res.Differences) == 0 {
		t.Error("a record that is missing was not noticed")
	}
}

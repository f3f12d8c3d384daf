// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package lock

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"rocketmq-go/remoting/protocol"
)

// TestScenario runs testdata/locks.txt. Queues are named topic-number.
func TestScenario(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	table := New(0, func() time.Time { return now })
	datadriven.RunTest(t, "testdata/locks.txt", func(t *testing.T, d *datadriven.TestData) string {
		var group, client string
		d.MaybeScanArgs(t, "group", &group)
		d.MaybeScanArgs(t, "client", &client)
		switch d.Cmd {
		case "lock":
			return "locked: " + names(table.Lock(group, client, queues(t, d)))
		case "unlock":
			table.Unlock(group, client, queues(t, d))
			return ""
		case "holder":
			holder, ok := table.HeldBy(group, queues(t, d)[0])
			if !ok {
				return "nobody"
			}
			return holder
		case "any":
			return strconv.FormatBool(table.AnyHeld(group))
		case "advance":
			var by string
			d.ScanArgs(t, "by", &by)
			step, err := time.ParseDuration(by)
			if err != nil {
				t.Fatal(err)
			}
			now = now.Add(step)
			return ""
		case "size":
			n := 0
			for _, held := range table.groups {
				n += len(held)
			}
			return fmt.Sprintf("%d groups, %d locks", len(table.groups), n)
		}
		return "unknown command"
	})
}

func queues(t *testing.T, d *datadriven.TestData) (qs []protocol.MessageQueue) {
	for _, arg := range d.CmdArgs {
		if arg.Key != "queues" {
			continue
		}
		for _, v := range arg.Vals {
			topic, n, _ := strings.Cut(v, "-")
			id, err := strconv.Atoi(n)
			if err != nil {
				t.Fatal(err)
			}
			qs = append(qs, protocol.MessageQueue{Topic: topic, BrokerName: "broker-a", QueueID: int32(id)})
		}
	}
	return qs
}

func names(qs []protocol.MessageQueue) string {
	var out []string
	for _, q := range qs {
		out = append(out, fmt.Sprintf("%s-%d", q.Topic, q.QueueID))
	}
	return strings.Join(out, " ")
}

// Of many clients that want the same 100 queues at the same time, each queue goes to exactly one.
func TestConcurrentClients(t *testing.T) {
	table := New(0, nil)
	var all []protocol.MessageQueue
	for i := range int32(100) {
		all = append(all, protocol.MessageQueue{Topic: "T", BrokerName: "b", QueueID: i})
	}
	var (
		wg sync.WaitGroup
		mu sync.Mutex
		n  = map[protocol.MessageQueue]int{}
	)
	for c := range 8 {
		wg.Go(func() {
			for _, q := range table.Lock("g", fmt.Sprint("client", c), all) {
				mu.Lock()
				n[q]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for _, q := range all {
		if n[q] != 1 {
			t.Errorf("%v was given to %d clients", q, n[q])
		}
	}
}

func BenchmarkRenew(b *testing.B) {
	table := New(0, nil)
	var all []protocol.MessageQueue
	for i := range int32(16) {
		all = append(all, protocol.MessageQueue{Topic: "T", BrokerName: "b", QueueID: i})
	}
	b.ReportAllocs()
	for b.Loop() {
		table.Lock("g", "client", all)
	}
}

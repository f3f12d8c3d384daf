// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mapping

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

func table(t *testing.T, broker string, file []byte) *Table {
	t.Helper()
	dir := t.TempDir()
	if file != nil {
		path := filepath.Join(dir, "config", "topicQueueMapping.json")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tb, err := New(Options{Dir: dir, Broker: broker, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tb.Close() })
	return tb
}

// The files of two Java 5.3.3 brokers, before and after queues moved from b1 to b2.
func TestJavaFile(t *testing.T) {
	for _, broker := range []string{"b1", "b2"} {
		text, err := os.ReadFile("testdata/" + broker + ".json")
		if err != nil {
			t.Fatal(err)
		}
		tb := table(t, broker, text)
		if got := tb.render(); !bytes.Equal(got, text) {
			t.Errorf("%s: got %s", broker, got)
		}
		info := fastjson.Marshal(tb.Info("ST"))
		want := `{"bname":"b1","currIdMap":{},"dirty":false,"epoch":1795986128488,"scope":"__global__","topic":"ST","totalQueues":4}`
		if broker == "b2" {
			want = `{"bname":"b2","currIdMap":{0:2,1:3,2:0,3:1},"dirty":false,"epoch":1795986128488,"scope":"__global__","topic":"ST","totalQueues":4}`
		}
		if string(info) != want {
			t.Errorf("%s: %s", broker, info)
		}
	}
}

func TestChangesAreWritten(t *testing.T) {
	tb := table(t, "b", nil)
	d := protocol.NewTopicQueueMappingDetail()
	d.Topic, d.Bname, d.TotalQueues = "T", "b", 1
	d.HostedQueues.Set(0, []Item{{Bname: "b", EndOffset: -1}})
	if tb.Used() || tb.Get("T") != nil || tb.Info("T") != nil {
		t.Error("there is a topic already")
	}
	if err := tb.Update(d, false); err != nil {
		t.Fatal(err)
	}
	if err := tb.Sync(context.Background()); err != nil {
		t.Fatal(err)
	}
	again, err := New(tb.o)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if q, ok := again.Queue("T", 0); !ok || !q.Led() || !again.Used() {
		t.Errorf("after a restart: %+v", q)
	}
	tb.Delete("T")
	if _, ok := tb.Queue("T", 0); ok || tb.Used() {
		t.Error("it is there after its deletion")
	}
}

func TestOffsets(t *testing.T) {
	q := &Queue{Topic: "T", Broker: "b", Items: []Item{
		{Gen: 0, Bname: "a", LogicOffset: 0, StartOffset: 5, EndOffset: 15},
		{Gen: 1, Bname: "c", LogicOffset: 100, EndOffset: -1},
		{Gen: 2, Bname: "b", LogicOffset: -1, EndOffset: -1},
	}}
	for _, c := range []struct {
		logical  int64
		gen      int32
		physical int64
	}{{-7, 0, -2}, {0, 0, 5}, {9, 0, 14}, {99, 0, 104}, {100, 1, 0}, {1 << 40, 1, 1<<40 - 100}} {
		i := q.Of(c.logical)
		if i.Gen != c.gen || Physical(i, c.logical) != c.physical || Logical(i, c.physical) != c.logical {
			t.Errorf("%d: generation %d, %d", c.logical, i.Gen, Physical(i, c.logical))
		}
	}
	first, last, leader := &q.Items[0], &q.Items[1], &q.Items[2]
	if !q.Led() || q.Last() != last || q.Next(first) != last || q.Next(last) != nil || q.Max() != 100 || q.Leader() != leader {
		t.Error("the order of segments")
	}
	for _, c := range []struct {
		item          *Item
		physical, out int64
	}{{leader, 3, -1}, {first, 2, 0}, {first, 7, 2}, {first, 99, 10}, {last, 7, 107}} {
		if got := Answered(c.item, c.physical); got != c.out {
			t.Errorf("Answered(%+v, %d) = %d", c.item, c.physical, got)
		}
	}
	if none := (&Queue{}); none.Led() || none.Of(0) != nil || none.Leader() != nil || none.Max() != -1 {
		t.Error("a queue that is not known")
	}
}

// With force a mapping that changes what was decided is taken, and queues that it leaves out stay.
func TestForce(t *testing.T) {
	tb := table(t, "b", nil)
	detail := func(epoch int64, queues ...int32) *protocol.TopicQueueMappingDetail {
		d := protocol.NewTopicQueueMappingDetail()
		d.Topic, d.Bname, d.Epoch, d.TotalQueues = "T", "b", epoch, 2
		for _, id := range queues {
			d.HostedQueues.Set(id, []Item{{Bname: "b", QueueID: id + int32(epoch), EndOffset: -1}})
		}
		return d
	}
	if err := tb.Update(detail(7, 0, 1), false); err != nil {
		t.Fatal(err)
	}
	if tb.Update(detail(3, 0), false) == nil || tb.Check(detail(8, 0), false) == nil {
		t.Error("another queue was taken without force")
	}
	if err := tb.Update(detail(3, 0), true); err != nil {
		t.Fatal(err)
	}
	zero, _ := tb.Queue("T", 0)
	one, _ := tb.Queue("T", 1)
	if zero.Leader().QueueID != 3 || one.Leader().QueueID != 8 {
		t.Errorf("%+v %+v", zero, one)
	}
	wrong := detail(9, 0)
	wrong.Bname = "c"
	if tb.Update(wrong, true) == nil {
		t.Error("a mapping for another broker was taken")
	}
}

// A slave's mappings become its master's.
func TestReplace(t *testing.T) {
	text, err := os.ReadFile("testdata/b1.json")
	if err != nil {
		t.Fatal(err)
	}
	master, slave := table(t, "b1", text), table(t, "b1", nil)
	details, version := master.Details()
	slave.Replace(details, version)
	if got := slave.render(); !bytes.Equal(got, text) || !slave.Used() {
		t.Errorf("got %s", got)
	}
	slave.Replace(fastjson.Map[string, *protocol.TopicQueueMappingDetail]{}, version)
	if !slave.Used() {
		t.Error("the same version brought something")
	}
	slave.Replace(fastjson.Map[string, *protocol.TopicQueueMappingDetail]{}, protocol.DataVersion{Counter: 9})
	if slave.Used() || slave.Get("ST") != nil {
		t.Error("a topic stays that the master does not have")
	}
}

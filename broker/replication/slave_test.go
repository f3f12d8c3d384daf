// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package replication

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"rocketmq-go/broker/group"
	"rocketmq-go/broker/offset"
	"rocketmq-go/broker/schedule"
	"rocketmq-go/broker/topic"
	"rocketmq-go/config"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// log is a slave's log that ends where the test wants.
type log struct{ end atomic.Int64 }

func (l *log) MinPhyOffset() int64                   { return 0 }
func (l *log) MaxPhyOffset() int64                   { return l.end.Load() }
func (l *log) FileSize() int64                       { return 1 << 20 }
func (l *log) ViewLog(int64, int, func([]byte)) bool { return false }
func (l *log) AppendLog(int64, []byte) (int, error)  { return 0, errors.New("not in this test") }

// noQueues is a store without delayed messages.
type noQueues struct{ schedule.Store }

func (noQueues) Queues() map[string][]int32    { return nil }
func (noQueues) MaxOffset(string, int32) int64 { return 0 }

// rig is a slave whose master is a table of answers.
type rig struct {
	*Slave
	log      log
	said     bytes.Buffer
	schedule *schedule.Service
	topics   *topic.Table
	deleted  []string

	phase   sync.Mutex // orders what the test does and what the slave does, which is never at the same time
	asked   []string   // code@address
	dialled []string
	again   int                         // how often the name servers were asked again
	answers map[int32]*protocol.Command // of the master; none: it cannot be reached
	slow    int32                       // the code that is never answered
}

func newRig(t *testing.T, set ...string) *rig {
	values := map[string]string{"brokerRole": "SLAVE", "brokerId": "1", "storePathRootDir": t.TempDir()}
	for _, kv := range set {
		key, value, _ := strings.Cut(kv, "=")
		values[key] = value
	}
	cfg, _, err := config.LoadBroker(config.Options{Set: values, Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{answers: map[int32]*protocol.Command{}}
	logger := slog.New(slog.NewTextHandler(&r.said, nil))
	dir := filepath.Join(values["storePathRootDir"])
	var tables Tables
	fatal := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	tables.Topics, err = topic.New(topic.Options{Dir: dir, System: topic.System{ClusterName: "c", BrokerName: "b"}, Log: logger})
	fatal(err)
	tables.Groups, err = group.New(group.Options{Dir: dir, Log: logger})
	fatal(err)
	tables.Offsets, err = offset.New(offset.Options{Dir: dir, Log: logger})
	fatal(err)
	tables.Schedule, err = schedule.New(schedule.Options{Dir: dir, Levels: make([]time.Duration, 18), Store: noQueues{}, Log: logger})
	fatal(err)
	tables.DeleteQueues = func(topics []string, before int64) {
		r.deleted = append(r.deleted, fmt.Sprint(topics, " before ", before))
	}
	r.schedule, r.topics = tables.Schedule, tables.Topics
	t.Cleanup(func() {
		for _, table := range []interface{ Close() error }{tables.Topics, tables.Groups, tables.Offsets, tables.Schedule} {
			fatal(table.Close())
		}
	})
	r.Slave = NewSlave(SlaveOptions{
		Config: cfg.Load, Store: &r.log, Tables: tables, Log: logger, Ask: func() { r.next(); r.again++ },
		Call: func(ctx context.Context, addr string, c *protocol.Command) (*protocol.Command, error) {
			r.next()
			r.asked = append(r.asked, protocol.RequestName(c.Code)+"@"+addr)
			if c.Code == r.slow {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			if answer := r.answers[c.Code]; answer != nil {
				return answer, nil
			}
			return nil, errors.New("no way to " + addr)
		},
		Dial: func(_ context.Context, addr string) (net.Conn, error) {
			r.next()
			r.dialled = append(r.dialled, addr)
			return nil, errors.New("nobody there")
		},
	})
	return r
}

// works makes the master answer everything.
func (r *rig) works(end, delivered string) {
	r.answers = map[int32]*protocol.Command{
		protocol.ReqGetAllTopicConfig:             {Body: []byte(`{"dataVersion":{"counter":1,"timestamp":1},"topicConfigTable":{"T":{"topicName":"T","perm":6,"readQueueNums":1,"writeQueueNums":1}}}`)},
		protocol.ReqGetAllConsumerOffset:          {Body: []byte(`{"offsetTable":{"T@G":{0:5}}}`)},
		protocol.ReqGetAllSubscriptiongroupConfig: {Body: []byte(`{"dataVersion":{"counter":1,"timestamp":1},"subscriptionGroupTable":{}}`)},
		protocol.ReqGetAllDelayOffset:             {Body: []byte(`{"offsetTable":{1:` + delivered + `}}`)},
		protocol.ReqGetBrokerRuntimeInfo:          {Body: []byte(`{"table":{"commitLogMaxOffset":"` + end + `"}}`)},
	}
}

func (r *rig) run(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func (r *rig) next() {
	r.phase.Lock()
	defer r.phase.Unlock()
}

func (r *rig) wait(d time.Duration) {
	r.next()
	time.Sleep(d)
	synctest.Wait()
}

// Where a slave believes its master to be, by what name servers say one after the other.
func TestFound(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []string // namesrv=address
		want    string
	}{
		{"nobody has said anything", nil, ""},
		{"one", []string{"a=m1"}, "m1"},
		{"no master yet", []string{"a="}, ""},
		{"it moves", []string{"a=m1", "a=m2"}, "m2"},
		{"it is gone", []string{"a=m1", "a="}, ""},
		{"it comes back", []string{"a=m1", "a=", "a=m1"}, "m1"},
		{"another name server does not know it", []string{"a=m1", "b=", "a=m1", "b="}, "m1"},
		{"both forget it", []string{"a=m1", "b=m1", "a=", "b="}, ""},
		{"one forgets it", []string{"a=m1", "b=m1", "a="}, "m1"},
		{"they do not agree, the last news hold", []string{"a=m1", "b=m2", "a=m1", "b=m2", "a=m1"}, "m2"},
		{"they did not agree, and one forgets", []string{"a=m1", "b=m2", "b="}, "m1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			for _, a := range c.answers {
				ns, addr, _ := strings.Cut(a, "=")
				r.Found(ns, addr, addr+"-ha")
			}
			if got := r.Master(); got != c.want {
				t.Errorf("master %q, want %q", got, c.want)
			}
		})
	}
}

// The tables are copied as soon as there is a master, and every ten seconds. While none is known the name servers are asked.
func TestWhenTablesAreCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.works("0", "0")
		r.run(t)
		r.wait(5 * time.Second)
		if len(r.asked) != 0 || r.again != 2 || r.Ready() != nil {
			t.Errorf("without a master: %q, name servers asked %d times, %v", r.asked, r.again, r.Ready())
		}
		r.Found("ns", "m:1", "m:2")
		r.wait(0)
		want := []string{
			"GET_BROKER_RUNTIME_INFO@m:1", "GET_ALL_TOPIC_CONFIG@m:1", "GET_ALL_CONSUMER_OFFSET@m:1",
			"GET_ALL_SUBSCRIPTIONGROUP_CONFIG@m:1", "GET_ALL_DELAY_OFFSET@m:1", "GET_BROKER_RUNTIME_INFO@m:1",
		}
		if !slices.Equal(r.asked, want) {
			t.Errorf("asked %q, want %q", r.asked, want)
		}
		r.Found("ns", "m:1", "m:2") // the next registration
		r.wait(9 * time.Second)
		if len(r.asked) != len(want) {
			t.Errorf("asked again after 9 s: %q", r.asked[len(want):])
		}
		r.wait(time.Second)
		if len(r.asked) != 2*len(want) {
			t.Errorf("asked after 10 s: %q", r.asked[len(want):])
		}
		r.asked = nil
		r.Found("ns", "n:1", "n:2")
		r.wait(0)
		if len(r.asked) != len(want) || r.asked[1] != "GET_ALL_TOPIC_CONFIG@n:1" {
			t.Errorf("the new master was asked %q", r.asked)
		}
		r.Refresh()
		r.wait(0)
		if len(r.asked) != 2*len(want) {
			t.Errorf("asked at once: %q", r.asked[len(want):])
		}
	})
}

// What fails holds up nothing else, is tried again, and is logged when it begins and when it ends.
func TestTablesThatCannotBeCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.works("0", "7")
		r.answers[protocol.ReqGetAllConsumerOffset] = &protocol.Command{Code: protocol.RespSystemError, Remark: protocol.Some("no")}
		r.answers[protocol.ReqGetAllSubscriptiongroupConfig].Body = []byte("{")
		r.slow = protocol.ReqGetAllTopicConfig
		r.run(t)
		r.Found("ns", "m:1", "m:2")
		r.wait(30 * time.Second)
		for _, what := range []string{"topics", "consumer offsets", "subscription groups"} {
			if n := strings.Count(r.said.String(), `will be tried again" what="`+what+`"`) + strings.Count(r.said.String(), `will be tried again" what=`+what+" "); n != 1 {
				t.Errorf("%d lines about %s", n, what)
			}
		}
		if p := r.schedule.Progress(); len(p) != 1 || p[0].Delivered != 7 {
			t.Errorf("delay levels %v", p)
		}
		if r.sync.done() || r.sync.failures.Load() != 9 {
			t.Errorf("done %t, %d failures", r.sync.done(), r.sync.failures.Load())
		}
		r.works("0", "7")
		r.slow = 0
		r.wait(13 * time.Second)
		if !r.sync.done() || strings.Count(r.said.String(), "copied from the master again") != 3 || r.topics.Get("T") == nil {
			t.Errorf("done %t:\n%s", r.sync.done(), &r.said)
		}
		// A master that is gone is asked for one thing, and the name servers where it is.
		r.answers, r.asked, r.again = nil, nil, 0
		r.wait(10 * time.Second)
		if len(r.asked) != 1 || r.again != 1 || strings.Count(r.said.String(), `what=master`) != 1 {
			t.Errorf("asked %q, name servers %d times\n%s", r.asked, r.again, &r.said)
		}
	})
}

// The progress of delayed messages is taken over when the log has come as far as the master's.
func TestProgressWaitsForTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.works("1000", "7")
		r.run(t)
		r.Found("ns", "m:1", "m:2")
		r.wait(0)
		at := func() int64 {
			if p := r.schedule.Progress(); len(p) > 0 {
				return p[0].Delivered
			}
			return -1
		}
		if at() != -1 {
			t.Errorf("level 1 is at %d although the messages are not here", at())
		}
		r.log.end.Store(1000)
		r.works("2000", "8") // the log goes on while the first progress waits
		r.wait(10 * time.Second)
		if at() != 7 {
			t.Errorf("level 1 is at %d, want 7", at())
		}
		r.log.end.Store(2000)
		r.wait(10 * time.Second)
		if at() != 8 {
			t.Errorf("level 1 is at %d, want 8", at())
		}
	})
}

// Topics that the master has deleted take their queues along.
func TestQueuesOfDeletedTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.works("700", "0")
		r.run(t)
		r.Found("ns", "m:1", "m:2")
		r.wait(0)
		r.answers[protocol.ReqGetAllTopicConfig].Body = []byte(`{"dataVersion":{"counter":2,"timestamp":1},"topicConfigTable":{}}`)
		r.wait(10 * time.Second)
		if !slices.Equal(r.deleted, []string{"[T] before 700"}) {
			t.Errorf("deleted %q", r.deleted)
		}
	})
}

// A master that the configuration names is followed whatever name servers say, until the configuration does not any more.
func TestFixedMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "haMasterAddress=10.0.0.7:10912")
		r.run(t)
		r.wait(0)
		r.Found("ns", "m:1", "m:2")
		r.wait(12 * time.Second)
		if r.Master() != "m:1" {
			t.Errorf("tables are copied from %q", r.Master())
		}
		for _, addr := range r.dialled {
			if addr != "10.0.0.7:10912" {
				t.Errorf("dialled %q", r.dialled)
			}
		}
		if len(r.dialled) != 3 {
			t.Errorf("dialled %d times in 12 s", len(r.dialled))
		}
	})
}

// The rules that need no connection.
func TestNeed(t *testing.T) {
	for _, c := range []struct {
		set      string
		compat49 bool
		slaves   int
		status   store.PutStatus
	}{
		{"brokerRole=ASYNC_MASTER", false, 0, store.PutOK},
		{"brokerRole=SYNC_MASTER", false, 0, store.PutOK},
		{"brokerRole=SYNC_MASTER;inSyncReplicas=0", false, -1, store.PutOK},
		{"brokerRole=SYNC_MASTER;inSyncReplicas=3", false, 2, store.PutOK},
		{"brokerRole=SYNC_MASTER;inSyncReplicas=3", true, 0, store.SlaveNotAvailable},
		{"brokerRole=ASYNC_MASTER", true, 0, store.PutOK},
	} {
		values := map[string]string{}
		for kv := range strings.SplitSeq(c.set, ";") {
			key, value, _ := strings.Cut(kv, "=")
			values[key] = value
		}
		cfg, _, err := config.LoadBroker(config.Options{Set: values, Env: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		m := NewMaster(MasterOptions{Config: cfg.Load, Compat49: c.compat49, Log: slog.New(slog.DiscardHandler)})
		m.Attach(waitless{&log{}})
		if slaves, status := m.Need(0); slaves != c.slaves || status != c.status {
			t.Errorf("%s, 4.9 %t: %d %v", c.set, c.compat49, slaves, status)
		}
	}
}

// waitless is a log for which nobody waits.
type waitless struct{ *log }

func (waitless) Acknowledged() {}

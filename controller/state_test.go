// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package controller

import (
	"bytes"
	"io"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/remoting/protocol"
)

func TestStateIsRestored(t *testing.T) {
	s := newState()
	for _, e := range []event{
		{Kind: masterElected, Name: "unknown", ID: 1},
		{Kind: brokerAdded, Cluster: "C", Name: "a", ID: 1, Address: "x:1", CheckCode: "x:1;5"},
		{Kind: brokerAdded, Cluster: "C", Name: "a", ID: 2, Address: "y:1", CheckCode: "y:1;5"},
		{Kind: brokerAdded, Cluster: "C", Name: "a", ID: 2, Address: "z:1", CheckCode: "taken"},
		{Kind: brokerAdded, Cluster: "C", Name: "b", ID: 1},
		{Kind: masterElected, Name: "a", ID: 2},
		{Kind: inSyncChanged, Name: "a", IDs: []int64{2, 1, 2}},
		{Kind: addressNew, Name: "a", ID: 1, Address: "x:2"},
		{Kind: addressNew, Name: "a", ID: 9, Address: "x:2"},
		{Kind: masterElected, Name: "a"},
	} {
		s.apply(&e)
	}
	want := replicas{
		Cluster: "C", NextID: 3, Brokers: map[int64]member{1: {"x:2", "x:1;5"}, 2: {"y:1", "y:1;5"}},
		Epoch: 2, InSync: []int64{1, 2}, SyncEpoch: 2,
	}
	if got, ok := s.get("a"); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	snap, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	again := newState()
	if err := again.Restore(io.NopCloser(bytes.NewReader(snap.(snapshot)))); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again.sets, s.sets) {
		t.Errorf("%+v, want %+v", again.sets, s.sets)
	}
	if err := again.Restore(io.NopCloser(bytes.NewReader([]byte("{")))); err == nil {
		t.Error("half a snapshot is taken")
	}
	if !reflect.DeepEqual(again.sets, s.sets) {
		t.Error("a snapshot that cannot be read has changed the state")
	}
	for _, e := range []event{
		{Kind: masterElected, Name: "a", ID: 2},
		{Kind: brokersGone, Name: "a", IDs: []int64{2, 7}},
		{Kind: brokersGone, Name: "b", IDs: []int64{1}},
	} {
		s.apply(&e)
	}
	if got, _ := s.get("a"); got.Master != 0 || len(got.Brokers) != 1 || len(got.InSync) != 0 {
		t.Errorf("%+v", got)
	}
	if names := s.names(); len(names) != 1 {
		t.Errorf("a name without brokers is kept: %v", names)
	}
}

func TestChoose(t *testing.T) {
	type b struct {
		epoch, max int
		priority   int32
	}
	for name, c := range map[string]struct {
		alive     map[int64]b
		inSync    []int64
		master    int64
		preferred int64
		unclean   bool
		want      int64
	}{
		"nobody alive":              {nil, []int64{1, 2}, 1, 0, false, 0},
		"the master stays":          {map[int64]b{1: {1, 5, 9}, 2: {1, 9, 1}}, []int64{1, 2}, 1, 0, false, 1},
		"unless another is wanted":  {map[int64]b{1: {1, 5, 9}, 2: {1, 9, 1}}, []int64{1, 2}, 1, 2, false, 2},
		"the wanted is not alive":   {map[int64]b{1: {1, 5, 9}}, []int64{1, 2}, 1, 2, false, 0},
		"higher epoch":              {map[int64]b{2: {1, 9, 1}, 3: {2, 1, 9}}, []int64{1, 2, 3}, 1, 0, false, 3},
		"longer log":                {map[int64]b{2: {1, 9, 9}, 3: {1, 8, 1}}, []int64{1, 2, 3}, 1, 0, false, 2},
		"smaller priority":          {map[int64]b{2: {1, 9, 9}, 3: {1, 9, 1}}, []int64{1, 2, 3}, 1, 0, false, 3},
		"not in sync":               {map[int64]b{3: {1, 9, 1}}, []int64{1, 2}, 1, 0, false, 0},
		"not in sync, unclean":      {map[int64]b{3: {1, 9, 1}}, []int64{1, 2}, 1, 0, true, 3},
		"in sync before unclean":    {map[int64]b{2: {1, 1, 9}, 3: {1, 9, 1}}, []int64{1, 2}, 1, 0, true, 2},
		"an id that is not there":   {map[int64]b{7: {1, 9, 1}}, []int64{7}, 0, 0, true, 0},
		"no master, nobody wanted":  {map[int64]b{2: {1, 9, 1}}, []int64{2}, 0, 0, false, 2},
		"the wanted is the present": {map[int64]b{1: {1, 5, 9}}, []int64{1, 2}, 1, 1, false, 1},
	} {
		ctl := &Controller{live: newLiveness(time.Now)}
		r := &replicas{Cluster: "C", Brokers: map[int64]member{1: {}, 2: {}, 3: {}}, Master: c.master, InSync: c.inSync}
		for id, b := range c.alive {
			ctl.live.beat(&protocol.BrokerHeartbeatRequestHeader{
				ClusterName: protocol.Some("C"), BrokerName: protocol.Some("b"), BrokerID: protocol.Some(id), Epoch: protocol.Some(int32(b.epoch)),
				MaxOffset: protocol.Some(int64(b.max)), ElectionPriority: protocol.Some(b.priority),
			}, nil)
		}
		if got := ctl.choose("b", r, c.preferred, c.unclean); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestLiveness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLiveness(time.Now)
		beat := func(id int64, timeout int64, epoch int32, end int64) bool {
			return l.beat(&protocol.BrokerHeartbeatRequestHeader{
				ClusterName: protocol.Some("C"), BrokerName: protocol.Some("b"), BrokerID: protocol.Some(id), Epoch: protocol.Some(epoch),
				MaxOffset: protocol.Some(end), HeartbeatTimeoutMills: protocol.Opt[int64]{V: timeout, Set: timeout != 0},
			}, nil)
		}
		if !beat(1, 0, 3, 50) || !beat(2, 3000, 1, 1) || beat(1, 0, 2, 90) {
			t.Error("who is new")
		}
		if b, ok := l.get("C", "b", 1); !ok || b.epoch != 3 || b.maxOffset != 50 {
			t.Errorf("%+v: epochs and ends of logs only grow", b)
		}
		time.Sleep(3 * time.Second)
		if !l.alive("C", "b", 2) {
			t.Error("dead at its time-out")
		}
		time.Sleep(time.Millisecond)
		if l.alive("C", "b", 2) || !l.alive("C", "b", 1) {
			t.Error("2 was silent for longer than it said, 1 was not")
		}
		if gone, _ := l.expire(); len(gone) != 1 || gone[0] != (brokerKey{"C", "b", 2}) {
			t.Errorf("%v", gone)
		}
		time.Sleep(7 * time.Second)
		if gone, _ := l.expire(); len(gone) != 1 {
			t.Errorf("%v", gone)
		}
	})
}

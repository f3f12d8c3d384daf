// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package route

import (
	"fmt"
	"testing"
	"time"

	"rocketmq-go/compat"
)

type someConn struct{ int }

func (*someConn) Close() {}

// A connection may have registered thousands of brokers. When it ends nobody gets a route until they are gone: the
// topics of others are gone through once, not once for each.
func TestConnectionOfManyBrokersEnds(t *testing.T) {
	table := New(compat.For(""), time.Now)
	begin := time.Now()
	var topics []TopicQueues
	for i := range 50_000 {
		topics = append(topics, TopicQueues{fmt.Sprint("Topic", i), Queues{4, 4, 6, 0}})
	}
	good, bad := &someConn{1}, &someConn{2}
	if _, err := table.Register(&Registration{Cluster: "C", Name: "good", Addr: "good:1", Conn: good, Body: Body{Topics: topics}}, false); err != nil {
		t.Fatal(err)
	}
	for i := range 3000 {
		name := fmt.Sprint("bad", i)
		r := &Registration{Cluster: name, Name: name, Addr: name + ":1", Conn: bad, Body: Body{Topics: []TopicQueues{{name, Queues{1, 1, 6, 0}}, {"Topic7", Queues{1, 1, 6, 0}}}}}
		if _, err := table.Register(r, false); err != nil {
			t.Fatal(err)
		}
	}
	entering := time.Since(begin)
	begin = time.Now()
	gone := table.Closed(bad)
	// Once for each broker it was a hundred times as long.
	if took := time.Since(begin); len(gone) != 3000 || took > 20*entering {
		t.Errorf("%d brokers went in %v, and came in %v", len(gone), took, entering)
	}
	if len(table.brokers) != 1 || len(table.clusters) != 1 || len(table.live) != 1 || len(table.topics) != 50_000 {
		t.Errorf("%d brokers, %d clusters, %d alive, %d topics left", len(table.brokers), len(table.clusters), len(table.live), len(table.topics))
	}
	if q := table.topics["Topic7"].queues; len(q) != 1 || q[0].broker != "good" {
		t.Errorf("%+v", q)
	}
}

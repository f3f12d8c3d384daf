// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package assignment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// queues are n queues of a topic on each of the brokers.
func queues(topic string, n int, brokers ...string) (all []protocol.MessageQueue) {
	for _, b := range brokers {
		for id := range int32(n) {
			all = append(all, protocol.MessageQueue{Topic: topic, BrokerName: b, QueueID: id})
		}
	}
	return all
}

func show(assigned []protocol.MessageQueueAssignment) string {
	if assigned == nil {
		return "nothing"
	}
	texts := []string{}
	for _, a := range assigned {
		texts = append(texts, fmt.Sprintf("%s:%d:%s", a.MessageQueue.BrokerName, a.MessageQueue.QueueID, a.Mode))
	}
	return strings.Join(texts, " ")
}

func service(t *testing.T, dir string, change func(*Options)) *Service {
	t.Helper()
	o := Options{
		Dir:   dir,
		Rules: func() Rules { return Rules{BrokerName: "b", DefaultMode: protocol.RequestModePull, PopShare: -1} },
		Clients: func(group string) []string {
			if group != "G" {
				return nil
			}
			return []string{"c3", "c1", "c2"}
		},
		Queues: func(_ context.Context, topic string) ([]protocol.MessageQueue, bool) {
			if topic != "T" {
				return nil, false
			}
			q := queues("T", 4, "b", "a") // in no order
			slices.Reverse(q)
			return q, true
		},
		Pop: true,
	}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func ask(client, strategy string) *protocol.QueryAssignmentRequestBody {
	return &protocol.QueryAssignmentRequestBody{
		Topic: "T", ConsumerGroup: "G", ClientID: client, StrategyName: strategy, MessageModel: protocol.Clustering,
	}
}

func TestAssign(t *testing.T) {
	s := service(t, t.TempDir(), nil)
	for _, c := range []struct {
		what   string
		change func(*protocol.QueryAssignmentRequestBody)
		want   string
	}{
		{"first", nil, "a:0:PULL a:1:PULL a:2:PULL"},
		{"second", func(q *protocol.QueryAssignmentRequestBody) { q.ClientID = "c2" }, "a:3:PULL b:0:PULL b:1:PULL"},
		{"third", func(q *protocol.QueryAssignmentRequestBody) { q.ClientID = "c3" }, "b:2:PULL b:3:PULL"},
		{"circle", func(q *protocol.QueryAssignmentRequestBody) { q.StrategyName = "AVG_BY_CIRCLE" }, "a:0:PULL a:3:PULL b:2:PULL"},
		{"a stranger", func(q *protocol.QueryAssignmentRequestBody) { q.ClientID = "c9" }, ""},
		{"offline", func(q *protocol.QueryAssignmentRequestBody) { q.ConsumerGroup = "H" }, "nothing"},
		{"unknown topic", func(q *protocol.QueryAssignmentRequestBody) { q.Topic = "U" }, "nothing"},
		{"unknown strategy", func(q *protocol.QueryAssignmentRequestBody) { q.StrategyName = "X" }, "nothing"},
		{"LMQ", func(q *protocol.QueryAssignmentRequestBody) { q.Topic = "%LMQ%x" }, "b:0:PULL"},
		{
			"broadcasting", func(q *protocol.QueryAssignmentRequestBody) {
				q.MessageModel, q.ConsumerGroup = protocol.Broadcasting, "H"
			},
			"a:0:PULL a:1:PULL a:2:PULL a:3:PULL b:0:PULL b:1:PULL b:2:PULL b:3:PULL",
		},
	} {
		q := ask("c1", "AVG")
		if c.change != nil {
			c.change(q)
		}
		if got := show(s.Assign(t.Context(), q)); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

// Every queue belongs to exactly one client, and the numbers differ by one at most.
func TestStrategiesCover(t *testing.T) {
	for name, divide := range strategies {
		for n := range 20 {
			for clients := 1; clients < 8; clients++ {
				var all []protocol.MessageQueue
				least, most := n, 0
				for i := range clients {
					mine := divide(queues("T", n, "b"), i, clients)
					all = append(all, mine...)
					least, most = min(least, len(mine)), max(most, len(mine))
				}
				slices.SortFunc(all, compareQueues)
				if !slices.Equal(all, queues("T", n, "b")) || most-least > 1 {
					t.Errorf("%s: %d queues, %d clients: %v", name, n, clients, all)
				}
			}
		}
	}
}

func TestPopModes(t *testing.T) {
	s := service(t, t.TempDir(), func(o *Options) {
		o.Clients = func(string) []string { return []string{"c1", "c2", "c3", "c4"} }
	})
	set := func(share int32) {
		s.SetMode(&protocol.SetMessageRequestModeRequestBody{
			Topic: "T", ConsumerGroup: "G", Mode: protocol.RequestModePop, PopShareQueueNum: share,
		})
	}
	for _, c := range []struct {
		share  int32
		client string
		want   string
	}{
		{0, "c1", "a:-1:POP b:-1:POP"},
		{3, "c1", "a:-1:POP b:-1:POP"}, // all others: everybody reads everything
		{1, "c1", "a:0:POP a:1:POP a:2:POP a:3:POP"},
		{1, "c4", "b:2:POP b:3:POP a:0:POP a:1:POP"},
		{2, "c3", "b:0:POP b:1:POP b:2:POP b:3:POP a:0:POP a:1:POP"},
		{1, "c9", ""},
	} {
		set(c.share)
		if got := show(s.Assign(t.Context(), ask(c.client, "AVG"))); got != c.want {
			t.Errorf("share %d, %s: %s, want %s", c.share, c.client, got, c.want)
		}
	}
	set(1)
	retry := ask("c1", "AVG")
	retry.Topic = "%RETRY%G"
	s.o.Queues = func(context.Context, string) ([]protocol.MessageQueue, bool) { return queues("%RETRY%G", 1, "b"), true }
	if got := show(s.Assign(t.Context(), retry)); got != "b:0:PULL" {
		t.Errorf("retry topic: %s", got)
	}
	if got := show(s.Assign(t.Context(), ask("c2", "AVG"))); got != "b:0:POP" {
		t.Errorf("more clients than queues: %s", got)
	}
	s.o.Queues = func(context.Context, string) ([]protocol.MessageQueue, bool) { return nil, true }
	if got := show(s.Assign(t.Context(), ask("c2", "AVG"))); got != "" {
		t.Errorf("a topic that nobody may read: %s", got)
	}
	// A broker that cannot serve POP lets clients pull, and remembers what was set.
	s.o.Pop = false
	s.o.Queues = func(context.Context, string) ([]protocol.MessageQueue, bool) { return queues("T", 4, "b"), true }
	if got := show(s.Assign(t.Context(), ask("c2", "AVG"))); got != "b:1:PULL" {
		t.Errorf("without POP: %s", got)
	}
}

func TestUnbalanced(t *testing.T) {
	s := service(t, t.TempDir(), func(o *Options) { o.Rules = func() Rules { return Rules{BrokerName: "b", Unbalanced: true} } })
	if got := show(s.Assign(t.Context(), ask("c9", "X"))); strings.Count(got, "PULL") != 8 {
		t.Error(got)
	}
}

func TestCheckMode(t *testing.T) {
	err := CheckMode(&protocol.SetMessageRequestModeRequestBody{Topic: "%RETRY%G"})
	var refused *protocol.Error
	if !errors.As(err, &refused) || refused.Code != protocol.RespNoPermission {
		t.Error(err)
	}
	if err := CheckMode(&protocol.SetMessageRequestModeRequestBody{Topic: "T"}); err != nil {
		t.Error(err)
	}
}

// The file is the one that Java writes and reads.
func TestFile(t *testing.T) {
	const text = `{
	"messageRequestModeMap":{
		"GPop":{
			"g_pop":{
				"consumerGroup":"g_pop",
				"mode":"POP",
				"popShareQueueNum":0,
				"topic":"GPop"
			}
		}
	}
}`
	dir := t.TempDir()
	path := filepath.Join(dir, "config", "messageRequestMode.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s := service(t, dir, nil)
	if got := string(s.render()); got != text {
		t.Errorf("%s", got)
	}
	s.SetMode(&protocol.SetMessageRequestModeRequestBody{Topic: "T", ConsumerGroup: "G", Mode: protocol.RequestModePull, PopShareQueueNum: 2})
	if err := s.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := service(t, dir, nil)
	if a, b := string(fastjson.Marshal(s.Body())), string(fastjson.Marshal(again.Body())); a != b || !strings.Contains(a, `"T"`) {
		t.Errorf("%s was read as %s", a, b)
	}
}

// nameServers answer with a route, an unknown topic or not at all.
type nameServers struct {
	calls  []string
	answer map[string]*protocol.Command // by address
}

func (n *nameServers) call(_ context.Context, addr string, c *protocol.Command) (*protocol.Command, error) {
	topic, _ := c.Fields.Get("topic")
	n.calls = append(n.calls, addr+" "+topic)
	if a := n.answer[addr]; a != nil {
		return a, nil
	}
	return nil, errors.New("down")
}

func TestRoutes(t *testing.T) {
	route := &protocol.Command{Body: fastjson.Marshal(&protocol.TopicRouteData{QueueDatas: []protocol.QueueData{
		{BrokerName: "a", ReadQueueNums: 2, WriteQueueNums: 8, Perm: 6},
		{BrokerName: "b", ReadQueueNums: 1, Perm: 4},
		{BrokerName: "c", ReadQueueNums: 4, Perm: 2},
	}})}
	unknown := &protocol.Command{Code: protocol.RespTopicNotExist}
	want := append(queues("T", 2, "a"), queues("T", 1, "b")...)
	synctest.Test(t, func(t *testing.T) {
		n := &nameServers{answer: map[string]*protocol.Command{"n2": route}}
		r := &Routes{Servers: func() []string { return []string{"n1", "n2"} }, Call: n.call, Now: time.Now}
		check := func(what string, calls int, queues []protocol.MessageQueue, known bool) {
			t.Helper()
			n.calls = nil
			got, ok := r.Queues(t.Context(), "T")
			if ok != known || !slices.Equal(got, queues) || len(n.calls) != calls {
				t.Errorf("%s: %v %t after %q", what, got, ok, n.calls)
			}
		}
		check("the second one answers", 2, want, true)
		check("what is fresh is not asked for again", 0, want, true)
		time.Sleep(30 * time.Second)
		n.answer = nil
		check("none answers: the old route holds", 2, want, true)
		n.answer = map[string]*protocol.Command{"n1": unknown}
		check("the topic was deleted", 1, nil, false)
		n.answer = nil
		check("an unknown topic while none answers", 2, nil, false)
		n.answer = map[string]*protocol.Command{"n1": {Body: []byte("{")}, "n2": {Code: protocol.RespSystemError}}
		check("answers that say nothing", 2, nil, false)
	})
}

// A name server may claim any number of queues: no more are served than a topic can have.
func TestQueuesAreBounded(t *testing.T) {
	route := fastjson.Marshal(&protocol.TopicRouteData{QueueDatas: []protocol.QueueData{
		{BrokerName: "a", ReadQueueNums: 3 * maxQueues, Perm: 6}, {BrokerName: "b", ReadQueueNums: -1, Perm: 6},
	}})
	n := &nameServers{answer: map[string]*protocol.Command{"n": {Body: route}}}
	r := &Routes{Servers: func() []string { return []string{"n"} }, Call: n.call, Now: time.Now}
	if got, ok := r.Queues(t.Context(), "T"); !ok || len(got) != maxQueues {
		t.Errorf("%d queues, %t", len(got), ok)
	}
}

func TestRoutesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		route := &protocol.Command{Body: fastjson.Marshal(&protocol.TopicRouteData{})}
		n := &nameServers{answer: map[string]*protocol.Command{"n": route}}
		r := &Routes{Servers: func() []string { return []string{"n"} }, Call: n.call, Now: time.Now}
		for i := range maxRoutes + 10 {
			r.Queues(t.Context(), fmt.Sprint("T", i))
		}
		if len(r.routes) != maxRoutes {
			t.Errorf("%d routes", len(r.routes))
		}
		time.Sleep(fresh)
		if r.Queues(t.Context(), "new"); len(r.routes) != 1 {
			t.Errorf("%d routes are left", len(r.routes))
		}
	})
}

// A slave's modes become its master's.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	s := service(t, dir, nil)
	s.SetMode(&protocol.SetMessageRequestModeRequestBody{Topic: "Old", ConsumerGroup: "G", Mode: protocol.RequestModePop})
	const master = `{"messageRequestModeMap":{"T":{"G":{"consumerGroup":"G","mode":"POP","popShareQueueNum":2,"topic":"T"}}}}`
	if err := s.Replace([]byte(master)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := string(fastjson.Marshal(service(t, dir, nil).Body())); got != master {
		t.Errorf("after a restart %s", got)
	}
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rocketmq-go/broker"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/config"
	"rocketmq-go/message"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

// A static topic is made on broker A, one of its queues moves to B, and is read and written before and after. The answers
// are those of two Java 5.3.3 brokers, and of a Java broker beside one of ours, either way; but for the end of the queue
// while the place of the new segment is not decided, for which Java asks the old leader about the new leader's queue.
func TestStaticTopic(t *testing.T) {
	t.Parallel()
	s := newStaticStory(t)
	s.tell()
	want, err := os.ReadFile("testdata/static-topics.txt")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(s.out.String(), "\n")
	for i, line := range strings.Split(string(want), "\n") {
		if i >= len(got) || got[i] != line {
			t.Errorf("line %d:\n got %s\nwant %s", i+1, slices.Concat(got, make([]string, i+1))[i], line)
		}
	}
	if len(got) != 1+strings.Count(string(want), "\n") {
		t.Errorf("%d lines", len(got))
	}
	// The mappings outlive a restart, and the topic does not outlive its deletion.
	s.mq.RestartBroker()
	if a := s.ask("A", protocol.ReqGetMinOffset, "topic=S", "queueId=1"); a.Code != protocol.RespSuccess {
		t.Errorf("after a restart: %d %s", a.Code, a.Remark.V)
	}
	s.ask("A", protocol.ReqDeleteTopicInBroker, "topic=S")
	if a := s.ask("A", protocol.ReqGetMinOffset, "topic=S", "queueId=0"); a.Code != protocol.RespSuccess {
		t.Errorf("after its deletion: %d %s", a.Code, a.Remark.V)
	}
	if a := s.ask("A", protocol.ReqUpdateAndCreateStaticTopic, "topic=S"); a.Code == protocol.RespSuccess {
		t.Error("513 without body")
	}
	// While the other broker is away its segments cannot be read, and nothing else suffers.
	s.mq.StopBroker()
	if a := s.pull("B", 0, 0, 4, 0); a.Code != protocol.RespSystemError {
		t.Errorf("the old leader is gone: %d %s", a.Code, a.Remark.V)
	}
	if a := s.pull("B", 0, 10000, 4, 0); a.Code != protocol.RespSuccess {
		t.Errorf("of B itself: %d %s", a.Code, a.Remark.V)
	}
}

// Of queue -1 a broker that leads none of the queues knows nothing; any other one picks one that it leads.
func TestStaticTopicAnyQueue(t *testing.T) {
	t.Parallel()
	s := newStaticStory(t)
	s.static("A", 1700000000000, "", "0:[A.0],1:[A.1]")
	s.static("B", 1700000000000, "", "")
	for range 8 {
		if a := s.send("A", -1); a.Code != protocol.RespSuccess {
			t.Errorf("%d %s", a.Code, a.Remark.V)
		}
	}
	if a := s.send("B", -1); a.Code != protocol.RespNotLeaderForQueue {
		t.Errorf("%d %s", a.Code, a.Remark.V)
	}
}

type staticStory struct {
	t     *testing.T
	mq    *rocketmqtest.Cluster
	addrs map[string]string
	c     *remoting.Client
	out   strings.Builder
}

func newStaticStory(t *testing.T) *staticStory {
	s := &staticStory{t: t, addrs: map[string]string{}, c: remoting.NewClient(remoting.ClientConfig{})}
	s.mq = rocketmqtest.Start(t, rocketmqtest.WithConfig("brokerName", "A"))
	cfg, _, err := config.LoadBroker(config.Options{Env: func(string) string { return "" }, Set: map[string]string{
		"brokerName": "B", "brokerIP1": "127.0.0.1", "bindAddress": "127.0.0.1", "listenPort": "0", "namesrvAddr": s.mq.NamesrvAddr,
		"storePathRootDir": filepath.Join(t.TempDir(), "b"), "mappedFileSizeCommitLog": "1048576", "maxIndexNum": "2000", "maxHashSlotNum": "500",
	}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := broker.New(broker.Options{Config: cfg, Poison: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
		s.c.Close()
	})
	if err := b.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	s.addrs["A"], s.addrs["B"] = s.mq.BrokerAddr, b.Addr().String()
	return s
}

func (s *staticStory) call(addr string, cmd *protocol.Command) *protocol.Command {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	answer, err := s.c.Call(ctx, addr, cmd)
	if err != nil {
		s.t.Fatalf("request %d: %v", cmd.Code, err)
	}
	return answer
}

func (s *staticStory) ask(broker string, code int32, fields ...string) *protocol.Command {
	s.t.Helper()
	cmd := &protocol.Command{Code: code}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		cmd.Fields.Add(name, value)
	}
	return s.call(s.addrs[broker], cmd)
}

func (s *staticStory) send(broker string, queue int) *protocol.Command {
	s.t.Helper()
	cmd := request(protocol.ReqSendMessageV2, &protocol.SendMessageRequestHeaderV2{
		A: protocol.Some("PG"), B: protocol.Some("S"), C: protocol.Some("TBW102"), D: protocol.Some(int32(4)),
		E: protocol.Some(int32(queue)), F: protocol.Some(int32(0)), G: protocol.Some(time.Now().UnixMilli()),
		H: protocol.Some(int32(0)), I: protocol.Some(""), J: protocol.Some(int32(0)),
	}, []byte("x"))
	return s.call(s.addrs[broker], cmd)
}

func (s *staticStory) pull(broker string, queue, offset int64, sysFlag, suspend int, more ...string) *protocol.Command {
	s.t.Helper()
	return s.ask(broker, protocol.ReqPullMessage, append([]string{
		"consumerGroup=G", "topic=S", fmt.Sprint("queueId=", queue), fmt.Sprint("queueOffset=", offset), "maxMsgNums=32",
		fmt.Sprint("sysFlag=", sysFlag), "commitOffset=0", fmt.Sprint("suspendTimeoutMillis=", suspend), "subscription=*", "subVersion=1",
	}, more...)...)
}

// static is request 513. Segments are BROKER.QUEUE, .GEN and .LOGICOFFSET are 0 if they are not there.
func (s *staticStory) static(broker string, epoch int64, scope, queues string) *protocol.Command {
	s.t.Helper()
	d := protocol.NewTopicQueueMappingDetail()
	d.Topic, d.Bname, d.Epoch, d.TotalQueues = "S", broker, epoch, 2
	if scope != "" {
		d.Scope = scope
	}
	d.HostedQueues.Clear()
	for queue := range strings.SplitSeq(queues, "],") {
		id, list, ok := strings.Cut(strings.TrimSuffix(queue, "]"), ":[")
		if !ok {
			continue
		}
		items := []protocol.LogicQueueMappingItem{}
		for text := range strings.FieldsSeq(list) {
			part := append(strings.Split(text, "."), "0", "0")
			i := protocol.NewLogicQueueMappingItem()
			i.Bname, i.QueueID, i.Gen = part[0], int32(number(s.t, part[1])), int32(number(s.t, part[2]))
			i.LogicOffset = number(s.t, part[3])
			items = append(items, *i)
		}
		d.HostedQueues.Set(int32(number(s.t, id)), items)
	}
	h := &protocol.CreateTopicRequestHeader{
		Topic: protocol.Some("S"), DefaultTopic: protocol.Some("TBW102"), ReadQueueNums: protocol.Some(int32(4)),
		WriteQueueNums: protocol.Some(int32(4)), Perm: protocol.Some(int32(6)), TopicFilterType: protocol.Some("SINGLE_TAG"),
	}
	if broker == "A" {
		h.ReadQueueNums, h.WriteQueueNums = protocol.Some(int32(2)), protocol.Some(int32(2))
	}
	return s.call(s.addrs[broker], request(protocol.ReqUpdateAndCreateStaticTopic, h, fastjson.Marshal(d)))
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// say writes a line about an answer.
func (s *staticStory) say(name string, a *protocol.Command) {
	s.t.Helper()
	fmt.Fprintf(&s.out, "%s: %d", name, a.Code)
	if a.Code != 0 && a.Remark.V != "" {
		fmt.Fprint(&s.out, " ", a.Remark.V)
	}
	for _, key := range []string{"maxOffset", "minOffset", "nextBeginOffset", "offset", "offsetDelta", "queueId", "queueOffset"} {
		if v, ok := a.Fields.Get(key); ok {
			fmt.Fprintf(&s.out, " %s=%s", key, v)
		}
	}
	n := 0
	for rest := a.Body; len(rest) > 0; n++ {
		r, err := message.ParseRecord(rest)
		if err != nil {
			s.t.Fatal(err)
		}
		rest = rest[r.Size:]
	}
	if n > 0 {
		fmt.Fprintf(&s.out, " messages=%d", n)
	}
	fmt.Fprintln(&s.out)
}

// until waits for messages that consumers can read.
func (s *staticStory) until(broker string, queue, max int) {
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		a := s.ask(broker, protocol.ReqGetMaxOffset, "topic=S", fmt.Sprint("queueId=", queue), "lo=false")
		if v, _ := a.Fields.Get("offset"); v == strconv.Itoa(max) {
			return
		} else if time.Since(begin) > time.Minute {
			s.t.Fatalf("queue %d of %s ends at %s, not at %d", queue, broker, v, max)
		}
	}
}

func (s *staticStory) tell() {
	const epoch = 1700000000000
	s.say("create", s.static("A", epoch, "", "0:[A.0],1:[A.1]"))
	s.say("create", s.static("B", epoch, "", ""))
	s.say("small", s.static("A", epoch-1, "", "0:[A.0]"))
	s.say("null", s.static("A", epoch, "", "0:[A.0]"))
	s.say("immut", s.static("A", epoch, "", "0:[A.1],1:[A.1]"))
	s.say("gen", s.static("A", epoch+1, "", "0:[A.0.1 B.0.1.-1],1:[A.1]"))
	s.say("empty", s.static("A", epoch+1, "", "0:[],1:[A.1]"))
	s.say("neg", s.static("A", epoch+1, "", "0:[A.0.0.-1 B.0.1.-1],1:[A.1]"))
	s.say("scope", s.static("A", epoch+1, "x", "0:[A.0],1:[A.1]"))
	fmt.Fprintf(&s.out, "351: %s\n", s.ask("A", protocol.ReqGetTopicConfig, "topic=S", "lo=true").Body)
	for range 4 {
		s.say("send", s.send("A", 0))
	}
	s.say("send5", s.send("A", 5))
	s.say("send other", s.send("B", 0))
	s.until("A", 0, 4)
	s.pulls("pull1", "A", 0, 3, 4, 9, -1)
	s.say("pull1 other", s.pull("B", 0, 0, 4, 0))

	s.say("remap", s.static("B", epoch+5, "", "0:[A.0 B.2.1.-1]"))
	s.say("undecided send", s.send("B", 0))
	s.pulls("undecided pull", "B", 0, 3, 4)
	s.say("undecided 30", s.ask("B", protocol.ReqGetMaxOffset, "topic=S", "queueId=0"))
	s.say("undecided 31", s.ask("B", protocol.ReqGetMinOffset, "topic=S", "queueId=0"))
	s.say("undecided 14", s.ask("B", protocol.ReqQueryConsumerOffset, "topic=S", "queueId=0", "consumerGroup=G"))
	s.say("old", s.static("A", epoch+5, "", "0:[A.0 B.2.1.-1]"))
	s.say("decide", s.static("B", epoch+5, "", "0:[A.0 B.2.1.10000]"))
	s.say("send", s.send("B", 0))
	s.say("send old", s.send("A", 0))
	s.until("B", 2, 2)
	s.pulls("pull2", "B", 0, 2, 3, 4, 5000, 10000, 10001, 10002, 10003, 99999, -1)
	s.say("pull susp4", s.pull("B", 0, 4, 6, 60000))
	s.say("pull susp10002", s.pull("B", 0, 10002, 6, 10))
	s.say("phys a", s.pull("A", 0, 0, 4, 0, "lo=false"))
	s.say("phys b", s.pull("B", 2, 0, 4, 0, "lo=false"))

	for _, line := range []string{
		"15 commitOffset=2 consumerGroup=G queueId=0", "14 consumerGroup=G queueId=0", "15 commitOffset=10001 consumerGroup=G queueId=0",
		"14 consumerGroup=G queueId=0", "14 consumerGroup=GN queueId=0", "30 queueId=0", "31 queueId=0", "29 queueId=0", "29 queueId=0 now",
		"32 queueId=0", "30 lo=false queueId=2",
	} {
		words := strings.Fields(line)
		code, fields := int32(number(s.t, words[0])), append(words[1:], "topic=S")
		timestamp := "timestamp=0"
		if i := slices.Index(fields, "now"); i >= 0 {
			fields = slices.Delete(fields, i, i+1)
			timestamp = fmt.Sprint("timestamp=", time.Now().Add(time.Hour).UnixMilli())
		}
		fields = append(fields, timestamp)
		s.say(strings.TrimSuffix(line, " now"), s.ask("B", code, fields...))
		s.say(words[0]+" at the old leader", s.ask("A", code, fields...))
	}
	s.say("phys 14", s.ask("A", protocol.ReqQueryConsumerOffset, "topic=S", "queueId=0", "consumerGroup=G", "lo=false"))
	var route protocol.TopicRouteData
	cmd := &protocol.Command{Code: protocol.ReqGetRouteinfoByTopic}
	cmd.Fields.Add("topic", "S")
	if err := fastjson.Unmarshal(s.call(s.mq.NamesrvAddr, cmd).Body, &route); err != nil {
		s.t.Fatal(err)
	}
	fmt.Fprintf(&s.out, "route: %s\n", fastjson.Marshal(&route.TopicQueueMappingByBroker))
}

func (s *staticStory) pulls(name, broker string, offsets ...int64) {
	for _, offset := range offsets {
		s.say(fmt.Sprint(name, " ", offset), s.pull(broker, 0, offset, 4, 0))
	}
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"

	"rocketmq-go/admin/client"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/message"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

// TestScenarios plays the stories in testdata/scenarios: below "do" stand commands, and below the line of dashes what
// each of them answers. Time is virtual: "advance" is what makes it pass. Each story has its own broker; "start" may
// give it configuration keys.
//
//	start [key=value …]                                  restart                    advance D
//	topic T queues=N [perm=6] [attributes=+NAME=VALUE,…]
//	send T "body" [queue=N] [tags=A] [keys=K] [delay=N] [group=G] [times=N] [NAME=VALUE …]
//	batch T "body" "body" …
//	pull T group=G [queue=N] [offset=N] [max=N] [tags=A] [wait=D as=NAME] [from=NAME] [proxy=CLIENT]
//	answer NAME                                          the answer to a pull that waits, if it has come
//	commit T group=G offset=N [queue=N]                  offset T group=G [queue=N]
//	online NAME group=G topic=T [tags=A] [model=BROADCASTING] [version=N]      offline NAME        notices NAME
//	members group=G                                      delete T                   min T / max T [queue=N]
//	back T group=G offset=N [level=N] [queue=N]          config key=value …
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		synctest.Test(t, func(t *testing.T) {
			s := &story{t: t, clients: map[string]*member{}, waiting: map[string]*waiting{}}
			datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string { return s.run(d) })
			s.close()
		})
	})
}

type story struct {
	t       *testing.T
	mq      *rocketmqtest.Cluster
	c       *client.Client
	clients map[string]*member
	waiting map[string]*waiting
	begin   time.Time
}

// member is a client that is online.
type member struct {
	c       *client.Client
	mu      sync.Mutex
	notices []string
}

func (m *member) Dispatch(r *remoting.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.notices = append(m.notices, protocol.RequestName(r.Code))
	r.Reply(&protocol.Response{})
}

// waiting is a pull that may be held.
type waiting struct {
	mu   sync.Mutex
	text string
}

func (s *story) start(lines []string) {
	opts := []rocketmqtest.Option{rocketmqtest.WithPipe(), rocketmqtest.WithPoison()}
	for _, line := range lines {
		key, value, _ := strings.Cut(line, "=")
		opts = append(opts, rocketmqtest.WithConfig(key, strings.ReplaceAll(value, "_", " ")))
	}
	s.mq = rocketmqtest.Start(s.t, opts...)
	s.c = s.client(nil)
	s.begin = time.Now()
}

func (s *story) client(d remoting.Dispatcher) *client.Client {
	return client.New(client.Options{Namesrv: []string{s.mq.NamesrvAddr}, Dial: s.mq.Dial, Dispatcher: d})
}

func (s *story) close() {
	if s.mq == nil {
		return
	}
	for _, m := range s.clients {
		m.c.Close()
	}
	s.c.Close()
}

func (s *story) run(d *datadriven.TestData) string {
	var out strings.Builder
	for _, line := range lines(d.Input) {
		words := fields(line)
		if s.mq == nil && words[0] != "start" {
			s.start(nil)
		}
		fmt.Fprintln(&out, s.do(words[0], words[1:]))
		synctest.Wait()
	}
	return out.String()
}

func lines(input string) []string {
	return slices.DeleteFunc(strings.Split(input, "\n"), func(s string) bool { return strings.TrimSpace(s) == "" })
}

// fields splits at blanks outside quotes.
func fields(line string) (words []string) {
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

// args are the words of a command: name=value pairs, and plain ones in order.
type args struct {
	plain []string
	named map[string]string
}

func parseArgs(words []string) args {
	a := args{named: map[string]string{}}
	for _, w := range words {
		if name, value, ok := strings.Cut(w, "="); ok && name != "" {
			a.named[name] = value
		} else {
			a.plain = append(a.plain, w)
		}
	}
	return a
}

func (a *args) take(name, otherwise string) string {
	value, ok := a.named[name]
	delete(a.named, name)
	if !ok {
		return otherwise
	}
	return value
}

func (a *args) number(name string, otherwise int) int {
	n, err := strconv.Atoi(a.take(name, strconv.Itoa(otherwise)))
	if err != nil {
		return otherwise
	}
	return n
}

func (s *story) do(command string, words []string) string {
	a := parseArgs(words)
	switch command {
	case "start":
		s.start(words)
		return "ready"
	case "restart":
		s.mq.RestartBroker()
		return "ready"
	case "advance":
		d, err := time.ParseDuration(words[0])
		if err != nil {
			return err.Error()
		}
		time.Sleep(d)
		return "ok"
	case "config":
		return s.call(protocol.ReqUpdateBrokerConfig, nil, strings.Join(words, "\n"))
	case "topic":
		return s.topic(a)
	case "send":
		return s.send(a)
	case "batch":
		return s.batch(a)
	case "pull":
		return s.pull(a)
	case "answer":
		return s.answer(words[0])
	case "commit":
		return result(s.c.Commit(s.ctx(), a.take("group", "G"), a.plain[0], s.queue(&a), int64(a.number("offset", 0))), "ok")
	case "offset":
		offset, ok, err := s.c.Offset(s.ctx(), a.take("group", "G"), a.plain[0], s.queue(&a))
		if !ok {
			return result(err, "none")
		}
		return result(err, fmt.Sprint(offset))
	case "online":
		return s.online(a)
	case "offline":
		s.clients[words[0]].c.Close()
		delete(s.clients, words[0])
		return "ok"
	case "notices":
		m := s.clients[words[0]]
		m.mu.Lock()
		defer m.mu.Unlock()
		said := strings.Join(m.notices, " ")
		m.notices = nil
		if said == "" {
			return "none"
		}
		return said
	case "members":
		return s.members(a)
	case "back":
		return s.back(a)
	case "delete":
		return s.call(protocol.ReqDeleteTopicInBroker, &protocol.DeleteTopicRequestHeader{Topic: protocol.Some(a.plain[0])}, "")
	case "min", "max":
		return s.limit(command, a)
	}
	return "unknown command " + command
}

func (s *story) ctx() context.Context { return context.Background() }

func (s *story) queue(a *args) client.Queue {
	return client.Queue{Broker: "broker-a", Addr: s.mq.BrokerAddr, ID: int32(a.number("queue", 0))}
}

// ports are those of connections, which differ from run to run.
var ports = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// result is what a command prints: the refusal, or what it found.
func result(err error, found string) string {
	var refusal *protocol.Error
	switch {
	case errors.As(err, &refusal):
		text, _, _ := strings.Cut(refusal.Remark, "\n")
		text = ports.ReplaceAllString(text, "127.0.0.1:PORT")
		return fmt.Sprintf("%d %s", refusal.Code, text)
	case err != nil:
		return "no answer"
	}
	return found
}

func (s *story) call(code int32, h protocol.Header, body string) string {
	cmd := &protocol.Command{Code: code, Body: []byte(body)}
	if h != nil {
		h.AppendFields(&cmd.Fields)
	}
	_, err := s.c.Call(s.ctx(), s.mq.BrokerAddr, cmd)
	return result(err, "ok")
}

// limit is the queue's smallest or next offset.
func (s *story) limit(which string, a args) string {
	q := s.queue(&a)
	cmd := &protocol.Command{Code: protocol.ReqGetMaxOffset}
	h := protocol.GetMaxOffsetRequestHeader{Topic: protocol.Some(a.plain[0]), QueueID: protocol.Some(q.ID)}
	if which == "min" {
		cmd.Code = protocol.ReqGetMinOffset
	}
	h.AppendFields(&cmd.Fields)
	answer, err := s.c.Call(s.ctx(), q.Addr, cmd)
	if err != nil {
		return result(err, "")
	}
	found, _ := answer.Fields.Get("offset")
	return string(found)
}

func (s *story) topic(a args) string {
	n := int32(a.number("queues", 1))
	return s.call(protocol.ReqUpdateAndCreateTopic, &protocol.CreateTopicRequestHeader{
		Topic: protocol.Some(a.plain[0]), DefaultTopic: protocol.Some("TBW102"), ReadQueueNums: protocol.Some(n),
		WriteQueueNums: protocol.Some(n), Perm: protocol.Some(int32(a.number("perm", 6))),
		TopicFilterType: protocol.Some("SINGLE_TAG"), Attributes: protocol.Some(a.take("attributes", "")),
		Order: protocol.Some(a.take("order", "") == "true"),
	}, "")
}

func (s *story) send(a args) string {
	q := s.queue(&a)
	times := a.number("times", 1)
	m := &client.Message{
		Topic: a.plain[0], Tags: a.take("tags", ""), DelayLevel: a.take("delay", ""), Queue: &q,
		Keys: strings.Fields(strings.ReplaceAll(a.take("keys", ""), ",", " ")), Properties: a.named,
	}
	if len(a.plain) > 1 {
		m.Body = []byte(a.plain[1])
	}
	if n := a.number("size", 0); n > 0 {
		m.Body = make([]byte, n)
	}
	said := ""
	for range times {
		sent, err := s.c.Send(s.ctx(), m)
		if err != nil {
			return result(err, "")
		}
		said = fmt.Sprintf("%d queue %d offset %d", sent.Code, sent.Queue.ID, sent.QueueOffset)
	}
	return said
}

func (s *story) batch(a args) string {
	q := s.queue(&a)
	var list []*client.Message
	for _, body := range a.plain[1:] {
		list = append(list, &client.Message{Topic: a.plain[0], Body: []byte(body), Queue: &q})
	}
	sent, err := s.c.SendBatch(s.ctx(), a.take("id", ""), list)
	if err != nil {
		return result(err, "")
	}
	return fmt.Sprintf("%d queue %d offset %d ids %d", sent.Code, sent.Queue.ID, sent.QueueOffset,
		1+strings.Count(sent.OffsetID, ","))
}

func (s *story) pull(a args) string {
	wait, _ := time.ParseDuration(a.take("wait", "0"))
	r := client.PullRequest{
		Topic: a.plain[0], Queue: s.queue(&a), Group: a.take("group", "G"), Offset: int64(a.number("offset", 0)),
		Max: int32(a.number("max", 32)), Expression: a.take("tags", "*"), Suspend: wait, ForClient: a.take("proxy", ""),
	}
	c := s.c
	if m := s.clients[a.take("from", "")]; m != nil {
		c = m.c
	}
	show := a.take("show", "")
	name := a.take("as", "")
	if name == "" {
		got, err := c.Pull(s.ctx(), r)
		return s.pulled(got, err, show)
	}
	w := &waiting{}
	s.waiting[name] = w
	begin := time.Now()
	go func() {
		got, err := c.Pull(s.ctx(), r)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.text = fmt.Sprintf("after %v: %s", time.Since(begin), s.pulled(got, err, show))
	}()
	return "waits"
}

func (s *story) answer(name string) string {
	w := s.waiting[name]
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.text == "" {
		return "not yet"
	}
	return w.text
}

// pulled prints messages as body@offset, with the properties that are asked for.
func (s *story) pulled(p *client.Pulled, err error, show string) string {
	if err != nil {
		return result(err, "")
	}
	text := fmt.Sprintf("%d next %d of %d..%d", p.Code, p.Next, p.Min, p.Max)
	for i := range p.Messages {
		m := &p.Messages[i]
		body := string(m.Body)
		if len(body) > 20 {
			body = fmt.Sprintf("(%d bytes)", len(body))
		}
		text += fmt.Sprintf(" %s@%d", body, m.QueueOffset)
		if m.ReconsumeTimes > 0 {
			text += fmt.Sprintf("(retry %d)", m.ReconsumeTimes)
		}
		properties := message.PropertyMap(m.Properties)
		if show == "all" {
			for _, name := range slices.Sorted(maps.Keys(properties)) {
				if name != message.PropUniqKey && name != "ORIGIN_MESSAGE_ID" {
					text += fmt.Sprintf(" %s=%s", name, properties[name])
				}
			}
		} else if show != "" {
			text += fmt.Sprintf(" %s=%s", show, properties[show])
		}
	}
	return text
}

func (s *story) online(a args) string {
	m := s.clients[a.plain[0]]
	if m == nil {
		m = &member{}
		m.c = s.client(m)
		s.clients[a.plain[0]] = m
	}
	data := protocol.ConsumerData{
		GroupName: a.take("group", "G"), ConsumeType: protocol.ConsumePassively,
		MessageModel:     protocol.MessageModel(a.take("model", "CLUSTERING")),
		ConsumeFromWhere: "CONSUME_FROM_LAST_OFFSET",
	}
	for topic := range strings.SplitSeq(a.take("topic", "T"), ",") {
		sub := protocol.SubscriptionData{Topic: topic, SubString: a.take("tags", "*"), ExpressionType: "TAG", SubVersion: int64(a.number("version", 1))}
		if sub.SubString != "*" {
			sub.TagsSet = strings.Split(sub.SubString, "||")
		}
		data.SubscriptionDataSet = append(data.SubscriptionDataSet, sub)
	}
	hb := &protocol.HeartbeatData{ClientID: a.plain[0], ConsumerDataSet: []protocol.ConsumerData{data}}
	_, err := m.c.Call(s.ctx(), s.mq.BrokerAddr, &protocol.Command{Code: protocol.ReqHeartBeat, Body: fastjson.Marshal(hb)})
	return result(err, "ok")
}

func (s *story) members(a args) string {
	cmd := &protocol.Command{Code: protocol.ReqGetConsumerListByGroup}
	h := protocol.GetConsumerListByGroupRequestHeader{ConsumerGroup: protocol.Some(a.take("group", "G"))}
	h.AppendFields(&cmd.Fields)
	answer, err := s.c.Call(s.ctx(), s.mq.BrokerAddr, cmd)
	if err != nil {
		return result(err, "")
	}
	var body protocol.GetConsumerListByGroupResponseBody
	if err := fastjson.Unmarshal(answer.Body, &body); err != nil {
		return err.Error()
	}
	return strings.Join(body.ConsumerIdList, " ")
}

func (s *story) back(a args) string {
	got, err := s.c.Pull(s.ctx(), client.PullRequest{
		Topic: a.plain[0], Queue: s.queue(&a), Group: "READER", Offset: int64(a.number("offset", 0)), Max: 1,
	})
	if err != nil || len(got.Messages) == 0 {
		return result(err, "no such message")
	}
	return s.call(protocol.ReqConsumerSendMsgBack, &protocol.ConsumerSendMsgBackRequestHeader{
		Offset: protocol.Some(got.Messages[0].PhyOffset), Group: protocol.Some(a.take("group", "G")),
		DelayLevel: protocol.Some(int32(a.number("level", 0))), OriginTopic: protocol.Some(a.plain[0]),
	}, "")
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package pop

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"go.uber.org/goleak"

	"rocketmq-go/broker/filter"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestScenarios runs the stories under testdata/scenario in virtual time. Commands:
//
//	topic name=T queues=2
//	send topic=T body=a n=3 tag=x queue=0          messages a0 a1 a2
//	pop group=G topic=T queue=0 max=32 invisible=10s tag=x order attempt=1 poll=5s
//	                                               what a client gets; with poll: when it gets it
//	ack body=a0 / change body=a0 to=30s            of the message as it was given last
//	batch-ack bodies=(a0,a1)
//	wait group=G topic=T                           whether something waits (NOTIFICATION)
//	advance by=1s
//	slow by=300ms                                  how long a put takes from now on
//	expire topic=T queue=0 n=2                     the first messages are deleted
//	progress group=G topic=T to=9                  sets an offset
//	held group=G topic=T queue=-1, stored topic=T queue=0, forget topic=T
//	kill old, start                                the service goes and comes; old: offsets are those of the last save
//	set key=value                                  a rule
//	fail topic=T / lose topic=T offset=1           puts fail; a record cannot be read
//	stop-timers, start-timers
//	reset group=G topic=T queue=0 to=0
//	offset group=G topic=T queue=0, topics, revive, file
//	in-flight group=G topic=T queue=0, stats
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenario", func(t *testing.T, path string) {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)))
			s := &story{
				t: t, dir: t.TempDir(), f: newFakeStore(), handles: map[string]*Ack{}, begin: time.Now(),
				rules: Rules{
					Broker: "b", Cluster: "C", ReviveQueues: 2, ReviveInterval: time.Second, InitInMemory: true, WakeOrdered: true,
				},
				polling: Polling{PerQueue: 1024, Queues: 1000, All: 1000, Force: 800},
			}
			s.start()
			defer func() {
				s.stop()
				time.Sleep(24 * time.Hour) // the timers of the wheel
			}()
			datadriven.RunTest(t, path, s.run)
		})
	})
}

type story struct {
	t       *testing.T
	dir     string
	f       *fakeStore
	begin   time.Time
	rules   Rules
	polling Polling
	stats   fakeStats
	service *Service
	cancel  context.CancelFunc
	done    chan error
	handles map[string]*Ack // by body
	saved   map[string]int64
	savedAt time.Time

	mu  sync.Mutex
	log strings.Builder
	got []string // by held pops
}

func (s *story) start() {
	var err error
	s.service, err = New(Options{
		Dir: s.dir, Saved: s.savedAt, Store: s.f, Put: s.f, Offsets: s.f, Topics: fakeTopics{s.f}, Stats: &s.stats, HasGroup: func(g string) bool { return g != "gone" },
		Settled: s.f.Settled, Rules: s.rulesNow, Polling: s.pollingNow,
		Host: func() netip.AddrPort { return brokerHost }, Log: slog.New(slog.NewTextHandler(s, &slog.HandlerOptions{ReplaceAttr: dropTime})),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.f.mu.Lock()
	s.f.arrived = s.service.Arrived
	s.f.mu.Unlock()
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	s.done = make(chan error, 2)
	go func() { s.done <- s.service.Run(ctx) }()
	go func() { s.done <- s.service.Revive(ctx) }()
	synctest.Wait()
}

func (s *story) rulesNow() Rules {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	return s.rules
}

func (s *story) pollingNow() Polling {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	return s.polling
}

func dropTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// stop ends the service as a kill does, but that it writes the file of pops in order.
func (s *story) stop() {
	s.f.mu.Lock()
	s.f.arrived = nil
	s.f.mu.Unlock()
	s.cancel()
	for range 2 {
		if err := <-s.done; err != nil {
			s.t.Error(err)
		}
	}
	if err := s.service.Close(); err != nil {
		s.t.Error(err)
	}
}

func (s *story) run(t *testing.T, d *datadriven.TestData) string {
	out := s.command(t, d)
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log.String()
	s.log.Reset()
	return log + out
}

// Write takes lines of the log.
func (s *story) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(b)
}

func (s *story) command(t *testing.T, d *datadriven.TestData) string {
	arg := func(name string) (v string) { d.MaybeScanArgs(t, name, &v); return v }
	number := func(name string, def int) int { d.MaybeScanArgs(t, name, &def); return def }
	span := func(name string, def time.Duration) time.Duration {
		if v := arg(name); v != "" {
			var err error
			if def, err = time.ParseDuration(v); err != nil {
				t.Fatal(err)
			}
		}
		return def
	}
	topic, group, queue := arg("topic"), arg("group"), int32(number("queue", 0))
	switch d.Cmd {
	case "topic":
		fakeTopics{s.f}.CreateRetry(arg("name"), int32(number("queues", 1)), 6, 0)
	case "send":
		for i := range number("n", 1) {
			m := &message.Message{
				Topic: topic, QueueID: queue, Body: fmt.Append(nil, arg("body"), i), BornTimestamp: time.Now().UnixMilli(),
				BornHost: brokerHost, StoreHost: brokerHost,
			}
			if tag := arg("tag"); tag != "" {
				m.Properties = message.AppendProperty(nil, message.PropTags, tag)
			}
			s.f.Raw(m, func(store.PutResult) {})
		}
	case "pop":
		return s.pop(&Request{
			Topic: fakeTopics{s.f}.Get(topic), Group: group, Queue: int32(number("queue", AnyQueue)), Max: number("max", 32),
			InvisibleTime: span("invisible", 10*time.Second).Milliseconds(), FromMax: d.HasArg("new"), Match: tagsOf(t, arg("tag")),
			Order: d.HasArg("order"), Attempt: arg("attempt"),
		}, span("poll", 0))
	case "ack":
		var err error
		a := *s.handles[arg("body")]
		a.Offset = int64(number("offset", int(a.Offset)))
		s.service.Ack(&a, func(e error) { err = e })
		synctest.Wait()
		return failed(err)
	case "batch-ack":
		return s.batchAck(strings.Split(arg("bodies"), "+"))
	case "change":
		var text string
		s.service.Change(s.handles[arg("body")], span("to", 0).Milliseconds(), func(pop, invisible int64, err error) {
			if text = failed(err); err == nil {
				text = fmt.Sprintf("from %v for %v", time.UnixMilli(pop).Sub(s.begin), time.Duration(invisible)*time.Millisecond)
				if h := &s.handles[arg("body")].Handle; h.ReviveQueue != OrderedQueue {
					h.PopTime, h.InvisibleTime, h.StartOffset = pop, invisible, s.handles[arg("body")].Offset
				}
			}
		})
		return text
	case "wait":
		return strconv.FormatBool(s.service.Waiting(fakeTopics{s.f}.Get(topic), group, AnyQueue, d.HasArg("order"), ""))
	case "advance":
		time.Sleep(span("by", 0))
		synctest.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		slices.Sort(s.got)
		got := strings.Join(s.got, "")
		s.got = nil
		return got
	case "save":
		s.locked(func() { s.saved, s.savedAt = maps.Clone(s.f.progress), time.Now() })
	case "kill":
		s.stop()
		if d.HasArg("old") {
			s.f.progress = maps.Clone(s.saved)
		}
	case "start":
		s.start()
	case "set":
		return s.set(d)
	case "fail":
		s.locked(func() { s.f.refuse = func(t string) bool { return t == topic } })
	case "slow":
		s.locked(func() { s.f.slow = span("by", 0) })
	case "lose", "find":
		span, _ := s.f.Span(topic, queue, int64(number("offset", 0)))
		s.locked(func() { s.f.lost[span.PhyOffset] = d.Cmd == "lose" })
	case "stop-timers", "start-timers":
		s.locked(func() { s.f.stuck = d.Cmd == "stop-timers" })
		s.f.deliver()
	case "reset":
		s.locked(func() { s.f.resets[of(group, topic, queue)] = int64(number("to", 0)) })
	case "expire":
		s.locked(func() {
			s.f.queues[at(topic, queue)] = s.f.queues[at(topic, queue)][number("n", 1):]
			s.f.begin[at(topic, queue)] += int64(number("n", 1))
		})
	case "progress":
		s.f.Commit("", group, topic, queue, int64(number("to", 0)))
	case "offset":
		return fmt.Sprint(s.f.Query(group, topic, queue))
	case "held":
		return fmt.Sprint(s.service.Pops.Held(), " ", s.service.Pops.HeldAt(topic, group, int32(number("queue", AnyQueue))))
	case "in-flight":
		n, ordered := s.service.InFlight(topic, group, queue)
		return fmt.Sprint(n, map[bool]string{true: " in order"}[ordered])
	case "stats":
		s.stats.mu.Lock()
		defer s.stats.mu.Unlock()
		var b strings.Builder
		for _, key := range slices.Sorted(maps.Keys(s.stats.n)) {
			fmt.Fprintln(&b, key, s.stats.n[key])
		}
		return b.String()
	case "forget":
		s.service.TopicGone(topic)
		s.service.GroupGone(group)
	case "topics":
		var names []string
		s.locked(func() {
			for name, t := range s.f.topics {
				names = append(names, fmt.Sprintf("%s (%d)", name, t.ReadQueueNums))
			}
		})
		slices.Sort(names)
		return strings.Join(names, "\n")
	case "stored":
		return s.stored(topic, queue)
	case "file":
		time.Sleep(ordersEvery + time.Second)
		text, err := os.ReadFile(filepath.Join(s.dir, "config", "consumerOrderInfo.json"))
		if err != nil {
			return err.Error()
		}
		return string(text)
	default:
		return "unknown command"
	}
	return ""
}

func (s *story) locked(do func()) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	do()
}

func failed(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

func (s *story) set(d *datadriven.TestData) string {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	for _, a := range d.CmdArgs {
		n, _ := strconv.Atoi(a.Vals[0])
		on := a.Vals[0] == "true"
		switch a.Key {
		case "v2":
			s.rules.RetryV2 = on
		case "no-v1":
			s.rules.NoRetryV1 = on
		case "actual":
			s.rules.ActualRetryTopic = on
		case "probability":
			s.rules.RetryProbability = n
		case "in-memory":
			s.rules.InitInMemory = on
		case "skip-unreadable":
			s.rules.SkipUnreadable = on
		case "most":
			s.rules.MaxInFlight = int64(n)
		case "per-queue":
			s.polling.PerQueue = n
		case "all":
			s.polling.All = int64(n)
		case "places":
			s.polling.Queues = n
		case "force":
			s.polling.Force = int64(n)
		case "off":
			s.polling.Off = on
		default:
			return "unknown rule " + a.Key
		}
	}
	return ""
}

func tagsOf(t *testing.T, tag string) store.Matcher {
	m, err := filter.Tags(tag)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// pop pops, and waits as the handler of a request does.
func (s *story) pop(r *Request, poll time.Duration) string {
	var text string
	service, began := s.service, time.Now()
	var w *Waiter
	var done func(res *Result)
	done = func(res *Result) {
		switch {
		case res.Count > 0 || res.Err != nil || poll == 0 || w != nil && w.expired:
		case w != nil && service.Pops.Hold(w):
			return
		case w == nil:
			w = &Waiter{
				Topic: r.Topic.TopicName, Group: r.Group, Queue: r.Queue, Deadline: began.Add(poll).UnixMilli(), Match: r.Match,
				Wake: func(bool) { service.Pop(r, done) },
			}
			if service.Pops.Hold(w) {
				if service.Ready(r) {
					service.Pops.Wake(w.Topic, w.Group, w.Queue)
				}
				text = "held"
				return
			}
			text = "no room"
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		shown := s.show(r, res, poll == 0)
		if poll == 0 {
			text = shown
			return
		}
		s.got = append(s.got, fmt.Sprintf("%s after %v: %s", r.Group, time.Since(began), shown))
	}
	service.Pop(r, done)
	if poll == 0 {
		time.Sleep(s.f.slow)
		synctest.Wait()
	}
	return text
}

// show prints a result as a client sees it, and keeps the handles. Which of two that are woken together is the first one
// makes no difference but in the revive queue.
func (s *story) show(r *Request, res *Result, alone bool) string {
	if res.Err != nil {
		return res.Err.Error() + "\n"
	}
	starts := map[string]int64{}
	for item := range strings.SplitSeq(res.Start, ";") {
		if at := strings.LastIndexByte(item, ' '); at > 0 {
			starts[item[:at]], _ = strconv.ParseInt(item[at+1:], 10, 64)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "start %q messages %q", res.Start, res.Messages)
	if r.Order {
		fmt.Fprintf(&b, " counts %q", res.Counts)
	} else if alone {
		fmt.Fprintf(&b, " revive %d", res.ReviveQueue)
	}
	fmt.Fprintf(&b, " rest %d:", res.Rest)
	for body := res.Body; len(body) > 0; {
		m, err := message.ParseRecord(body)
		if err != nil {
			s.t.Fatal(err)
		}
		body = body[m.Size:]
		a := &Ack{Topic: string(m.Topic), Group: r.Group, Queue: m.QueueID, Offset: m.QueueOffset, From: "/client"}
		fmt.Fprintf(&b, " %s", m.Body)
		if m.ReconsumeTimes > 0 {
			fmt.Fprintf(&b, "(%d)", m.ReconsumeTimes)
		}
		if text, ok := message.Property(m.Properties, PropHandle); ok {
			if a.Handle, err = ParseHandle(string(text)); err != nil {
				s.t.Fatal(err)
			}
			a.Topic = realTopic(a.Topic, r.Group, strings.Fields(string(text))[4])
		} else {
			a.Handle = Handle{
				StartOffset: starts[fmt.Sprintf("0 %d", m.QueueID)], PopTime: res.PopTime, InvisibleTime: r.InvisibleTime,
				ReviveQueue: res.ReviveQueue, Broker: s.rules.Broker,
			}
		}
		s.handles[string(m.Body)] = a
	}
	b.WriteByte('\n')
	return b.String()
}

func (s *story) batchAck(bodies []string) string {
	byStart := map[Handle]*protocol.BatchAck{}
	var acks []protocol.BatchAck
	for _, body := range bodies {
		a := s.handles[body]
		if byStart[a.Handle] == nil {
			b := &protocol.BatchAck{
				ConsumerGroup: a.Group, Topic: a.Topic, Retry: "0", StartOffset: a.Handle.StartOffset, QueueID: a.Queue,
				ReviveQueueID: a.Handle.ReviveQueue, PopTime: a.Handle.PopTime, InvisibleTime: a.Handle.InvisibleTime, BitSet: make([]byte, 16),
			}
			byStart[a.Handle] = b
		}
		n := a.Offset - a.Handle.StartOffset
		byStart[a.Handle].BitSet[n/8] |= 1 << (n % 8)
	}
	for _, b := range byStart {
		acks = append(acks, *b)
	}
	err := error(protocol.Errorf(1, "no outcome"))
	s.service.BatchAck("b", acks, "/client", func(e error) { err = e })
	return failed(err)
}

// stored prints what a queue has.
func (s *story) stored(topic string, queue int32) string {
	var b strings.Builder
	for offset := s.f.MinOffset(topic, queue); offset < s.f.MaxOffset(topic, queue); offset++ {
		span, _ := s.f.Span(topic, queue, offset)
		record, _ := s.f.Record(nil, span.PhyOffset, 0)
		m, _ := message.ParseRecord(record)
		fmt.Fprintf(&b, "%d %s %q\n", offset, m.Body, m.Properties)
	}
	return b.String()
}

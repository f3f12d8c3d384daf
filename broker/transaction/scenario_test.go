// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package transaction

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"

	"rocketmq-go/broker/offset"
	"rocketmq-go/broker/put"
	"rocketmq-go/compat"
	"rocketmq-go/config"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// TestScenarios runs the stories under testdata/scenario in virtual time, with a store in memory. Commands:
//
//	start [key=value …]     begin, with keys of the configuration; Java's defaults are 6 s rest, 30 s between checks
//	stop                    end cleanly
//	kill                    end without writing anything
//	half a b …              half messages with these bodies: group=g topic=T queue=1 immunity=10 born=-5s delay=3 flag=7
//	commit 0 1 …            the producer commits the half messages at these queue offsets, rollback alike:
//	                        group=g, check: as the answer to a question, phy=…: another commit-log offset
//	producer g name=p       a producer of group g comes, deaf: its connection is broken; gone g: all of the group go
//	resume half=0           RESUME_CHECK_HALF_MESSAGE
//	advance 30s             what is stored and asked meanwhile
//	progress                both queues, open counts, counters
//	fail topic=op times=2   puts into a topic fail (half, op, lost, or a name); status=illegal: never possible
//	lose half 3             the message at an offset cannot be read
//	expire half 2           the first two messages are deleted
//	cut half 2              the last two messages are gone
//	behind 1000             what the queues lack behind the log, bytes
//	files                   the metadata files
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenario", func(t *testing.T, path string) {
		synctest.Test(t, func(t *testing.T) {
			s := newStory(t)
			datadriven.RunTest(t, path, s.run)
			s.end(true)
		})
	})
}

type story struct {
	t         *testing.T
	dir       string
	store     *fakeStore
	producers fakeProducers
	topics    topicTable
	values    *config.BrokerValues
	service   *Service
	offsets   *offset.Store
	pipeline  *put.Pipeline
	cancel    context.CancelFunc
	done      chan error
	log       strings.Builder

	host       netip.AddrPort // of the broker
	failTopic  string         // guarded by store.mu
	failTimes  int
	failStatus store.PutStatus
}

func newStory(t *testing.T) *story {
	s := &story{t: t, dir: t.TempDir(), store: newFakeStore(), producers: fakeProducers{}, topics: topicTable{}, host: brokerHost}
	s.store.outcome = s.outcome
	return s
}

// topicTable has every topic, and lists those that the service made.
type topicTable map[string]bool

func (topicTable) Get(name string) *protocol.TopicConfig {
	return &protocol.TopicConfig{TopicName: name, ReadQueueNums: 4, WriteQueueNums: 4, Perm: 6}
}

func (t topicTable) CreateRetry(name string, _, _, _ int32) *protocol.TopicConfig {
	t[name] = true
	return t.Get(name)
}

var topicNames = map[string]string{"half": halfTopic, "op": opTopic, "lost": lostTopic}

func topicName(short string) string {
	if name, ok := topicNames[short]; ok {
		return name
	}
	return short
}

func (s *story) outcome(m *message.Message) store.PutStatus {
	if m.Topic != s.failTopic || s.failTimes == 0 {
		return store.PutOK
	}
	s.failTimes--
	return s.failStatus
}

// command is one command's arguments.
type command struct {
	t *testing.T
	d *datadriven.TestData
}

func (c command) text(name, def string) string { c.d.MaybeScanArgs(c.t, name, &def); return def }

func (c command) number(name string, def int) int { c.d.MaybeScanArgs(c.t, name, &def); return def }

// plain are the arguments without a value.
func (c command) plain() (list []string) {
	for _, a := range c.d.CmdArgs {
		if len(a.Vals) == 0 {
			list = append(list, a.Key)
		}
	}
	return list
}

func (c command) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		c.t.Fatalf("%s: %v", c.d.Pos, err)
	}
	return d
}

func (c command) offset(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		c.t.Fatalf("%s: %v", c.d.Pos, err)
	}
	return n
}

func (s *story) run(t *testing.T, d *datadriven.TestData) string {
	c := command{t, d}
	switch plain := c.plain(); d.Cmd {
	case "start":
		return s.start(c)
	case "stop", "kill":
		s.end(d.Cmd == "stop")
	case "half":
		s.half(c, plain)
	case "commit", "rollback":
		return s.finish(c, plain)
	case "producer":
		s.producers[plain[0]] = append(s.producers[plain[0]],
			&fakeChannel{name: c.text("name", "producer"), f: s.store, deaf: len(plain) > 1})
	case "gone":
		delete(s.producers, plain[0])
	case "resume":
		return s.resume(c)
	case "advance":
		time.Sleep(c.duration(plain[0]))
		synctest.Wait()
	case "progress":
		return s.progress()
	case "fail":
		s.store.mu.Lock()
		s.failTopic, s.failTimes, s.failStatus = topicName(c.text("topic", "")), c.number("times", 1), store.ServiceNotAvailable
		if c.text("status", "") == "illegal" {
			s.failStatus = store.MessageIllegal
		}
		s.store.mu.Unlock()
	case "lose":
		s.store.lose(topicName(plain[0]), c.offset(plain[1]))
	case "expire":
		s.store.expire(topicName(plain[0]), int(c.offset(plain[1])))
	case "cut":
		s.store.cut(topicName(plain[0]), int(c.offset(plain[1])))
	case "behind":
		s.store.mu.Lock()
		s.store.behind = c.offset(plain[0])
		s.store.mu.Unlock()
	case "files":
		return s.files()
	default:
		return "unknown command"
	}
	synctest.Wait()
	return s.told()
}

// told is what the log and the book say since the last time.
func (s *story) told() string {
	text := s.log.String()
	s.log.Reset()
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + s.store.take()
}

func (s *story) start(c command) string {
	set := map[string]string{}
	for _, a := range c.d.CmdArgs {
		set[a.Key] = strings.Join(a.Vals, ",")
	}
	if err := s.open(set); err != nil {
		return err.Error()
	}
	synctest.Wait()
	return s.told()
}

// open makes the service and lets it run.
func (s *story) open(set map[string]string) error {
	for key, value := range map[string]string{
		"brokerName": "broker-a", "brokerClusterName": "DefaultCluster", "brokerIP1": "127.0.0.1",
	} {
		if _, ok := set[key]; !ok {
			set[key] = value
		}
	}
	cfg, _, err := config.LoadBroker(config.Options{Set: set, Env: func(string) string { return "" }})
	if err != nil {
		return err
	}
	s.values = cfg.Load()
	profile := compat.For(cfg.CompatVersion())
	if s.offsets, err = offset.New(offset.Options{Dir: s.dir}); err != nil {
		return err
	}
	s.pipeline = put.New(put.Options{
		Profile: profile, Store: s.store, Config: cfg.Load, Topics: s.topics,
		MaxLevel: func() int32 { return 18 }, IDs: message.NewIDGenerator(brokerHost.Addr(), 1, time.Now),
		Prepared: func(topic string) { s.service.Prepared(topic) },
	})
	s.service, err = New(Options{
		Dir: s.dir, Profile: profile, Store: s.store, Put: s.pipeline, Offsets: s.offsets, Topics: s.topics,
		Producer: s.producers.of, Rules: func() Rules { return rulesOf(s.values) },
		Host: func() netip.AddrPort { return s.host },
		Log:  slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{ReplaceAttr: dropTime})),
	})
	if err != nil {
		return err
	}
	s.store.mu.Lock()
	s.store.arrived = s.service.Arrived
	s.store.mu.Unlock()
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	s.done = make(chan error, 1)
	go func() { s.done <- s.service.Run(ctx) }()
	return nil
}

// rulesOf is what the broker makes of its configuration.
func rulesOf(v *config.BrokerValues) Rules {
	return Rules{
		BrokerName: v.BrokerName, MaxMessageSize: v.Store.MaxMessageSize, TimeOut: config.Millis(v.TransactionTimeOut),
		CheckMax: v.TransactionCheckMax, Interval: config.Millis(v.TransactionCheckInterval),
		OpInterval: config.Millis(v.TransactionOpBatchInterval), OpSize: v.TransactionOpMsgMaxSize,
		MetricsEvery: config.Millis(v.TransactionMetricFlushInterval),
		Reserved:     time.Duration(v.Store.FileReservedTime) * time.Hour, Slave: v.Store.BrokerRole == config.Slave,
	}
}

func dropTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

func (s *story) half(c command, bodies []string) {
	for _, body := range bodies {
		e := &put.Entry{Message: message.Message{
			Topic: c.text("topic", "T"), QueueID: int32(c.number("queue", 1)), Flag: int32(c.number("flag", 0)),
			SysFlag: message.SysPrepared, BornTimestamp: time.Now().Add(c.duration(c.text("born", "0s"))).UnixMilli(),
			BornHost: clientHost, StoreHost: brokerHost, Body: []byte(body),
		}}
		properties := "TRAN_MSG\x01true\x02PGROUP\x01" + c.text("group", "g") + "\x02UNIQ_KEY\x01id-" + body + "\x02"
		for name, arg := range map[string]string{propImmunity: "immunity", message.PropDelay: "delay"} {
			if v := c.text(arg, ""); v != "" {
				properties += name + "\x01" + v + "\x02"
			}
		}
		s.pipeline.Open(e, properties)
		if err := s.pipeline.Send(e, put.Retry{}, func(r store.PutResult) {
			if r.Status != store.PutOK {
				s.store.write("half %s: %s", body, put.StatusName(r.Status))
			}
		}); err != nil {
			s.store.write("half %s: %v", body, err)
		}
	}
}

// finish ends transactions and shows what is answered.
func (s *story) finish(c command, plain []string) string {
	end := End{Group: c.text("group", "g"), Commit: c.d.Cmd == "commit"}
	var answers []string
	for _, word := range plain {
		if word == "check" {
			end.FromCheck = true
		}
	}
	for _, word := range plain {
		if word == "check" {
			continue
		}
		end.QueueOffset = c.offset(word)
		u, _ := s.store.Unit(halfTopic, queue, end.QueueOffset)
		end.PhyOffset = int64(c.number("phy", int(u.PhyOffset)))
		s.service.End(end, func(err error) {
			if err != nil {
				answers = append(answers, err.Error())
			}
		})
	}
	synctest.Wait()
	return strings.Join(append(answers, s.told()), "\n")
}

func (s *story) resume(c command) string {
	id := c.text("id", "")
	if id == "" {
		for topic, short := range map[string]string{halfTopic: "half", lostTopic: "lost", "T": "T"} {
			if v := c.text(short, ""); v != "" {
				u, _ := s.store.Unit(topic, int32(c.number("queue", 0)), c.offset(v))
				id = message.OffsetID(brokerHost, u.PhyOffset)
			}
		}
	}
	answer := ""
	s.service.Resume(id, func(err error) {
		if err != nil {
			answer = err.Error() + "\n"
		}
	})
	synctest.Wait()
	return answer + s.told()
}

func (s *story) progress() string {
	at := func(topic string) string {
		committed := "-"
		if o, ok := s.offsets.Query(Group, topic, queue); ok {
			committed = fmt.Sprint(o)
		}
		return fmt.Sprintf("%s of %d", committed, s.store.MaxOffset(topic, queue))
	}
	s.service.mu.Lock()
	remembered := fmt.Sprintf("%d words, %d copies", len(s.service.ended), len(s.service.copies))
	s.service.mu.Unlock()
	return fmt.Sprintf("half %s, op %s; open %v; remembered: %s\n%+v",
		at(halfTopic), at(opTopic), s.service.Open(), remembered, s.service.Stats())
}

func (s *story) files() string {
	var b strings.Builder
	names, _ := filepath.Glob(filepath.Join(s.dir, "config", "*"))
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			s.t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s: %s\n", filepath.Base(name), text)
	}
	return b.String()
}

func (s *story) end(clean bool) {
	if s.service == nil {
		return
	}
	s.cancel()
	if err := <-s.done; err != nil {
		s.t.Error(err)
	}
	s.store.mu.Lock()
	s.store.arrived = nil
	if !clean {
		// What is written from here on is not.
		s.store.outcome = func(*message.Message) store.PutStatus { return store.ServiceNotAvailable }
	}
	s.store.mu.Unlock()
	if clean {
		if err := s.service.Close(); err != nil {
			s.log.WriteString(err.Error() + "\n")
		}
		if err := s.offsets.Close(); err != nil {
			s.t.Error(err)
		}
	} else {
		s.service.abandon()
		s.store.mu.Lock()
		s.store.outcome = s.outcome
		s.store.mu.Unlock()
	}
	s.service = nil
}

// abandon stops the timers of a service that was killed.
func (s *Service) abandon() {
	s.ops.mu.Lock()
	s.ops.closed, s.ops.waiting, s.ops.sizes = true, nil, nil
	if s.ops.timer != nil {
		s.ops.timer.Stop()
	}
	s.ops.mu.Unlock()
	if m := s.metrics; m != nil {
		m.mu.Lock()
		m.closed = true
		if m.timer != nil {
			m.timer.Stop()
		}
		m.mu.Unlock()
	}
}

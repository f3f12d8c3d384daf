// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timer

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"

	"rocketmq-go/broker/put"
	"rocketmq-go/compat"
	"rocketmq-go/config"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// TestScenarios runs the stories under testdata/scenario, over a real store, in virtual time that begins at full hours.
// Times are told from that beginning. Commands:
//
//	start window=5 tick=1s     the service begins, or goes on after stop or kill
//	stop                       it ends cleanly
//	kill                       it ends without writing
//	send body=a in=3s n=2      messages for topic T, for a time from now (at=… from the beginning): a, or a0 a1
//	take body=a in=3s key=…    takes back the message that was sent for that time; key: not the usual one
//	raw body=x NAME=value …    a message that is put into the timer topic as it is
//	advance by=5s              what was delivered meanwhile: when, topic-queue, body
//	properties body=a          those of the message that was delivered, times from the beginning
//	fail body=a times=3 status=illegal|unknown|busy    puts of that message fail
//	files, counts, checkpoint, stats
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenario", func(t *testing.T, path string) {
		synctest.Test(t, func(t *testing.T) {
			s := newStory(t)
			defer s.close()
			datadriven.RunTest(t, path, s.run)
		})
	})
}

type story struct {
	t     *testing.T
	dir   string
	begin time.Time
	store *store.Store
	put   *put.Pipeline

	service *Service // nil: not running
	running atomic.Pointer[Service]
	cancel  context.CancelFunc
	done    chan error
	// stopEnter is timerStopEnqueue.
	stopEnter atomic.Bool
	read      map[string]int64 // queue → next offset

	mu   sync.Mutex // guards the rest
	log  strings.Builder
	fail map[string]*failure
}

// Write takes log lines.
func (s *story) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(b)
}

type failure struct {
	times  int
	status store.PutStatus
}

type topics struct{}

func (topics) Get(name string) *protocol.TopicConfig { return &protocol.TopicConfig{TopicName: name} }

func (topics) CreateRetry(name string, _, _, _ int32) *protocol.TopicConfig {
	return &protocol.TopicConfig{TopicName: name}
}

func newStory(t *testing.T) *story {
	s := &story{t: t, dir: t.TempDir(), begin: time.Now(), read: map[string]int64{}, fail: map[string]*failure{}}
	cfg, _, err := config.LoadBroker(config.Options{Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	s.store, err = store.Open(store.Config{
		Dir: s.dir, CommitLogFileSize: 1 << 20, ConsumeQueueFileSize: 60000, IndexDisabled: true,
		Log: slog.New(slog.DiscardHandler), Arrived: func(a store.Arrival) {
			if service := s.running.Load(); service != nil {
				service.Arrived(a)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.put = put.New(put.Options{
		Profile: compat.For(compat.Release533), Store: s.store, Config: cfg.Load, Topics: topics{},
		MaxLevel: func() int32 { return 18 }, Timers: s,
	})
	return s
}

// Tick and Waiting: the pipeline of the story outlives its services.
func (s *story) Tick() int64 {
	if s.service != nil {
		return s.service.Tick()
	}
	return 1000
}

func (s *story) Waiting(ms int64) int64 { return s.service.Waiting(ms) }

// putOrFail is the service's put.
func (s *story) putOrFail(m *message.Message, done func(store.PutResult)) {
	s.mu.Lock()
	f := s.fail[string(m.Body)]
	fails := f != nil && f.times > 0
	if fails {
		f.times--
	}
	s.mu.Unlock()
	if fails {
		done(store.PutResult{Status: f.status})
		return
	}
	s.put.Raw(m, done)
}

func (s *story) run(t *testing.T, d *datadriven.TestData) string {
	arg := func(name string) (v string) { d.MaybeScanArgs(t, name, &v); return v }
	switch d.Cmd {
	case "start":
		return s.start(arg("window"), arg("tick"))
	case "stop", "kill":
		s.end(d.Cmd == "stop")
		return s.take()
	case "send":
		n := 1
		d.MaybeScanArgs(t, "n", &n)
		for i := range n {
			body := arg("body")
			if n > 1 {
				body += strconv.Itoa(i)
			}
			s.send(body, s.timeOf(arg), "")
		}
		return s.take()
	case "take":
		key := arg("key")
		if key == "" {
			key = "T+id-" + arg("body")
		}
		s.send("0", s.timeOf(arg), key)
		return s.take()
	case "raw":
		return s.raw(d)
	case "advance":
		by, err := time.ParseDuration(arg("by"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(by)
		return s.take()
	case "properties":
		return s.properties(arg("body"))
	case "fail":
		f := &failure{times: 1, status: map[string]store.PutStatus{
			"illegal": store.MessageIllegal, "unknown": store.UnknownError, "busy": store.ServiceNotAvailable,
			"disk": store.FlushDiskTimeout,
		}[arg("status")]}
		d.MaybeScanArgs(t, "times", &f.times)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.fail[arg("body")] = f
		return ""
	case "files":
		return s.files()
	case "counts":
		return s.short(string(s.service.counts.render()))
	case "checkpoint":
		cp := s.service.Checkpoint()
		return fmt.Sprintf("read %s, queue offset %d, log %d", s.since(cp.ReadTime), cp.QueueOffset, cp.FlushPos)
	case "stats":
		x := s.service.Stats()
		return fmt.Sprintf("entered %d delivered %d rolled %d taken %d retried %d skipped %d; waiting %d, behind %v and %d",
			x.Entered, x.Delivered, x.Rolled, x.Taken, x.Retried, x.Skipped, x.Waiting, x.ReadBehind, x.OffsetBehind)
	}
	return "unknown command"
}

func (s *story) start(window, tick string) string {
	o := Options{
		Dir: s.dir, FileSize: 400, Store: s.store, Put: s.putOrFail, StopEnter: s.stopEnter.Load,
		Log: slog.New(slog.NewTextHandler(s, &slog.HandlerOptions{ReplaceAttr: s.attr})),
	}
	o.Window, _ = strconv.Atoi(window)
	o.Tick, _ = time.ParseDuration(tick)
	service, err := New(o)
	if err != nil {
		return err.Error()
	}
	s.service = service
	s.running.Store(service)
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	s.done = make(chan error, 1)
	go func() { s.done <- service.Run(ctx) }()
	return s.take()
}

// attr makes log lines the same each time.
func (s *story) attr(_ []string, a slog.Attr) slog.Attr {
	switch a.Key {
	case slog.TimeKey, "took":
		return slog.Attr{}
	case "slot":
		return slog.String("slot", s.since(a.Value.Int64()))
	}
	return a
}

func (s *story) end(clean bool) {
	if s.service == nil {
		return
	}
	s.cancel()
	if err := <-s.done; err != nil {
		s.t.Error(err)
	}
	if clean {
		if err := s.service.Close(); err != nil {
			s.t.Error(err)
		}
	} else {
		_ = s.service.counts.writer.Close()
		s.service.files.Close()
	}
	s.service = nil
	s.running.Store(nil)
}

func (s *story) close() {
	s.end(true)
	if err := s.store.Close(); err != nil {
		s.t.Error(err)
	}
}

func (s *story) timeOf(arg func(string) string) time.Time {
	if text := arg("at"); text != "" {
		at, err := time.ParseDuration(text)
		if err != nil {
			s.t.Fatal(err)
		}
		return s.begin.Add(at)
	}
	in, err := time.ParseDuration(arg("in"))
	if err != nil {
		s.t.Fatal(err)
	}
	return time.Now().Add(in)
}

var host = netip.MustParseAddrPort("127.0.0.1:10911")

func (s *story) message(topic, body string) put.Entry {
	return put.Entry{Message: message.Message{
		Topic: topic, QueueID: 3, Body: []byte(body), BornTimestamp: time.Now().UnixMilli(), BornHost: host, StoreHost: host,
		SysFlag: message.SysCompressed, Flag: 7, ReconsumeTimes: 2,
	}}
}

// send stores a message for a time; takes makes it one that takes back another.
func (s *story) send(body string, at time.Time, takes string) {
	e := s.message("T", body)
	e.Props.Set("UNIQ_KEY", "id-"+body)
	e.Props.Set(put.PropTimerAt, strconv.FormatInt(at.UnixMilli(), 10))
	if takes != "" {
		e.Props.Set(put.PropTimerDelete, takes)
	}
	if err := s.put.Put(&e, s.stored); err != nil {
		fmt.Fprintln(s, err)
	}
}

func (s *story) stored(r store.PutResult) {
	if r.Status != store.PutOK {
		s.t.Errorf("put: %d", r.Status)
	}
}

func (s *story) raw(d *datadriven.TestData) string {
	var properties []byte
	body := ""
	for _, a := range d.CmdArgs {
		value := a.Vals[0]
		if in, err := time.ParseDuration(value); err == nil {
			value = strconv.FormatInt(time.Now().Add(in).UnixMilli(), 10)
		}
		if a.Key == "body" {
			body = value
		} else {
			properties = message.AppendProperty(properties, a.Key, value)
		}
	}
	e := s.message(Topic, body)
	e.QueueID, e.Properties = 0, properties
	s.put.Raw(&e.Message, s.stored)
	return s.take()
}

// take tells what was logged and delivered since the last time.
func (s *story) take() string {
	synctest.Wait()
	var lines []string
	for topic, ids := range s.store.Queues() {
		for _, id := range ids {
			if topic == Topic {
				continue
			}
			name := fmt.Sprintf("%s-%d", topic, id)
			for ; s.read[name] < s.store.MaxOffset(topic, id); s.read[name]++ {
				r := s.record(topic, id, s.read[name])
				at := time.UnixMilli(r.StoreTimestamp).Sub(s.begin)
				lines = append(lines, fmt.Sprintf("%10s %s %s", at, name, r.Body))
			}
		}
	}
	slices.SortStableFunc(lines, func(a, b string) int {
		x, _ := time.ParseDuration(strings.Fields(a)[0])
		y, _ := time.ParseDuration(strings.Fields(b)[0])
		return int(x - y)
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	logged := s.log.String()
	s.log.Reset()
	return logged + strings.Join(lines, "\n")
}

func (s *story) record(topic string, id int32, offset int64) message.Record {
	u, ok := s.store.Unit(topic, id, offset)
	raw, ok2 := s.store.Record(nil, u.PhyOffset, u.Size)
	r, err := message.ParseRecord(raw)
	if !ok || !ok2 || err != nil {
		s.t.Fatal(ok, ok2, err)
	}
	return r
}

func (s *story) since(ms int64) string { return time.UnixMilli(ms).Sub(s.begin).String() }

// short replaces times in a text by what has passed since the beginning.
func (s *story) short(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	for _, w := range words {
		if ms, err := strconv.ParseInt(w, 10, 64); err == nil && len(w) == 12 {
			text = strings.ReplaceAll(text, w, s.since(ms))
		}
	}
	return text
}

func (s *story) properties(body string) string {
	for offset := s.store.MaxOffset("T", 3) - 1; offset >= 0; offset-- {
		r := s.record("T", 3, offset)
		if string(r.Body) != body {
			continue
		}
		if r.Flag != 7 || r.SysFlag != message.SysCompressed || r.ReconsumeTimes != 2 || r.BornHost != host || r.BornTimestamp == 0 {
			return fmt.Sprintf("%+v", r)
		}
		return s.short(strings.NewReplacer("\x01", "=", "\x02", "\n").Replace(string(r.Properties)))
	}
	return "none"
}

func (s *story) files() string {
	var out []string
	_ = filepath.WalkDir(s.dir, func(path string, e os.DirEntry, err error) error {
		if name, _ := filepath.Rel(s.dir, path); err == nil && !e.IsDir() && strings.HasPrefix(filepath.Base(path), "timer") {
			info, _ := e.Info()
			out = append(out, fmt.Sprintf("%s %d", name, info.Size()))
		}
		return nil
	})
	return strings.Join(out, "\n")
}

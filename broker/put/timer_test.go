// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package put

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"rocketmq-go/compat"
	"rocketmq-go/config"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// book notes what is stored.
type book struct {
	topic      string
	queue      int32
	properties string
	batch      bool
}

func (b *book) Put(m *message.Message, done func(store.PutResult)) {
	*b = book{m.Topic, m.QueueID, string(m.Properties), false}
	done(store.PutResult{})
}

func (b *book) PutBatch(m *message.Message, done func(store.PutResult)) {
	b.Put(m, done)
	b.batch = true
}

func (b *book) Record([]byte, int64, int32) ([]byte, bool) { return nil, false }

type anyTopic struct{}

func (anyTopic) Get(name string) *protocol.TopicConfig { return &protocol.TopicConfig{TopicName: name} }

func (anyTopic) CreateRetry(name string, _, _, _ int32) *protocol.TopicConfig {
	return &protocol.TopicConfig{TopicName: name}
}

// slots is a timer service with so many messages in each slot.
type slots struct{ tick, waiting int64 }

func (s slots) Tick() int64         { return s.tick }
func (s slots) Waiting(int64) int64 { return s.waiting }

const testNow = 1_800_000_000_250

func pipeline(t testing.TB, release string, timers Timers, set map[string]string) (*Pipeline, *book) {
	cfg, _, err := config.LoadBroker(config.Options{Set: set, Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	b := &book{}
	return New(Options{
		Profile: compat.For(release), Store: b, Config: cfg.Load, Topics: anyTopic{}, MaxLevel: func() int32 { return 18 },
		Timers: timers, Now: func() time.Time { return time.UnixMilli(testNow) },
	}), b
}

const (
	illegal = "13 timer message illegal, the delay time should not be bigger than the max delay 259200000ms; or if set del " +
		"msg, the delay time should be bigger than the current time"
	off = "1 accurate timer message is not enabled, timerWheelEnable is false"
)

// Which messages wait, and for which slot (ms from the full second before the present, which is 250 ms behind it).
func TestTimers(t *testing.T) {
	for _, c := range []struct{ properties, want string }{
		{"", "stored"},
		{"TIMER_DELAY_SEC=2", "2000"},
		{"TIMER_DELAY_MS=2000", "2000"},
		{"TIMER_DELAY_MS=750", "0"}, // due at a full second: waits in the slot before
		{"TIMER_DELAY_MS=751", "1000"},
		{"TIMER_DELAY_MS=1", "0"},
		{"TIMER_DELIVER_MS=1800000005000", "4000"},
		{"TIMER_DELIVER_MS=1800000005001", "5000"},
		{"TIMER_DELIVER_MS=1800000000251", "0"},
		{"TIMER_DELIVER_MS=1800000000250", "stored"},
		{"TIMER_DELIVER_MS=0", "stored"},
		{"TIMER_DELIVER_MS=-5", "stored"},
		{"TIMER_DELAY_SEC=0", "stored"},
		{"TIMER_DELAY_SEC=-5", "stored"},
		{"TIMER_DELAY_SEC=-9223372036854775808", "stored"},
		{"TIMER_DELAY_MS=-9223372036854775808", "stored"},
		{"TIMER_DELIVER_MS=-9223372036854775808", "stored"},
		{"TIMER_DELAY_SEC=259200", "259200000"},
		{"TIMER_DELAY_SEC=259201", illegal},
		{"TIMER_DELAY_MS=259200001", illegal},
		{"TIMER_DELIVER_MS=1800259200250", "259200000"},
		{"TIMER_DELIVER_MS=1800259200251", illegal},
		{"TIMER_DELAY_SEC=9223372036854775807", illegal},
		{"TIMER_DELAY_MS=9223372036854775807", illegal},
		{"TIMER_DELIVER_MS=9223372036854775807", illegal},
		{"TIMER_DELAY_SEC=9223372036854775808", illegal},
		{"TIMER_DELAY_SEC=abc", illegal},
		{"TIMER_DELAY_SEC=1.5", illegal},
		{"TIMER_DELAY_SEC= 1", illegal},
		{"TIMER_DELAY_SEC=+1", "1000"},
		{"TIMER_DELAY_SEC=1 TIMER_DELAY_MS=99999999999 TIMER_DELIVER_MS=x", "1000"},
		{"TIMER_DELAY_MS=1000 TIMER_DELIVER_MS=x", "1000"},
		{"TIMER_DEL_UNIQKEY=k TIMER_DELAY_SEC=2", "2000"},
		{"TIMER_DEL_UNIQKEY=k TIMER_DELAY_SEC=-2", illegal},
		{"TIMER_DEL_UNIQKEY=k", "stored"},
		{"TIMER_OUT_MS=5 TIMER_DELAY_SEC=2", "stored"},
		{"DELAY=0 TIMER_DELAY_SEC=2", "2000"},
		{"DELAY=-1 TIMER_DELAY_SEC=2", "2000"},
	} {
		p, b := pipeline(t, compat.Release533, slots{tick: 1000}, nil)
		if got := send(p, b, c.properties); got != c.want {
			t.Errorf("%s: %s, want %s", c.properties, got, c.want)
		}
	}
}

// send sends a message and tells what became of it.
func send(p *Pipeline, b *book, properties string) string {
	e := &Entry{Message: message.Message{Topic: "T", QueueID: 3}}
	for _, pair := range strings.FieldsFunc(strings.ReplaceAll(properties, "= ", "=\x00"), func(r rune) bool { return r == ' ' }) {
		name, value, _ := strings.Cut(pair, "=")
		e.Props.Set(name, strings.ReplaceAll(value, "\x00", " "))
	}
	err := p.Put(e, func(store.PutResult) {})
	if refused, ok := err.(*protocol.Error); ok {
		return fmt.Sprint(refused.Code, " ", refused.Remark)
	}
	if b.topic != TimerTopic {
		if b.topic != "T" || e.TimerOut != 0 {
			return fmt.Sprintf("%+v", b)
		}
		return "stored"
	}
	held := message.PropertyMap([]byte(b.properties))
	if b.queue != 0 || held[PropTimerOut] != fmt.Sprint(e.TimerOut) || held["REAL_TOPIC"] != "T" || held["REAL_QID"] != "3" || e.RealTopic != "T" {
		return fmt.Sprintf("%+v", b)
	}
	return fmt.Sprint(e.TimerOut - testNow/1000*1000)
}

func TestTimersElsewhere(t *testing.T) {
	// A delay level wins, and nothing is left of the time.
	p, b := pipeline(t, compat.Release533, slots{tick: 1000}, nil)
	e := &Entry{Message: message.Message{Topic: "T"}}
	e.Props.Set("DELAY", "3")
	e.Props.Set("TIMER_DELAY_SEC", "100")
	if err := p.Put(e, func(store.PutResult) {}); err != nil || b.topic != ScheduleTopic || strings.Contains(b.properties, "TIMER") {
		t.Errorf("%v %+v", err, b)
	}
	// So does the timer topic itself, to which a message returns.
	e = &Entry{Message: message.Message{Topic: TimerTopic}}
	e.Props.Set("TIMER_DELAY_SEC", "100")
	if err := p.Put(e, func(store.PutResult) {}); err != nil || e.TimerOut != 0 {
		t.Errorf("%v %+v", err, b)
	}
	// Parts of transactions in their old form do not wait; what is committed does.
	for flag, topic := range map[int32]string{message.SysPrepared: "T", message.SysRollback: "T", message.SysCommit: TimerTopic} {
		e = &Entry{Message: message.Message{Topic: "T", SysFlag: flag}}
		e.Props.Set("TIMER_DELAY_SEC", "100")
		if err := p.Put(e, func(store.PutResult) {}); err != nil || b.topic != topic {
			t.Errorf("sysFlag %d: %v %+v", flag, err, b)
		}
	}
	// A batch waits as one.
	e = &Entry{Message: message.Message{Topic: "T", QueueID: 2}}
	e.Props.Set("TIMER_DELAY_SEC", "100")
	if err := p.Batch(e, func(store.PutResult) {}); err != nil || b.topic != TimerTopic || !b.batch || !strings.Contains(b.properties, "REAL_QID\x012") {
		t.Errorf("%v %+v", err, b)
	}
	// Ticks.
	for tick, want := range map[int64]string{100: "700", 200: "600", 500: "500", 1000: "0"} {
		p, b := pipeline(t, compat.Release533, slots{tick: tick}, nil)
		if got := send(p, b, "TIMER_DELAY_MS=470"); got != want {
			t.Errorf("tick %d: %s, want %s", tick, got, want)
		}
	}
	// Switched off.
	p, b = pipeline(t, compat.Release533, slots{tick: 1000}, map[string]string{"timerWheelEnable": "false"})
	for properties, want := range map[string]string{"TIMER_DELAY_SEC=2": off, "TIMER_DELAY_SEC=x": off, "TIMER_DELAY_SEC=-2": off, "A=b": "stored"} {
		if got := send(p, b, properties); got != want {
			t.Errorf("%s: %s, want %s", properties, got, want)
		}
	}
	// 4.9 does not know these properties: they are the sender's own.
	p, b = pipeline(t, compat.Release497, nil, map[string]string{"compatVersion": "4.9.7"})
	if got := send(p, b, "TIMER_DELAY_SEC=x"); got != "stored" || b.properties != "TIMER_DELAY_SEC\x01x" {
		t.Errorf("4.9: %s %+v", got, b)
	}
}

func TestFlowControl(t *testing.T) {
	for _, c := range []struct {
		limit       string
		waiting     int64
		least, most int // of 200 that pass
	}{
		{"2147483647", 1 << 40, 200, 200},
		{"100", 0, 200, 200},
		{"100", 100, 200, 200},
		{"100", 150, 50, 150},
		{"100", 199, 0, 20},
		{"100", 200, 0, 0},
		{"0", 0, 200, 200},
		{"0", 1, 0, 0},
	} {
		p, b := pipeline(t, compat.Release533, slots{1000, c.waiting}, map[string]string{"timerCongestNumEachSlot": c.limit})
		passed := 0
		for range 200 {
			switch got := send(p, b, "TIMER_DELAY_SEC=2"); got {
			case "2000":
				passed++
			default:
				n := 0
				if _, err := fmt.Sscan(c.limit, &n); err != nil {
					t.Fatal(err)
				}
				if want := fmt.Sprintf("1 timer message is under flow control, max num limit is %d or the current value is greater "+
					"than %d and less than %d, trigger random flow control", 2*n, n, 2*n); got != want {
					t.Fatalf("%s", got)
				}
			}
		}
		if passed < c.least || passed > c.most {
			t.Errorf("%d waiting, limit %s: %d of 200 pass", c.waiting, c.limit, passed)
		}
	}
}

// The order of properties in messages that a broker makes itself is that of a map that begins small.
func TestBuiltOrder(t *testing.T) {
	for _, want := range []string{
		"TIMER_DEL_UNIQKEY REAL_TOPIC BORN_TIMESTAMP TIMER_DELIVER_MS UNIQ_KEY PGROUP TAGS TIMER_OUT_MS REAL_QID", // a recall
		"REAL_TOPIC TIMER_DELIVER_MS UNIQ_KEY TAGS TIMER_OUT_MS REAL_QID",                                         // a POP checkpoint
	} {
		p := Properties{Built: true}
		for _, name := range strings.Fields(want) {
			p.Set(name, "v")
		}
		got := string(p.Append(nil, message.Java5))
		if names(got) != want || !strings.HasSuffix(got, "\x02") {
			t.Errorf("got  %s\nwant %s", names(got), want)
		}
	}
}

func BenchmarkTimer(b *testing.B) {
	p, _ := pipeline(b, compat.Release533, slots{tick: 1000}, nil)
	var e Entry
	done := func(store.PutResult) {}
	b.ReportAllocs()
	for b.Loop() {
		e.Reset()
		e.Message = message.Message{Topic: "T", QueueID: 3}
		p.Open(&e, "UNIQ_KEY\x01id-0123456789\x02TIMER_DELAY_SEC\x0130\x02")
		if err := p.Put(&e, done); err != nil {
			b.Fatal(err)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rocketmq-go/broker/timer"
	"rocketmq-go/internal/brokerchild"
	"rocketmq-go/message"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store/segment"
	"rocketmq-go/store/timerlog"
)

func TestMain(m *testing.M) {
	brokerchild.Main(settings)
	goleak.VerifyTestMain(m)
}

// settings are the broker's.
func settings(dir string) map[string]string {
	return brokerchild.Settings(dir, map[string]string{"mappedFileSizeTimerLog": "104000", "recallMessageEnable": "true"})
}

// client sends, takes back and reads.
type client struct {
	*remoting.Client
	t    *testing.T
	addr string
}

const topicName = "Timed"

func newClient(t *testing.T, addr string) *client {
	return &client{remoting.NewClient(remoting.ClientConfig{Version: 479}), t, addr}
}

func (c *client) call(ctx context.Context, code int32, h protocol.Header, body []byte) (*protocol.Command, error) {
	cmd := &protocol.Command{Code: code, Body: body}
	h.AppendFields(&cmd.Fields)
	return c.Call(ctx, c.addr, cmd)
}

// send sends a message for a time and returns its handle; false: nobody knows whether it is stored.
func (c *client) send(ctx context.Context, body string, due time.Time) (handle string, ok bool) {
	answer, err := c.call(ctx, protocol.ReqSendMessage, &protocol.SendMessageRequestHeader{
		ProducerGroup: protocol.Some("p"), Topic: protocol.Some(topicName), DefaultTopic: protocol.Some("TBW102"),
		DefaultTopicQueueNums: protocol.Some(int32(1)), QueueID: protocol.Some(int32(0)), SysFlag: protocol.Some(int32(0)),
		BornTimestamp: protocol.Some(time.Now().UnixMilli()), Flag: protocol.Some(int32(0)),
		Properties: protocol.Some("UNIQ_KEY\x01" + body + "\x02TIMER_DELIVER_MS\x01" + strconv.FormatInt(due.UnixMilli(), 10) + "\x02"),
	}, []byte(body))
	if err != nil {
		return "", false
	}
	var h protocol.SendMessageResponseHeader
	if answer.Code != 0 || h.ParseFields(&answer.Fields) != nil {
		c.t.Errorf("send: code %d %s", answer.Code, answer.Remark.V)
		return "", false
	}
	return h.RecallHandle.V, true
}

func (c *client) recall(ctx context.Context, handle string) bool {
	answer, err := c.call(ctx, protocol.ReqRecallMessage, &protocol.RecallMessageRequestHeader{
		ProducerGroup: protocol.Some("p"), Topic: protocol.Some(topicName), RecallHandle: protocol.Some(handle),
	}, nil)
	if err == nil && answer.Code != 0 {
		c.t.Errorf("recall: code %d %s", answer.Code, answer.Remark.V)
	}
	return err == nil && answer.Code == 0
}

// delivered reads the topic: when each message was stored there, each time.
func (c *client) delivered(ctx context.Context) map[string][]time.Time {
	seen := map[string][]time.Time{}
	c.read(ctx, topicName, func(r *message.Record) {
		seen[string(r.Body)] = append(seen[string(r.Body)], time.UnixMilli(r.StoreTimestamp))
	})
	return seen
}

// read visits all records of queue 0 of a topic.
func (c *client) read(ctx context.Context, topic string, visit func(*message.Record)) (end int64) {
	for offset := int64(0); ; {
		answer, err := c.call(ctx, protocol.ReqPullMessage, &protocol.PullMessageRequestHeader{
			ConsumerGroup: protocol.Some("reader"), Topic: protocol.Some(topic), QueueID: protocol.Some(int32(0)),
			QueueOffset: protocol.Some(offset), MaxMsgNums: protocol.Some(int32(32)), SysFlag: protocol.Some(int32(4)),
			CommitOffset: protocol.Some(int64(0)), SuspendTimeoutMillis: protocol.Some(int64(0)), Subscription: protocol.Some("*"),
			SubVersion: protocol.Some(int64(0)), ExpressionType: protocol.Some("TAG"),
		}, nil)
		if err != nil {
			c.t.Fatal(err)
		}
		if answer.Code != 0 {
			return offset
		}
		for b := answer.Body; len(b) > 0; offset++ {
			r, err := message.ParseRecord(b)
			if err != nil {
				c.t.Fatal(err)
			}
			visit(&r)
			b = b[r.Size:]
		}
	}
}

// checkpoint asks how far the timers are.
func (c *client) checkpoint(ctx context.Context) timerlog.Checkpoint {
	answer, err := c.Call(ctx, c.addr, &protocol.Command{Code: protocol.ReqGetTimerCheckPoint})
	if err != nil {
		c.t.Fatal(err)
	}
	cp, err := timerlog.ParseCheckpoint(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return cp
}

// book is what a producer knows.
type book struct {
	mu    sync.Mutex
	due   map[string]time.Time // acknowledged
	taken map[string]bool      // acknowledged recalls
	maybe map[string]bool      // recalls of which nobody knows
	sent  int
}

// produce sends messages that are due within a while, and takes some of them back, until the broker is gone.
func (b *book) produce(ctx context.Context, c *client, within time.Duration, acknowledged func()) {
	for {
		b.mu.Lock()
		n := b.sent
		b.sent++
		b.mu.Unlock()
		body := fmt.Sprint("m", n)
		due := time.UnixMilli(time.Now().Add(time.Duration(rand.Int64N(int64(within)))).UnixMilli())
		handle, ok := c.send(ctx, body, due)
		if !ok {
			return
		}
		b.mu.Lock()
		b.due[body] = due
		b.mu.Unlock()
		acknowledged()
		time.Sleep(time.Millisecond) // about the rate of one client
		if n%10 != 0 || handle == "" || time.Until(due) < 1500*time.Millisecond {
			continue
		}
		done := c.recall(ctx, handle)
		b.mu.Lock()
		b.taken[body], b.maybe[body] = done, !done
		b.mu.Unlock()
		if !done {
			return
		}
	}
}

// remains is what a killed broker left on disk.
type remains struct {
	at    time.Time
	check timerlog.Checkpoint
	slots map[int64]int64 // slots by the physical offsets of messages that have units, ms
}

func examine(t *testing.T, dir string) remains {
	t.Helper()
	r := remains{at: time.Now(), slots: map[int64]int64{}}
	file, err := timerlog.OpenCheckpoint(filepath.Join(dir, "config", "timercheck"), new(segment.Syncer))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r.check = file.Read()
	files, err := filepath.Glob(filepath.Join(dir, "timerlog", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for ; len(b) >= timerlog.UnitSize; b = b[timerlog.UnitSize:] {
			u, ok := timerlog.ParseUnit(b)
			if !ok {
				break
			}
			r.slots[u.PhyOffset] = u.Time()
		}
	}
	return r
}

// stored is where a message waited.
type stored struct{ offset, phy int64 }

// Brokers are killed again and again while a producer sends timer messages. In the end each was delivered, none early, and
// none that was taken back (U079).
//
// What comes twice is told by what the killed broker left on disk. A message with a unit comes again only if its slot was
// being delivered, and that is one slot: the first that is not before the checkpoint's time. One without a unit came too
// late for its slot; it comes again if it is not before the checkpoint's offset, which is written once a second, as in
// Java.
func TestKill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	rounds := 3
	if testing.Short() {
		rounds = 2
	}
	b := &book{due: map[string]time.Time{}, taken: map[string]bool{}, maybe: map[string]bool{}}
	var kills []remains
	for range rounds {
		broker := brokerchild.Start(t, dir)
		c := newClient(t, broker.Addr)
		// Some slots are delivered, and messages are on their way.
		began, enough := time.Now(), make(chan struct{})
		life, least := time.Duration(1200+rand.IntN(1500))*time.Millisecond, int64(300+rand.IntN(300))
		var acknowledged atomic.Int64
		var producing sync.WaitGroup
		for range 2 {
			producing.Go(func() {
				b.produce(ctx, c, 4*time.Second, func() {
					if acknowledged.Add(1) >= least && time.Since(began) > life {
						select {
						case enough <- struct{}{}:
						default:
						}
					}
				})
			})
		}
		select {
		case <-enough:
		case <-ctx.Done():
			t.Error("the broker takes too few messages")
		}
		broker.Kill(t)
		kills = append(kills, examine(t, dir))
		producing.Wait()
		_ = c.Close()
	}
	broker := brokerchild.Start(t, dir)
	c := newClient(t, broker.Addr)
	defer c.Close()
	places := map[string]stored{}
	end := c.read(ctx, timer.Topic, func(r *message.Record) { places[string(r.Body)] = stored{r.QueueOffset, r.PhyOffset} })
	var last time.Time
	for _, due := range b.due {
		last = later(last, due)
	}
	for {
		if cp := c.checkpoint(ctx); cp.QueueOffset >= end && cp.ReadTime > last.UnixMilli() {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	seen := c.delivered(ctx)
	broker.Stop(t)

	twice := make([]int, len(kills))
	again := make([]map[int64]int, len(kills)) // after each kill: slots whose messages came again
	for body, due := range b.due {
		times := seen[body]
		switch {
		case b.taken[body] && len(times) > 0:
			t.Errorf("message %s was taken back and came", body)
		case b.taken[body] || b.maybe[body]:
			continue
		case len(times) == 0:
			t.Errorf("message %s did not come", body)
			continue
		}
		for _, at := range times {
			if at.Before(due) {
				t.Errorf("message %s came %v early", body, due.Sub(at))
			}
		}
		for i := range times[1:] {
			life := lifeOf(kills, times[i])
			if life == lifeOf(kills, times[i+1]) {
				t.Errorf("message %s came twice in life %d", body, life)
				continue
			}
			twice[life]++
			left, place := kills[life], places[body]
			slot, entered := left.slots[place.phy]
			switch {
			case entered && slot < left.check.ReadTime:
				t.Errorf("message %s came in life %d and again, though the checkpoint said that its slot was delivered", body, life)
			case entered:
				if again[life] == nil {
					again[life] = map[int64]int{}
				}
				again[life][slot]++
			case place.offset < left.check.QueueOffset:
				t.Errorf("message %s came in life %d and again, though the checkpoint was behind it", body, life)
			}
		}
	}
	for life, slots := range again {
		if len(slots) > 1 {
			t.Errorf("messages of several slots that came in life %d came again: %v", life, slots)
		}
	}
	t.Logf("%d messages in %d lives, %d taken back; after each kill came again %v", len(b.due), rounds+1, len(b.taken), twice)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// lifeOf is how many kills were before a time.
func lifeOf(kills []remains, at time.Time) (n int) {
	for n < len(kills) && !at.Before(kills[n].at) {
		n++
	}
	return n
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timer_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rocketmq-go/broker"
	"rocketmq-go/config"
	"rocketmq-go/message"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// The kill test runs this test binary again as a child that is a broker, and kills it with SIGKILL.
const childEnv = "ROCKETMQ_TIMER_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		if err := runBroker(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// settings are the broker's.
func settings(dir string) map[string]string {
	return map[string]string{
		"brokerName": "broker-a", "brokerIP1": "127.0.0.1", "bindAddress": "127.0.0.1", "listenPort": "0",
		"storePathRootDir": dir, "rocketmqHome": dir, "mappedFileSizeCommitLog": "4194304", "maxIndexNum": "20000",
		"mappedFileSizeConsumeQueue": "60000", "maxHashSlotNum": "5000", "mappedFileSizeTimerLog": "104000",
		"recallMessageEnable": "true",
	}
}

// runBroker is a broker until standard input ends; then it stops cleanly.
func runBroker(dir string) error {
	cfg, _, err := config.LoadBroker(config.Options{Set: settings(dir), Env: func(string) string { return "" }})
	if err != nil {
		return err
	}
	b, err := broker.New(broker.Options{Config: cfg})
	if err != nil {
		return err
	}
	if err := b.Start(context.Background()); err != nil {
		return err
	}
	fmt.Println(b.Addr())
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	return b.Close(context.Background())
}

// child is a running broker.
type child struct {
	cmd   *exec.Cmd
	stdin func() error
	addr  string
}

func startBroker(t *testing.T, dir string) *child {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the broker did not start: %v", err)
	}
	return &child{cmd: cmd, stdin: in.Close, addr: strings.TrimSpace(line)}
}

func (c *child) stop(t *testing.T) {
	_ = c.stdin()
	if err := c.cmd.Wait(); err != nil {
		t.Error(err)
	}
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
	for offset := int64(0); ; {
		answer, err := c.call(ctx, protocol.ReqPullMessage, &protocol.PullMessageRequestHeader{
			ConsumerGroup: protocol.Some("reader"), Topic: protocol.Some(topicName), QueueID: protocol.Some(int32(0)),
			QueueOffset: protocol.Some(offset), MaxMsgNums: protocol.Some(int32(32)), SysFlag: protocol.Some(int32(4)),
			CommitOffset: protocol.Some(int64(0)), SuspendTimeoutMillis: protocol.Some(int64(0)), Subscription: protocol.Some("*"),
			SubVersion: protocol.Some(int64(0)), ExpressionType: protocol.Some("TAG"),
		}, nil)
		if err != nil {
			c.t.Fatal(err)
		}
		if answer.Code != 0 {
			return seen
		}
		for b := answer.Body; len(b) > 0; offset++ {
			r, err := message.ParseRecord(b)
			if err != nil {
				c.t.Fatal(err)
			}
			body := string(r.Body)
			seen[body] = append(seen[body], time.UnixMilli(r.StoreTimestamp))
			b = b[r.Size:]
		}
	}
}

// book is what a producer knows.
type book struct {
	mu    sync.Mutex
	due   map[string]time.Time // acknowledged
	acked map[string]time.Time // when
	taken map[string]bool      // acknowledged recalls
	maybe map[string]bool      // recalls of which nobody knows
	sent  int
}

// produce sends messages that are due within a while, and takes some of them back, until the broker is gone.
func (b *book) produce(ctx context.Context, c *client, within time.Duration, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		b.mu.Lock()
		n := b.sent
		b.sent++
		b.mu.Unlock()
		body := strconv.Itoa(n)
		due := time.UnixMilli(time.Now().Add(time.Duration(rand.Int64N(int64(within)))).UnixMilli())
		handle, ok := c.send(ctx, body, due)
		if !ok {
			return
		}
		b.mu.Lock()
		b.due[body], b.acked[body] = due, time.Now()
		b.mu.Unlock()
		time.Sleep(time.Millisecond)
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

// Brokers are killed again and again while a producer sends timer messages. In the end each was delivered, none early, in
// one life none twice, and in two lives only what may be, those that became due while no broker ran right after the next one's start, and none that was taken back (U079).
func TestKill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	rounds := 3
	if testing.Short() {
		rounds = 2
	}
	b := &book{due: map[string]time.Time{}, acked: map[string]time.Time{}, taken: map[string]bool{}, maybe: map[string]bool{}}
	var starts, kills []time.Time
	for range rounds {
		broker := startBroker(t, dir)
		starts = append(starts, time.Now())
		c := newClient(t, broker.addr)
		var producing sync.WaitGroup
		for range 2 {
			producing.Go(func() { b.produce(ctx, c, 4*time.Second, nil) })
		}
		time.Sleep(time.Duration(700+rand.IntN(900)) * time.Millisecond)
		if err := broker.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = broker.cmd.Wait()
		kills = append(kills, time.Now())
		producing.Wait()
		_ = c.Close()
		time.Sleep(time.Duration(rand.IntN(600)) * time.Millisecond)
	}
	broker := startBroker(t, dir)
	starts = append(starts, time.Now())
	c := newClient(t, broker.addr)
	defer c.Close()
	time.Sleep(5500 * time.Millisecond) // all are due then
	seen := c.delivered(ctx)
	broker.stop(t)

	// Messages that waited in a slot come again only if that was being delivered at the kill. Those that came too late for
	// a slot may too, so only those count that were in time.
	again := map[int]map[time.Time]int{} // by the life that they came in first, by slot
	twice, late := 0, time.Duration(0)
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
		twice += len(times) - 1
		for i, at := range times[1:] {
			before := life(kills, times[i])
			if life(kills, at) == before {
				t.Errorf("message %s came twice in life %d", body, before)
			}
			slot := due.Truncate(time.Second)
			if inTime := slot.Add(time.Second - mostLate).After(b.acked[body]); inTime && life(kills, b.acked[body]) == before {
				if again[before] == nil {
					again[before] = map[time.Time]int{}
				}
				again[before][slot]++
			}
		}
		for _, at := range times {
			if at.Before(due) {
				t.Errorf("message %s came %v early", body, due.Sub(at))
			}
		}
		// Late is measured from the time at which it was due, or the next start.
		from := due.Add(time.Second)
		for _, s := range starts {
			if s.After(due) && s.Before(times[0]) {
				from = s
			}
		}
		late = max(late, times[0].Sub(from))
	}
	t.Logf("%d messages in %d lives, %d taken back, %d came twice, the latest %v late", len(b.due), rounds+1, len(b.taken), twice, late)
	if late > mostLate {
		t.Errorf("a message came %v late", late)
	}
	for life, slots := range again {
		if len(slots) > 1 {
			t.Errorf("messages of several slots that came in life %d came again: %v", life, slots)
		}
	}
}

// mostLate is how much the service may be behind.
const mostLate = 1500 * time.Millisecond

// life is how many kills were before a time.
func life(kills []time.Time, at time.Time) (n int) {
	for n < len(kills) && !at.Before(kills[n]) {
		n++
	}
	return n
}

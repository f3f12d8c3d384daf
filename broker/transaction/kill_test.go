// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package transaction_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rocketmq-go/internal/brokerchild"
	"rocketmq-go/message"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// moreEnv has further settings of the broker, key=value, separated by semicolons.
const moreEnv = "ROCKETMQ_TRANSACTION_SET"

func TestMain(m *testing.M) {
	brokerchild.Main(settings)
	goleak.VerifyTestMain(m)
}

// settings are the broker's; the environment may have more of them.
func settings(dir string) map[string]string {
	set := brokerchild.Settings(dir, map[string]string{
		"transactionTimeOut": "100", "transactionCheckInterval": "150", "transactionCheckMax": "1000",
		"transactionOpBatchInterval": "50", "flushConsumerOffsetInterval": "100",
	})
	for pair := range strings.SplitSeq(os.Getenv(moreEnv), ";") {
		if key, value, ok := strings.Cut(pair, "="); ok {
			set[key] = value
		}
	}
	return set
}

// client is a producer in two groups, one of which the broker asks in vain: it says that it does not know yet.
type client struct {
	*remoting.Client
	t     *testing.T
	addr  string
	asked atomic.Int64
}

const (
	topicName = "Kill"
	goodGroup = "answers"
)

func newClient(t *testing.T, addr string) *client {
	c := &client{t: t, addr: addr}
	c.Client = remoting.NewClient(remoting.ClientConfig{
		Version: 479, Dispatcher: remoting.NewRoutes(remoting.RoutesConfig{},
			remoting.Route{Code: protocol.ReqCheckTransactionState, Raw: c.check}),
	})
	return c
}

func command(code int32, h protocol.Header, body []byte) *protocol.Command {
	cmd := &protocol.Command{Code: code, Body: body}
	if h != nil {
		h.AppendFields(&cmd.Fields)
	}
	return cmd
}

func (c *client) heartbeat(ctx context.Context) error {
	body := `{"clientID":"kill","producerDataSet":[{"groupName":"` + goodGroup + `"}],"consumerDataSet":[]}`
	_, err := c.Call(ctx, c.addr, command(protocol.ReqHeartBeat, nil, []byte(body)))
	return err
}

// check answers a question of the broker: the body says what became of the transaction.
func (c *client) check(r *remoting.Request) {
	c.asked.Add(1)
	var h protocol.CheckTransactionStateRequestHeader
	record, err := message.ParseRecord(r.Body)
	if err != nil || h.ParseFields(&r.Fields) != nil {
		c.t.Errorf("asked with a body that is no message: %v", err)
		return
	}
	_ = r.Channel.Oneway(end(string(record.Body), h.TranStateTableOffset.V, h.CommitLogOffset.V, true))
	r.Hold()
}

// end makes the request that ends a transaction as its body says.
func end(body string, queueOffset, phyOffset int64, check bool) *protocol.Command {
	outcome := int32(12)
	if strings.HasPrefix(body, "commit") {
		outcome = 8
	}
	return command(protocol.ReqEndTransaction, &protocol.EndTransactionRequestHeader{
		ProducerGroup: protocol.Some(goodGroup), TranStateTableOffset: protocol.Some(queueOffset),
		CommitLogOffset: protocol.Some(phyOffset), CommitOrRollback: protocol.Some(outcome),
		FromTransactionCheck: protocol.Some(check), MsgID: protocol.Some("m"),
	}, nil)
}

// half sends a half message and tells where it is; false: nobody knows whether it is.
func (c *client) half(ctx context.Context, body string) (queueOffset, phyOffset int64, ok bool) {
	answer, err := c.Call(ctx, c.addr, command(protocol.ReqSendMessage, &protocol.SendMessageRequestHeader{
		ProducerGroup: protocol.Some(goodGroup), Topic: protocol.Some(topicName), DefaultTopic: protocol.Some("TBW102"),
		DefaultTopicQueueNums: protocol.Some(int32(1)), QueueID: protocol.Some(int32(0)), SysFlag: protocol.Some(int32(4)),
		BornTimestamp: protocol.Some(time.Now().UnixMilli()), Flag: protocol.Some(int32(0)),
		Properties: protocol.Some("TRAN_MSG\x01true\x02PGROUP\x01" + goodGroup + "\x02"),
	}, []byte(body)))
	if err != nil {
		return 0, 0, false
	}
	var h protocol.SendMessageResponseHeader
	if answer.Code != 0 || h.ParseFields(&answer.Fields) != nil {
		c.t.Errorf("half message: code %d %s", answer.Code, answer.Remark.V)
		return 0, 0, false
	}
	_, phyOffset, err = message.ParseOffsetID(h.MsgID.V)
	return h.QueueOffset.V, phyOffset, err == nil
}

// delivered reads the topic.
func (c *client) delivered(ctx context.Context) map[string]int {
	seen := map[string]int{}
	for offset := int64(0); ; {
		answer, err := c.Call(ctx, c.addr, command(protocol.ReqPullMessage, &protocol.PullMessageRequestHeader{
			ConsumerGroup: protocol.Some("reader"), TopicQueueRequestHeader: protocol.TopicQueueRequestHeader{},
			Topic: protocol.Some(topicName), QueueID: protocol.Some(int32(0)), QueueOffset: protocol.Some(offset),
			MaxMsgNums: protocol.Some(int32(32)), SysFlag: protocol.Some(int32(4)), CommitOffset: protocol.Some(int64(0)),
			SuspendTimeoutMillis: protocol.Some(int64(0)), Subscription: protocol.Some("*"), SubVersion: protocol.Some(int64(0)),
			ExpressionType: protocol.Some("TAG"),
		}, nil))
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
			seen[string(r.Body)]++
			b = b[r.Size:]
		}
	}
}

// A broker is killed again and again while a producer sends transactions, ends some of them and leaves others to be asked
// about. In the end everything that was to be committed is delivered, nothing that was rolled back is, and nothing is open.
func TestKill(t *testing.T) {
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	dir := filepath.Join(t.TempDir(), "store")
	var mu sync.Mutex
	want := map[string]bool{} // acknowledged half messages that are to be committed
	sent := 0
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	for round := range rounds {
		b := brokerchild.Start(t, dir)
		c := newClient(t, b.Addr)
		if err := c.heartbeat(ctx); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		before := sent
		mu.Unlock()
		var producing sync.WaitGroup
		stop := make(chan struct{})
		producing.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				body := []string{"commit", "rollback"}[i%2] + " " + strconv.Itoa(round) + "." + strconv.Itoa(i)
				queueOffset, phyOffset, ok := c.half(ctx, body)
				if !ok {
					return // killed
				}
				mu.Lock()
				sent++
				if i%2 == 0 {
					want[body] = true
				}
				mu.Unlock()
				if i%5 < 2 {
					_ = c.Oneway(ctx, c.addr, end(body, queueOffset, phyOffset, false))
				}
			}
		})
		// At any moment, when some messages are under way.
		for begun := false; !begun && ctx.Err() == nil; time.Sleep(time.Millisecond) {
			mu.Lock()
			begun = sent >= before+20
			mu.Unlock()
		}
		time.Sleep(time.Duration(200+rand.IntN(500)) * time.Millisecond)
		if round%3 == 2 { // a clean stop among the others
			close(stop)
			producing.Wait()
			b.Stop(t)
		} else {
			b.Kill(t)
		}
		if round%3 != 2 {
			producing.Wait()
		}
		_ = c.Close()
	}

	b := brokerchild.Start(t, dir)
	c := newClient(t, b.Addr)
	defer c.Close()
	if err := c.heartbeat(ctx); err != nil {
		t.Fatal(err)
	}
	var seen map[string]int
	for ctx.Err() == nil {
		seen = c.delivered(ctx)
		mu.Lock()
		missing := 0
		for body := range want {
			if seen[body] == 0 {
				missing++
			}
		}
		mu.Unlock()
		if missing == 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if ctx.Err() != nil {
		t.Error("not everything that was committed was delivered")
	}
	copies := 0
	for body, n := range seen {
		copies += n - 1
		if !strings.HasPrefix(body, "commit") {
			t.Errorf("%q was rolled back and is delivered", body)
		}
	}
	// Nothing is open: the broker stops asking.
	for quiet := 0; quiet < 5 && ctx.Err() == nil; quiet++ {
		before := c.asked.Load()
		time.Sleep(200 * time.Millisecond)
		if c.asked.Load() != before {
			quiet = 0
		}
	}
	if ctx.Err() != nil {
		t.Error("the broker asks for ever")
	}
	t.Logf("%d half messages in %d lives, %d delivered, %d of them again, %d questions in the last life",
		sent, rounds, len(seen), copies, c.asked.Load())
	b.Stop(t)
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package reply_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"rocketmq-go/broker/reply"
	"rocketmq-go/internal/replay"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	replyV1, replyV2, pushCode = 324, 325, 326
	heartbeatCode, configCode  = 34, 25
)

// world is a broker with some connections, in virtual time.
type world struct {
	t  *testing.T
	mq *rocketmqtest.Cluster
}

func inBubble(t *testing.T, f func(w world)) {
	synctest.Test(t, func(t *testing.T) {
		f(world{t, rocketmqtest.Start(t, rocketmqtest.WithPipe(), rocketmqtest.WithPoison())})
	})
}

func (w world) connect() *replay.Conn {
	c, err := w.mq.Dial(context.Background(), w.mq.BrokerAddr)
	if err != nil {
		w.t.Fatal(err)
	}
	conn := replay.NewConn(c)
	w.t.Cleanup(conn.Close)
	return conn
}

// requester is a connection that is known as a producer under a client id.
func (w world) requester(id string) *replay.Conn {
	c := w.connect()
	w.heartbeat(c, id)
	return c
}

func (w world) heartbeat(c *replay.Conn, id string) {
	w.call(c, &replay.Frame{Code: heartbeatCode, Body: []byte(
		`{"clientID":"` + id + `","producerDataSet":[{"groupName":"asks"}],"consumerDataSet":[]}`)})
}

func (w world) call(c *replay.Conn, f *replay.Frame) *replay.Frame {
	return w.await(c, w.write(c, f), time.Minute)
}

func (w world) write(c *replay.Conn, f *replay.Frame) int32 {
	opaque, err := c.Write(f)
	if err != nil {
		w.t.Fatal(err)
	}
	return opaque
}

func (w world) await(c *replay.Conn, opaque int32, timeout time.Duration) *replay.Frame {
	w.t.Helper()
	f, err := c.Wait(opaque, timeout)
	if err != nil || f == nil {
		w.t.Fatalf("no answer: %v", err)
	}
	return f
}

// answerTo is a consumer's answer for a requester; more are further properties.
func answerTo(id, body string, more ...string) *replay.Frame {
	properties := "CORRELATION_ID\x01c\x02" + strings.Join(more, "\x02")
	if id != "" {
		properties += "REPLY_TO_CLIENT\x01" + id + "\x02"
	}
	return &replay.Frame{Code: replyV2, Language: "JAVA", Version: 479, Body: []byte(body), ExtFields: map[string]any{
		"a": "answers", "b": "DefaultCluster_REPLY_TOPIC", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1795988393138",
		"h": "0", "i": properties, "j": "0", "k": "false", "m": "false",
	}}
}

// pushed waits for the broker's push.
func (w world) pushed(c *replay.Conn) *replay.Frame {
	w.t.Helper()
	list := c.TakePushed(time.Second, func(p []*replay.Frame) bool { return len(p) > 0 })
	if len(list) != 1 || list[0].Code != pushCode {
		w.t.Fatalf("pushed: %v", list)
	}
	return list[0]
}

func (w world) take(c *replay.Conn, push *replay.Frame, code int32) {
	w.write(c, &replay.Frame{Code: code, Flag: 1, Opaque: push.Opaque, Language: "JAVA", Version: 479})
}

func show(f *replay.Frame) string {
	remark := ""
	if f.Remark != nil {
		remark = " " + *f.Remark
	}
	place := ""
	for _, name := range []string{"queueId", "queueOffset"} {
		if v, ok := f.ExtFields[name]; ok {
			place += fmt.Sprintf(" %s=%v", name, v)
		}
	}
	if id, ok := f.ExtFields["msgId"].(string); ok {
		place += fmt.Sprintf(" msgId(%d)", len(id))
	}
	return fmt.Sprintf("%d%s%s", f.Code, remark, place)
}

func (w world) expect(got *replay.Frame, want string) {
	w.t.Helper()
	if show(got) != want {
		w.t.Errorf("got  %s\nwant %s", show(got), want)
	}
}

// What real clients answered makes the same push as a real broker's, header and body.
func TestRecordedClients(t *testing.T) {
	file, err := os.Open("testdata/wire.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	inBubble(t, func(w world) {
		requesters := map[string]*replay.Conn{
			"java": w.requester("192.0.2.2@drv"), "go": w.requester("192.0.2.2@godrv"),
		}
		replier := w.connect()
		n := 0
		for lines := bufio.NewScanner(file); lines.Scan(); n++ {
			var step struct {
				Client, Pushed, Body string
				Request              []byte
				Opaque               int32
			}
			if err := json.Unmarshal(lines.Bytes(), &step); err != nil {
				t.Fatal(err)
			}
			requester := requesters[strings.TrimRight(step.Client, "0123456789")]
			if err := replier.WriteRaw(step.Request); err != nil {
				t.Fatal(err)
			}
			push := w.pushed(requester)
			if got, want := masked(push.HeaderText), masked(step.Pushed); got != want {
				t.Errorf("%s: pushed\n%s\nwant\n%s", step.Client, got, want)
			}
			if string(push.Body) != step.Body {
				t.Errorf("%s: body %q, want %q", step.Client, push.Body, step.Body)
			}
			w.take(requester, push, 0)
			w.expect(w.await(replier, step.Opaque, time.Second), fmt.Sprintf("0 queueId=0 queueOffset=%d msgId(32)", n))
		}
		if n != 5 {
			t.Errorf("%d recorded answers", n)
		}
	})
}

// masked is a header with its fields sorted and without what differs from run to run. The order of properties counts.
func masked(header string) string {
	var fields map[string]any
	if err := json.Unmarshal([]byte(header), &fields); err != nil {
		return err.Error()
	}
	delete(fields, "opaque")
	ext, _ := fields["extFields"].(map[string]any)
	for _, name := range []string{"storeTimestamp", "bornHost", "storeHost"} {
		if ext[name] != nil {
			ext[name] = "*"
		}
	}
	ext["properties"] = pushTime.ReplaceAllString(fmt.Sprint(ext["properties"]), "$1*")
	text, err := json.MarshalIndent(fields, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

var pushTime = regexp.MustCompile(`(PUSH_REPLY_TIME\x01)\d+`)

// A requester has ten seconds; one that goes away fails at once.
func TestSilentRequester(t *testing.T) {
	inBubble(t, func(w world) {
		requester, replier := w.requester("slow"), w.connect()
		begin := time.Now()
		answer := w.call(replier, answerTo("slow", "x"))
		w.expect(answer, "1 push reply message to slowfail. queueId=0 queueOffset=0 msgId(32)")
		if took := time.Since(begin); took != 10*time.Second {
			t.Errorf("after %v", took)
		}
		w.take(requester, w.pushed(requester), 0) // too late: nobody waits for it

		opaque := w.write(replier, answerTo("slow", "x"))
		w.pushed(requester)
		requester.Close()
		w.expect(w.await(replier, opaque, time.Millisecond), "1 push reply message to slowfail. queueId=0 queueOffset=1 msgId(32)")
		w.expect(w.call(replier, answerTo("slow", "x")),
			"1 push reply message fail, channel of <slow> not found. queueId=0 queueOffset=2 msgId(32)")
	})
}

// The newest connection of a client gets the answers. When it is gone an older one does, from its next heartbeat on.
func TestTwoConnections(t *testing.T) {
	inBubble(t, func(w world) {
		old, replier := w.requester("twice"), w.connect()
		fresh := w.requester("twice")
		opaque := w.write(replier, answerTo("twice", "1"))
		w.take(fresh, w.pushed(fresh), 0)
		w.expect(w.await(replier, opaque, time.Second), "0 queueId=0 queueOffset=0 msgId(32)")
		fresh.Close()
		synctest.Wait()
		w.heartbeat(old, "twice")
		opaque = w.write(replier, answerTo("twice", "2"))
		push := w.pushed(old)
		w.take(old, push, 0)
		w.expect(w.await(replier, opaque, time.Second), "0 queueId=0 queueOffset=1 msgId(32)")
		if string(push.Body) != "2" {
			t.Errorf("body %q", push.Body)
		}
	})
}

// Without storeReplyMessageEnable nothing is stored, and the answer names no place; an answer without body is pushed, and
// cannot be stored.
func TestNotStored(t *testing.T) {
	inBubble(t, func(w world) {
		requester, replier := w.requester("me"), w.connect()
		send := func(f *replay.Frame, code int32) *replay.Frame {
			opaque := w.write(replier, f)
			w.take(requester, w.pushed(requester), code)
			return w.await(replier, opaque, time.Second)
		}
		w.expect(send(answerTo("me", ""), 0), "0 queueId=0 queueOffset=0 msgId(1)")
		w.call(replier, &replay.Frame{Code: configCode, Body: []byte("storeReplyMessageEnable=false")})
		w.expect(send(answerTo("me", "x"), 0), "0 queueId=0 queueOffset=0 msgId(1)")
		w.expect(send(answerTo("me", "x"), 1), "1 push reply message to mefail.")
		w.call(replier, &replay.Frame{Code: configCode, Body: []byte("storeReplyMessageEnable=true")})
		w.expect(send(answerTo("me", "x"), 0), "0 queueId=0 queueOffset=0 msgId(32)")
	})
}

// Many answers at once are pushed at once, and each gets its own outcome.
func TestManyAtOnce(t *testing.T) {
	inBubble(t, func(w world) {
		requester, replier := w.requester("me"), w.connect()
		var opaques []int32
		for i := range 100 {
			opaques = append(opaques, w.write(replier, answerTo("me", fmt.Sprint(i))))
		}
		pushes := requester.TakePushed(time.Second, func(p []*replay.Frame) bool { return len(p) == len(opaques) })
		if len(pushes) != len(opaques) {
			t.Fatalf("%d pushes", len(pushes))
		}
		odd := map[string]bool{}
		for i, push := range pushes {
			odd[string(push.Body)] = i%2 == 1
			w.take(requester, push, int32(i%2))
		}
		for i, opaque := range opaques {
			if f := w.await(replier, opaque, time.Second); (f.Code != 0) != odd[fmt.Sprint(i)] {
				t.Errorf("%d: %s", i, show(f))
			}
		}
	})
}

// A broker that stops does not wait for requesters.
func TestStop(t *testing.T) {
	inBubble(t, func(w world) {
		requester, replier := w.requester("slow"), w.connect()
		w.write(replier, answerTo("slow", "x"))
		w.pushed(requester)
		begin := time.Now()
		w.mq.StopBroker()
		if took := time.Since(begin); took > time.Second {
			t.Errorf("stopping took %v", took)
		}
	})
}

// silent is a connection whose peer answers when told.
type silent struct {
	remoting.Channel
	answer chan error
}

func (s silent) Call(context.Context, *protocol.Command) (*protocol.Command, error) {
	return &protocol.Command{}, <-s.answer
}

// The pushes under way are bounded.
func TestLimit(t *testing.T) {
	ch := silent{answer: make(chan error)}
	s := reply.New(reply.Options{
		Log:     slog.New(slog.DiscardHandler),
		Channel: func(string) remoting.Channel { return ch }, Limit: func() int { return 2 },
	})
	results := make(chan error, 3)
	for range 3 {
		s.Push("c", &protocol.ReplyMessageRequestHeader{}, nil, func(err error) { results <- err })
	}
	var refused *protocol.Error
	if err := <-results; !errors.As(err, &refused) || refused.Code != protocol.RespSystemBusy {
		t.Errorf("the third: %v", err)
	}
	ch.answer <- nil
	ch.answer <- errors.New("gone")
	s.Wait()
	if a, b := <-results, <-results; (a == nil) == (b == nil) {
		t.Errorf("%v, %v", a, b)
	}
	s.Push("c", &protocol.ReplyMessageRequestHeader{}, nil, func(err error) { results <- err })
	ch.answer <- nil
	if err := <-results; err != nil {
		t.Error(err)
	}
	s.Wait()
}

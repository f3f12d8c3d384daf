// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package acting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"rocketmq-go/broker/put"
	"rocketmq-go/broker/topic"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/config"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

const (
	// sendTimeout bounds one message's way to another broker, as in Java.
	sendTimeout = 3 * time.Second
	// routeTimeout bounds one question for a route: a name server that does not answer leaves time for the next one.
	routeTimeout = sendTimeout / 4
	// routeFresh is how long a route is taken for true.
	routeFresh = 30 * time.Second
	// maxFlying is how many messages are under way at a time.
	maxFlying = 64
	// complainAgain is the pause between two lines about messages that have to wait.
	complainAgain = 10 * time.Second

	permWrite = 2
)

// Properties of half messages.
const (
	propGroup = "PGROUP"
	propFirst = "TRAN_PREPARED_QUEUE_OFFSET" // a place in this broker's queue
)

// BridgeOptions are what a Bridge needs.
type BridgeOptions struct {
	Config  func() *config.BrokerValues
	Servers func() []string // addresses of the name servers
	Call    func(ctx context.Context, addr string, c *protocol.Command) (*protocol.Command, error)
	Log     *slog.Logger
}

// Bridge sends messages to the masters of other broker names. It is safe for concurrent use.
type Bridge struct {
	o      BridgeOptions
	flying chan struct{}

	mu         sync.Mutex
	routes     map[string]route
	next       int
	complained time.Time
}

// route is where messages of a topic may go.
type route struct {
	queues []target
	asked  time.Time
}

type target struct {
	broker, addr string
	queue        int32
}

// NewBridge makes one.
func NewBridge(o BridgeOptions) *Bridge {
	return &Bridge{o: o, flying: make(chan struct{}, maxFlying), routes: map[string]route{}}
}

// Put sends a message to another broker, instead of storing it. done is called exactly once: with PutOK when the other one has
// it, and otherwise with a status after which the message is tried again: what others refuse for its own sake its master may take.
// The message is a view until Put returns.
//
// That a half message has ended is a message for this broker's own queue: it is passed over, since what the master takes over is
// how far the half messages are settled.
func (b *Bridge) Put(m *message.Message, done func(store.PutResult)) {
	if m.Topic == topic.TransOpHalfTopic {
		done(store.PutResult{Status: store.PutOK})
		return
	}
	v := b.o.Config()
	if !v.EnableRemoteEscape {
		b.complain("what an acting master may not store has to wait for the master: enableRemoteEscape=false", m.Topic, nil)
		done(store.PutResult{Status: store.ServiceNotAvailable})
		return
	}
	e := letter(m, v)
	b.flying <- struct{}{}
	go func() {
		status, err := b.send(e)
		<-b.flying
		if err != nil {
			b.complain("a message is not taken by any other broker, will be tried again", e.topic, err)
		}
		done(store.PutResult{Status: status})
	}()
}

// envelope is a message that is on its way.
type envelope struct {
	topic  string
	queue  int32
	header protocol.SendMessageRequestHeaderV2
	body   []byte
}

// letter makes the request of a message. A half message is sent as its producer has: the other broker holds and asks about it.
func letter(m *message.Message, v *config.BrokerValues) *envelope {
	var props put.Properties
	props.Parse(strings.Clone(string(m.Properties)))
	group := props.Get(propGroup)
	if group == "" {
		group = fmt.Sprintf("InnerProducerGroup_%s_%d", v.BrokerName, v.BrokerID)
	}
	to, flags := strings.Clone(m.Topic), m.SysFlag&^(message.SysBornHostV6|message.SysStoreHostV6)
	if to == topic.TransHalfTopic {
		to = props.Get(message.PropRealTopic)
		flags = flags&^message.SysTransactionMask | message.SysPrepared
		props.Delete(message.PropRealQueueID)
		props.Delete(propFirst)
	}
	props.Delete(message.PropDelay) // its time is over
	props.Set(message.PropWait, "false")
	return &envelope{
		topic: to, queue: m.QueueID, body: append([]byte{}, m.Body...),
		header: protocol.SendMessageRequestHeaderV2{
			A: protocol.Some(group), B: protocol.Some(to), C: protocol.Some(topic.AutoCreateTopic),
			D: protocol.Some(int32(v.DefaultTopicQueueNums)), F: protocol.Some(flags), G: protocol.Some(m.BornTimestamp),
			H: protocol.Some(m.Flag), I: protocol.Some(string(props.Append(nil, message.Java5))),
			J: protocol.Some(m.ReconsumeTimes), K: protocol.Some(false), M: protocol.Some(false),
		},
	}
}

// send sends to one broker.
func (b *Bridge) send(e *envelope) (store.PutStatus, error) {
	ctx, cancel := context.WithTimeout(context.Background(), sendTimeout)
	defer cancel()
	to, err := b.pick(ctx, e)
	if err != nil {
		return store.ServiceNotAvailable, err
	}
	header := e.header
	header.E = protocol.Some(to.queue)
	cmd := &protocol.Command{Code: protocol.ReqSendMessageV2, Body: e.body}
	header.AppendFields(&cmd.Fields)
	answer, err := b.o.Call(ctx, to.addr, cmd)
	if err != nil {
		b.forget(e.topic)
		return store.ServiceNotAvailable, err
	}
	switch answer.Code {
	case protocol.RespSuccess, protocol.RespFlushDiskTimeout, protocol.RespFlushSlaveTimeout, protocol.RespSlaveNotAvailable:
		return store.PutOK, nil
	}
	b.forget(e.topic)
	return store.ServiceNotAvailable, fmt.Errorf("%s at %s: code %d %s", e.topic, to.addr, answer.Code, answer.Remark.V)
}

// pick chooses a queue: one after the other, but what is for a queue of POP's goes to the same one each time, since a checkpoint
// and its acknowledgements have to meet.
func (b *Bridge) pick(ctx context.Context, e *envelope) (target, error) {
	b.mu.Lock()
	r, ok := b.routes[e.topic]
	b.mu.Unlock()
	if !ok || time.Since(r.asked) >= routeFresh {
		fresh, err := b.ask(ctx, e.topic)
		if err != nil && len(r.queues) == 0 {
			return target{}, err
		}
		if err == nil {
			r = fresh
			b.mu.Lock()
			b.routes[e.topic] = r
			b.mu.Unlock()
		}
	}
	if len(r.queues) == 0 {
		b.forget(e.topic)
		return target{}, fmt.Errorf("no other broker takes messages of topic %s", e.topic)
	}
	if strings.HasPrefix(e.topic, topic.RevivePrefix) {
		return r.queues[int(e.queue)%len(r.queues)], nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	return r.queues[b.next%len(r.queues)], nil
}

func (b *Bridge) forget(topic string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.routes, topic)
}

// ask asks the name servers, one after the other, for the queues of a topic that are not this broker's.
func (b *Bridge) ask(ctx context.Context, topic string) (r route, err error) {
	own := b.o.Config().BrokerName
	err = errors.New("there is no name server")
	for _, addr := range b.o.Servers() {
		cmd := &protocol.Command{Code: protocol.ReqGetRouteinfoByTopic}
		header := protocol.GetRouteInfoRequestHeader{Topic: protocol.Some(topic)}
		header.AppendFields(&cmd.Fields)
		var answer *protocol.Command
		once, cancel := context.WithTimeout(ctx, routeTimeout)
		answer, err = b.o.Call(once, addr, cmd)
		cancel()
		if err != nil {
			continue
		}
		if answer.Code != protocol.RespSuccess {
			err = fmt.Errorf("route of topic %s: code %d %s", topic, answer.Code, answer.Remark.V)
			continue
		}
		var data protocol.TopicRouteData
		if err = fastjson.Unmarshal(answer.Body, &data); err != nil {
			continue
		}
		return route{targets(&data, own), time.Now()}, nil
	}
	return r, err
}

// targets are the queues of other brokers that take messages, in the order of the route.
func targets(data *protocol.TopicRouteData, own string) (list []target) {
	masters := map[string]string{}
	for i := range data.BrokerDatas {
		d := &data.BrokerDatas[i]
		if addr, ok := d.BrokerAddrs.Get(MasterID); ok && d.BrokerName != own {
			masters[d.BrokerName] = addr
		}
	}
	for _, q := range data.QueueDatas {
		addr := masters[q.BrokerName]
		if addr == "" || q.Perm&permWrite == 0 {
			continue
		}
		for id := range q.WriteQueueNums {
			list = append(list, target{q.BrokerName, addr, id})
		}
	}
	return list
}

func (b *Bridge) complain(text, topic string, err error) {
	b.mu.Lock()
	now := time.Now()
	quiet := now.Sub(b.complained) < complainAgain
	if !quiet {
		b.complained = now
	}
	b.mu.Unlock()
	if !quiet {
		b.o.Log.Warn(text, "topic", topic, "error", err)
	}
}

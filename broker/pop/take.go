// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package pop

import (
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"unsafe"

	"rocketmq-go/broker/put"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// PropHandle is the property with the handle of a message that was retried. Of others the client makes it.
const PropHandle = "POP_CK"

// Request is a pop. Topic and queue exist.
type Request struct {
	Topic         *protocol.TopicConfig
	Group         string
	Queue         int32 // or AnyQueue
	Max           int   // messages
	InvisibleTime int64 // ms
	FromMax       bool  // a group that has not begun begins with new messages
	Match         store.Matcher
	Order         bool
	Attempt       string // of a pop in order: who is given the same messages again
}

// Result is what a pop found.
type Result struct {
	PopTime     int64 // ms
	ReviveQueue int32
	Rest        int64 // messages that are left
	Count       int   // messages
	Body        []byte
	// Start, Messages and Counts are texts for the client: where the checkpoint of each queue begins, the offsets of the
	// messages, and how often those that are popped in order were given before.
	Start, Messages, Counts string
	Got                     []Got
	Err                     error // nothing could be given
}

// Got is what came from one queue.
type Got struct {
	Topic string
	Count int
	Bytes int // as stored
}

// maxBody is how large an answer gets before no further queue is read. One message may be as large.
const maxBody = 4 << 20

// part is what a pop took from one queue.
type part struct {
	topic      string
	queue      int32
	form       byte
	start      int64
	offsets    []int64
	begin, end int    // in the body
	bytes      int    // as stored
	counts     string // of a pop in order
	err        error
}

// taking is a pop under way.
type taking struct {
	s     *Service
	r     *Request
	rules Rules
	res   Result
	count int
	parts []*part
	props put.Properties
	text  []byte
	done  func(*Result)
	open  atomic.Int32 // checkpoints that are not stored, and one for the pop itself
}

// Pop takes messages. done is called exactly once: before Pop returns when nothing has to be waited for, else from another
// goroutine, when the checkpoints are stored.
func (s *Service) Pop(r *Request, done func(*Result)) {
	t := &taking{s: s, r: r, rules: s.o.Rules(), done: done}
	t.open.Store(1)
	t.res.PopTime = s.o.Now().UnixMilli()
	t.res.ReviveQueue = OrderedQueue
	if !r.Order {
		t.res.ReviveQueue = s.reviveQueue(t.rules.ReviveQueues)
	}
	if !s.ready.Load() {
		t.finish()
		return
	}
	first := rand.IntN(100)
	retryFirst := !r.Order && first < t.rules.RetryProbability
	if retryFirst {
		t.retries(first)
	}
	if r.Queue == AnyQueue {
		t.queues(r.Topic, first, plain)
	} else {
		t.queue(r.Topic.TopicName, r.Queue, plain)
	}
	if !retryFirst && !r.Order && !t.full() {
		t.retries(first)
	}
	t.finish()
}

func (t *taking) retries(first int) {
	for _, retry := range t.s.retryTopics(t.r.Topic.TopicName, t.r.Group, &t.rules) {
		t.queues(retry.TopicConfig, first, retry.form)
	}
}

// queues takes from all queues of a topic.
func (t *taking) queues(topic *protocol.TopicConfig, first int, form byte) {
	n := topic.ReadQueueNums
	for i := range n {
		t.queue(topic.TopicName, int32((int64(first)+int64(i))%int64(n)), form)
	}
}

func (t *taking) full() bool { return t.count >= t.r.Max || len(t.res.Body) >= maxBody }

// queue takes from one queue.
func (t *taking) queue(topic string, queue int32, form byte) {
	s, group := t.s, t.r.Group
	key := queueKey{topic, group, queue}
	if t.full() || !t.r.Order && s.inflight.tooMany(key, t.rules.MaxInFlight) || !s.locks.take(key) {
		t.res.Rest += max(s.o.Store.MaxOffset(topic, queue)-s.offset(group, topic, queue), 0)
		return
	}
	offset := t.begin(topic, queue)
	if t.r.Order && s.orders.blocked(topic, group, queue, t.r.Attempt) {
		t.release(key)
		return
	}
	p := &part{topic: topic, queue: queue, form: form, begin: len(t.res.Body)}
	next := t.read(p, offset)
	if len(p.offsets) == 0 {
		t.release(key)
		return
	}
	p.end = len(t.res.Body)
	t.parts = append(t.parts, p)
	t.count += len(p.offsets)
	if t.r.Order {
		p.counts = s.orders.popped(topic, group, queue, form, t.res.PopTime, t.r.InvisibleTime, p.offsets, t.r.Attempt)
		s.o.Offsets.Commit("pop", group, topic, queue, p.start)
		t.release(key)
		return
	}
	ck := &protocol.PopCheckPoint{
		StartOffset: p.start, PopTime: t.res.PopTime, InvisibleTime: t.r.InvisibleTime, Num: int8(len(p.offsets)),
		QueueID: queue, Topic: topic, Cid: group, BrokerName: t.rules.Broker,
	}
	for _, at := range p.offsets {
		ck.QueueOffsetDiff = append(ck.QueueOffsetDiff, int32(at-p.start))
	}
	t.open.Add(1)
	s.putCheckpoint(ck, t.res.ReviveQueue, func(err error) {
		if p.err = err; err == nil {
			s.inflight.popped(key, len(p.offsets))
			s.o.Stats.Checkpoints(group, t.r.Topic.TopicName, 1)
			s.o.Offsets.Commit("pop", group, topic, queue, next)
		}
		t.release(key)
		t.finish()
	})
}

// release opens a queue for others, and wakes those who wanted it meanwhile.
func (t *taking) release(key queueKey) {
	if t.s.locks.release(key) {
		t.s.Pops.Wake(origin(key.topic, key.group), key.group, key.queue)
	}
}

// begin is the offset of the next message of a queue for the group.
func (t *taking) begin(topic string, queue int32) int64 {
	s, group := t.s, t.r.Group
	if reset, ok := s.o.Offsets.TakeReset(group, topic, queue); ok {
		s.orders.clear(topic, group, queue)
		s.o.Offsets.Commit("pop", group, topic, queue, reset)
		return reset
	}
	if at, ok := s.o.Offsets.Query(group, topic, queue); ok {
		return at
	}
	least := s.o.Store.MinOffset(topic, queue)
	if !t.r.FromMax || put.IsRetry(topic) {
		return least
	}
	// The newest message is the first; all of them while the first one is not old.
	at := max(s.o.Store.MaxOffset(topic, queue)-1, 0)
	if t.rules.InitInMemory && least <= 0 && s.o.Store.InMemory(topic, queue, 0) {
		at = 0
	}
	s.o.Offsets.Commit("pop", group, topic, queue, at)
	return at
}

// reads is how often a queue is read when its offset turns out to be outside of it.
const reads = 2

// read reads messages of a queue into the part and tells where the next pop begins.
func (t *taking) read(p *part, offset int64) (next int64) {
	s, group := t.s, t.r.Group
	var got store.GetResult
	for try := 1; ; try++ {
		p.start = offset
		t.res.Body, got = s.o.Store.Get(t.res.Body[:p.begin], store.GetRequest{
			Topic: p.topic, QueueID: p.queue, Offset: offset, MaxCount: t.r.Max - t.count, Match: t.r.Match,
		})
		moved := got.Status == store.OffsetTooSmall || got.Status == store.OffsetOverflowBadly || got.Status == store.OffsetFoundNull
		if !moved {
			break
		}
		offset = got.NextBeginOffset
		s.o.Offsets.Commit("pop", group, p.topic, p.queue, offset)
		if try == reads {
			break
		}
	}
	t.res.Rest += max(got.MaxOffset-got.NextBeginOffset, 0)
	switch got.Status {
	case store.Found:
		t.take(p)
	case store.NoMatchedMessage, store.MessageWasRemoving:
		s.o.Offsets.Commit("pop", group, p.topic, p.queue, got.NextBeginOffset)
	}
	return got.NextBeginOffset
}

// take notes which messages were read. Those of a retry topic are given as what they were, with their handle: what a client
// knows of a queue does not hold for them.
func (t *taking) take(p *part) {
	found := t.res.Body[p.begin:]
	p.bytes = len(found)
	if p.form != plain && !t.rules.ActualRetryTopic {
		found = append([]byte(nil), found...)
		t.res.Body = t.res.Body[:p.begin]
	}
	handle := Handle{
		StartOffset: p.start, PopTime: t.res.PopTime, InvisibleTime: t.r.InvisibleTime, ReviveQueue: t.res.ReviveQueue,
		Broker: t.rules.Broker,
	}
	for len(found) > 0 {
		r, err := message.ParseRecord(found)
		if err != nil {
			t.s.o.Log.Error("a message that was read cannot be", "topic", p.topic, "queue", p.queue, "error", err)
			return
		}
		found = found[r.Size:]
		p.offsets = append(p.offsets, r.QueueOffset)
		if p.form == plain || t.rules.ActualRetryTopic {
			continue
		}
		m := r.Message()
		m.Topic = t.r.Topic.TopicName
		t.props.Parse(view(r.Properties))
		t.text = appendHandle(t.text[:0], &handle, p.form, p.queue, r.QueueOffset)
		t.props.Set(PropHandle, string(t.text))
		m.Properties = t.props.Append(nil, 0)
		t.res.Body = message.AppendRecord(t.res.Body, &m, r.BodyCRC, message.Position{
			QueueOffset: r.QueueOffset, PhyOffset: r.PhyOffset, StoreTimestamp: r.StoreTimestamp,
		})
	}
}

func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// finish is called by each checkpoint and by the pop itself; the last one answers.
func (t *taking) finish() {
	if t.open.Add(-1) > 0 {
		return
	}
	var start, messages, counts []byte
	body := t.res.Body[:0]
	for _, p := range t.parts {
		if p.err != nil { // nobody gets what is not in a checkpoint
			t.res.Err = p.err
			continue
		}
		start = strconv.AppendInt(appendQueue(start, p.form, p.queue), p.start, 10)
		messages = appendQueue(messages, p.form, p.queue)
		for i, at := range p.offsets {
			if i > 0 {
				messages = append(messages, ',')
			}
			messages = strconv.AppendInt(messages, at, 10)
		}
		if t.r.Order {
			if len(counts) > 0 {
				counts = append(counts, ';')
			}
			counts = append(counts, p.counts...)
		}
		body = append(body, t.res.Body[p.begin:p.end]...)
		t.res.Count += len(p.offsets)
		t.res.Got = append(t.res.Got, Got{Topic: p.topic, Count: len(p.offsets), Bytes: p.bytes})
	}
	if t.res.Count > 0 {
		t.res.Err = nil
	}
	t.res.Body, t.res.Start, t.res.Messages, t.res.Counts = body, string(start), string(messages), string(counts)
	if t.res.Count > 0 && t.res.Rest > 0 { // somebody else may have them
		t.s.Pops.Wake(t.r.Topic.TopicName, t.r.Group, t.r.Queue)
	}
	t.done(&t.res)
}

// Peek reads messages that wait, and changes nothing. What the body has is appended to dst.
func (s *Service) Peek(dst []byte, t *protocol.TopicConfig, group string, queue int32, most int) (body []byte, count int, rest int64) {
	rules := s.o.Rules()
	first := rand.IntN(100)
	body = dst
	read := func(topic string, q int32) {
		offset := s.offset(group, topic, q)
		rest += max(s.o.Store.MaxOffset(topic, q)-offset, 0)
		if count >= most || len(body) >= maxBody {
			return
		}
		for range reads {
			var got store.GetResult
			body, got = s.o.Store.Get(body, store.GetRequest{Topic: topic, QueueID: q, Offset: offset, MaxCount: most - count})
			if got.Status == store.Found {
				count += got.Count
			}
			if got.Status != store.OffsetTooSmall && got.Status != store.OffsetFoundNull {
				return
			}
			offset = got.NextBeginOffset
		}
	}
	all := func(t *protocol.TopicConfig) {
		for i := range t.ReadQueueNums {
			read(t.TopicName, int32((int64(first)+int64(i))%int64(t.ReadQueueNums)))
		}
	}
	retries := func() {
		for _, retry := range s.retryTopics(t.TopicName, group, &rules) {
			all(retry.TopicConfig)
		}
	}
	retryFirst := first < rules.RetryProbability
	if retryFirst {
		retries()
	}
	if queue == AnyQueue {
		all(t)
	} else {
		read(t.TopicName, queue)
	}
	if !retryFirst && count < most {
		retries()
	}
	return body, count, rest
}

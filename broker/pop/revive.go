// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package pop

import (
	"context"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"rocketmq-go/broker/put"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

const (
	// grace is how long after its time a message that is not acknowledged is given again, ms: late acknowledgements count.
	grace = 1000
	// catchUpPause is the pause between two looks at a dispatcher that is behind.
	catchUpPause = 10 * time.Millisecond
	// readTries is how often a message of a revive queue is read before it is passed over.
	readTries = 20
	// ackKept is how long an acknowledgement waits for a checkpoint that does not come, ms, if it does not say its time.
	ackKept = 180_000

	permReadWrite = 6
)

// reputAfter are the times, ms, after which a message is tried again that could not be read.
var reputAfter = [...]int64{
	10_000, 20_000, 30_000, 60_000, 120_000, 180_000, 240_000, 300_000, 360_000, 420_000, 480_000, 540_000, 600_000, 1_200_000,
	1_800_000, 3_600_000, 7_200_000,
}

// propFirstPop is the property that tells when a message was popped for the first time.
const propFirstPop = "1ST_POP_TIME"

// Revive gives again what nobody has acknowledged in time, until ctx ends. Nobody pops before it has begun. Only a master may
// run it. It may be called again after it has returned.
func (s *Service) Revive(ctx context.Context) error {
	rules := s.o.Rules()
	if !s.dispatched(ctx, s.o.Store.MaxPhyOffset()) {
		return nil
	}
	s.replay()
	s.ready.Store(true)
	defer s.ready.Store(false)
	s.Pops.wakeAll()
	s.Notices.wakeAll()
	all := &revivers{topic: ReviveTopic(rules.Cluster)}
	for queue := range s.reviveQueues() {
		all.queues = append(all.queues, newReviver(s, all.topic, queue))
	}
	s.revivers.Store(all)
	defer s.revivers.Store(nil)
	g, ctx := errgroup.WithContext(ctx)
	for _, w := range all.queues {
		g.Go(func() error { return w.run(ctx) })
	}
	return g.Wait()
}

// revivers are those that run.
type revivers struct {
	topic  string
	queues []*reviver
}

func (r *revivers) arrived(a *store.Arrival) {
	if r != nil && a.Topic == r.topic && int(a.QueueID) < len(r.queues) {
		signal(r.queues[a.QueueID].wake)
	}
}

// dispatched waits until the queues have everything that the log has up to a place; false: ctx ended.
func (s *Service) dispatched(ctx context.Context, phy int64) bool {
	for s.o.Store.MaxPhyOffset()-s.o.Store.DispatchBehind() < phy {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(catchUpPause):
		}
	}
	return ctx.Err() == nil
}

// ckKey finds the checkpoint of an acknowledgement.
type ckKey struct {
	topic, group, broker string
	queue                int32
	start, popTime       int64
}

// checkpoint is one that waits for its time.
type checkpoint struct {
	protocol.PopCheckPoint
	key   ckKey
	acked map[int]bool // by index
	at    int64        // its place in the revive queue
}

// earlyAck waits for its checkpoint, which stands behind it.
type earlyAck struct {
	at      int64 // its place in the revive queue
	due     int64 // ms: its checkpoint must have come by then
	offsets []int64
}

// reviver works off one revive queue. It reads each message once, and commits the place before the first one that it still
// needs: that is where Java goes on behind.
type reviver struct {
	s     *Service
	topic string
	queue int32
	wake  chan struct{} // something has arrived

	next      int64 // to be read
	committed int64
	tries     int
	open      []*checkpoint // as they came
	byKey     map[ckKey]*checkpoint
	early     map[ckKey][]earlyAck
	silent    map[string]bool // brokers that could not be asked in this round

	buf   []byte
	props put.Properties
}

func newReviver(s *Service, topic string, queue int32) *reviver {
	w := &reviver{s: s, topic: topic, queue: queue, wake: make(chan struct{}, 1), byKey: map[ckKey]*checkpoint{}, early: map[ckKey][]earlyAck{}, silent: map[string]bool{}}
	least, end := s.o.Store.MinOffset(topic, queue), s.o.Store.MaxOffset(topic, queue)
	done, ok := s.o.Offsets.Query(ReviveGroup, topic, queue)
	if !ok {
		done = -1
	}
	w.next = max(min(done+1, end), least)
	w.committed = w.next - 1
	if ok && w.committed != done {
		s.o.Log.Warn("progress of POP corrected", "queue", queue, "was", done, "is", w.committed)
		w.commit(w.committed)
	}
	return w
}

func (w *reviver) commit(done int64) {
	w.s.o.Offsets.Commit("broker", ReviveGroup, w.topic, w.queue, done)
	w.committed = done
}

// run looks at the queue each reviveInterval while there is something to be done.
func (w *reviver) run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for {
		if w.idle() {
			w.s.counts.lag(w.queue, 0, 0)
			select {
			case <-ctx.Done():
				return nil
			case <-w.wake:
			}
		}
		timer.Reset(max(w.s.o.Rules().ReviveInterval, time.Millisecond))
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		w.round(ctx)
	}
}

// idle tells that nothing is to be done before something arrives.
func (w *reviver) idle() bool {
	return len(w.open) == 0 && len(w.early) == 0 && w.next >= w.s.o.Store.MaxOffset(w.topic, w.queue)
}

// round reads what came and works off what is due. What was acknowledged before this round and is due by settled is in the
// queue when it is read: timers put it into the log, and the dispatcher into the queue.
func (w *reviver) round(ctx context.Context) {
	s := w.s
	// Settled says nothing of what the dispatcher has not seen.
	if !s.dispatched(ctx, s.o.Store.MaxPhyOffset()) {
		return
	}
	settled := s.o.Settled()
	if !s.dispatched(ctx, s.o.Store.MaxPhyOffset()) {
		return
	}
	w.read(ctx)
	clear(w.silent)
	var left []*checkpoint
	for _, ck := range w.open {
		if ctx.Err() != nil || revived(&ck.PopCheckPoint)+grace > settled || !w.work(ctx, ck) {
			left = append(left, ck)
			continue
		}
		delete(w.byKey, ck.key)
	}
	w.open = left
	for key, acks := range w.early {
		if acks[0].due < settled-grace {
			delete(w.early, key)
		}
	}
	if done := w.needed() - 1; done > w.committed {
		w.commit(done)
	}
	oldest := int64(0)
	if len(w.open) > 0 {
		oldest = max(s.o.Now().UnixMilli()-revived(&w.open[0].PopCheckPoint), 0)
	}
	s.counts.lag(w.queue, max(s.o.Store.MaxOffset(w.topic, w.queue)-w.next, 0), oldest)
}

// needed is the place of the first message that is still needed.
func (w *reviver) needed() int64 {
	at := w.next
	if len(w.open) > 0 {
		at = min(at, w.open[0].at)
	}
	for _, acks := range w.early {
		at = min(at, acks[0].at)
	}
	return at
}

// read reads all that is in the queue.
func (w *reviver) read(ctx context.Context) {
	s := w.s
	for end := s.o.Store.MaxOffset(w.topic, w.queue); w.next < end && ctx.Err() == nil; {
		least := s.o.Store.MinOffset(w.topic, w.queue)
		if w.next < least {
			s.o.Log.Warn("messages of POP are gone", "queue", w.queue, "from", w.next, "to", least)
			w.next = least
			continue
		}
		r, ok := s.record(&w.buf, w.topic, w.queue, w.next)
		if !ok {
			if w.tries++; w.tries < readTries {
				return
			}
			s.o.Log.Error("a message of POP cannot be read, skipped", "queue", w.queue, "queueOffset", w.next)
		} else {
			w.note(&r)
		}
		w.tries = 0
		w.next++
	}
}

// record reads a message of a queue.
func (s *Service) record(buf *[]byte, topic string, queue int32, offset int64) (r message.Record, ok bool) {
	span, ok := s.o.Store.Span(topic, queue, offset)
	if ok {
		*buf, ok = s.o.Store.Record((*buf)[:0], span.PhyOffset, span.Size)
	}
	if !ok {
		return r, false
	}
	r, err := message.ParseRecord(*buf)
	return r, err == nil
}

// note takes a checkpoint or an acknowledgement.
func (w *reviver) note(r *message.Record) {
	tag, _ := message.Property(r.Properties, message.PropTags)
	var err error
	switch string(tag) {
	case tagCheckpoint:
		ck := &checkpoint{at: w.next}
		if err = fastjson.Unmarshal(r.Body, &ck.PopCheckPoint); err == nil {
			w.noteCheckpoint(ck)
		}
	case tagAck, tagBatchAck:
		var ack protocol.BatchAckMsg
		if err = fastjson.Unmarshal(r.Body, &ack); err == nil {
			if string(tag) == tagAck {
				ack.AckOffsetList = []int64{ack.AckOffset}
			}
			w.noteAck(r, &ack)
		}
	}
	if err != nil {
		w.s.o.Log.Error("a message of POP cannot be understood, skipped", "queue", w.queue, "queueOffset", w.next, "error", err)
	}
}

func (w *reviver) noteCheckpoint(ck *checkpoint) {
	c := &ck.PopCheckPoint
	w.s.counts.out.add(c.Topic, c.Cid, typeCheckpoint, strconv.Itoa(int(w.queue)))
	ck.key = ckKey{c.Topic, c.Cid, c.BrokerName, c.QueueID, c.StartOffset, c.PopTime}
	ck.acked = map[int]bool{}
	for n := range int(c.Num) {
		if n < 32 && c.BitMap&(1<<n) != 0 {
			ck.acked[n] = true
		}
	}
	if before := w.byKey[ck.key]; before != nil && before.Num == c.Num {
		return // stored twice
	}
	w.open = append(w.open, ck)
	w.byKey[ck.key] = ck
	for _, ack := range w.early[ck.key] {
		ck.take(ack.offsets)
	}
	delete(w.early, ck.key)
}

func (ck *checkpoint) take(offsets []int64) {
	for _, offset := range offsets {
		if n := indexOf(&ck.PopCheckPoint, offset); n >= 0 {
			ck.acked[n] = true
		}
	}
}

func (w *reviver) noteAck(r *message.Record, a *protocol.BatchAckMsg) {
	w.s.counts.out.add(a.Topic, a.ConsumerGroup, typeAck, strconv.Itoa(int(w.queue)))
	key := ckKey{a.Topic, a.ConsumerGroup, a.BrokerName, a.QueueID, a.StartOffset, a.PopTime}
	if ck := w.byKey[key]; ck != nil {
		ck.take(a.AckOffsetList)
		return
	}
	text, _ := message.Property(r.Properties, put.PropTimerAt)
	due, err := strconv.ParseInt(view(text), 10, 64)
	if err != nil {
		due = a.PopTime + ackKept
	}
	w.early[key] = append(w.early[key], earlyAck{at: w.next, due: due, offsets: a.AckOffsetList})
}

// work gives again what is left of a checkpoint. False: the store does not take it, it is tried again.
func (w *reviver) work(ctx context.Context, ck *checkpoint) bool {
	s := w.s
	c := &ck.PopCheckPoint
	own := c.BrokerName == "" || c.BrokerName == s.o.Rules().Broker
	if own && (s.o.Topics.Get(origin(c.Topic, c.Cid)) == nil || s.o.Topics.Get(c.Topic) == nil) || !s.o.HasGroup(c.Cid) {
		return true // deleted meanwhile
	}
	for n := range int(c.Num) {
		if ck.acked[n] {
			continue
		}
		if ctx.Err() != nil || !w.again(ctx, c, offsetOf(c, n)) {
			return false
		}
		ck.acked[n] = true
	}
	return true
}

// again stores a message for the pop retry topic. False: the store does not take it.
func (w *reviver) again(ctx context.Context, ck *protocol.PopCheckPoint, offset int64) bool {
	s, rules := w.s, w.s.o.Rules()
	var r message.Record
	if ck.BrokerName != "" && ck.BrokerName != rules.Broker {
		if w.silent[ck.BrokerName] {
			return w.later(ck, offset)
		}
		record, err := s.o.Elsewhere(ctx, ck.BrokerName, ck.Cid, ck.Topic, ck.QueueID, offset)
		if err == nil && record == nil {
			return w.over(ck)
		}
		if err == nil {
			r, err = message.ParseRecord(record)
		}
		if err != nil {
			w.silent[ck.BrokerName] = true
			return w.later(ck, offset)
		}
	} else {
		if offset < s.o.Store.MinOffset(ck.Topic, ck.QueueID) || offset >= s.o.Store.MaxOffset(ck.Topic, ck.QueueID) {
			return w.over(ck) // deleted with its file, or with its topic
		}
		var ok bool
		if r, ok = s.record(&w.buf, ck.Topic, ck.QueueID, offset); !ok {
			return w.later(ck, offset)
		}
	}
	name := ck.Topic
	if origin(name, ck.Cid) == name {
		name = RetryTopic(name, ck.Cid, rules.RetryV2)
	}
	s.o.Topics.CreateRetry(name, 1, permReadWrite, 0)
	if _, ok := s.o.Offsets.Query(ck.Cid, name, 0); !ok {
		s.o.Offsets.Commit("broker", ck.Cid, name, 0, 0)
	}
	ok := true
	for _, r := range message.AppendUnwrapped(nil, r) {
		ok = w.put(ck, name, &r) && ok
	}
	return ok && w.over(ck)
}

// over ends the flight of one message of a checkpoint.
func (w *reviver) over(ck *protocol.PopCheckPoint) bool {
	w.s.landed(queueKey{ck.Topic, ck.Cid, ck.QueueID}, ck.PopTime, 1)
	return true
}

func (w *reviver) put(ck *protocol.PopCheckPoint, name string, r *message.Record) bool {
	s := w.s
	m := r.Message()
	m.Topic, m.QueueID = name, 0
	m.BornHost = s.o.Host()
	m.StoreHost = m.BornHost
	m.ReconsumeTimes++
	m.PreparedTransactionOffset = 0
	m.SysFlag &^= message.SysTransactionMask
	w.props.Parse(view(r.Properties))
	tags := w.props.Get(message.PropTags)
	w.props.Reset()
	w.props.Built = true
	if tags != "" { // Java enters it first
		w.props.Set(message.PropTags, tags)
	}
	for p := message.ScanProperties(r.Properties); p.Next(); {
		w.props.Set(view(p.Name), view(p.Value))
	}
	if !w.props.Has(propFirstPop) {
		w.props.Set(propFirstPop, strconv.FormatInt(ck.PopTime, 10))
	}
	m.Properties = w.props.Append(nil, message.Java5)
	status := s.store(&m)
	s.counts.retried.add(origin(name, ck.Cid), ck.Cid, put.StatusName(status), "")
	if s.o.Put.Answer(status) != nil {
		s.o.Log.Warn("a message that nobody acknowledged cannot be stored again, will be tried again", "topic", name,
			"status", put.StatusName(status))
		return false
	}
	return true
}

// store puts a message as it stands and waits for the outcome.
func (s *Service) store(m *message.Message) store.PutStatus {
	done := make(chan store.PutStatus, 1)
	s.o.Put.Raw(m, func(r store.PutResult) { done <- r.Status })
	return <-done
}

// later writes a checkpoint for one message that cannot be read at the moment. False: it cannot be stored either.
func (w *reviver) later(ck *protocol.PopCheckPoint, offset int64) bool {
	s := w.s
	times, _ := strconv.Atoi(ck.RePutTimes)
	if times >= len(reputAfter) && s.o.Rules().SkipUnreadable {
		s.o.Log.Error("a message that was popped cannot be read, given up", "topic", ck.Topic, "queue", ck.QueueID, "queueOffset", offset)
		return w.over(ck)
	}
	s.o.Log.Warn("a message that was popped cannot be read, will be tried again", "topic", ck.Topic, "queue", ck.QueueID,
		"queueOffset", offset, "times", times)
	now := s.o.Now().UnixMilli()
	next := &protocol.PopCheckPoint{
		StartOffset: offset, PopTime: ck.PopTime, InvisibleTime: now - ck.PopTime + reputAfter[min(times, len(reputAfter)-1)],
		Num: 1, QueueID: ck.QueueID, Topic: ck.Topic, Cid: ck.Cid, QueueOffsetDiff: []int32{0}, BrokerName: ck.BrokerName,
		RePutTimes: strconv.Itoa(times + 1),
	}
	done := make(chan error, 1)
	s.putCheckpoint(next, w.queue, func(err error) { done <- err })
	return <-done == nil
}

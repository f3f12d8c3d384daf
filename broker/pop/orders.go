// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package pop

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"rocketmq-go/broker/metafile"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

const (
	ordersEvery = 10 * time.Second // how often the file is written
	// ordersKept is how long a queue is remembered that nobody pops.
	ordersKept = 24 * time.Hour
	// ordersBits is how many messages one pop in order may give: each has a bit.
	ordersBits = 64
)

// orders are the queues of which a group has popped messages in order. Until all of them are acknowledged, or the time of
// those that are not is over, the group gets no others of that queue. The file config/consumerOrderInfo.json is Java's.
type orders struct {
	s      *Service
	writer *metafile.Writer

	mu    sync.Mutex
	table map[placeKey]map[int32]*order
	dirty bool
}

// order is what a group holds of one queue.
type order struct {
	popTime   int64 // ms
	invisible int64 // ms
	offsets   []int64
	next      map[int64]int64 // offset → when it can be seen again, ms, where that was changed
	counts    map[int64]int32 // offset → how often it was given before
	last      int64           // ms
	acked     uint64          // bit n: the n-th offset
	attempt   string

	timer *time.Timer // wakes who waits for the queue
}

func newOrders(s *Service) (*orders, error) {
	o := &orders{s: s, table: map[placeKey]map[int32]*order{}}
	file, source, err := metafile.Load(filepath.Join(s.o.Dir, "config", "consumerOrderInfo.json"), o.load)
	if err != nil {
		return nil, err
	}
	if source == metafile.FromBackup || source == metafile.FromBroken {
		s.o.Log.Error("what is popped in order was not read from its file", "used", source)
	}
	o.writer = metafile.NewWriter(file, o.render, metafile.Options{Log: s.o.Log})
	return o, nil
}

func (o *orders) find(topic, group string, queue int32) *order {
	return o.table[placeKey{topic, group}][queue]
}

// blocked tells whether a queue is closed for a group; the attempt that has the messages may get them again.
func (o *orders) blocked(topic, group string, queue int32, attempt string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	q := o.find(topic, group, queue)
	return q != nil && (attempt == "" || attempt != q.attempt) && q.opens() > o.s.o.Now().UnixMilli()
}

// opens is when the last of the messages that are not acknowledged can be seen again, 0 if all are acknowledged.
func (q *order) opens() (at int64) {
	for i, offset := range q.offsets {
		if q.acked&(1<<i) == 0 {
			at = max(at, q.visible(offset))
		}
	}
	return at
}

// visible is when a message that is not acknowledged can be seen again, ms.
func (q *order) visible(offset int64) int64 {
	if next, ok := q.next[offset]; ok {
		return next
	}
	return q.popTime + q.invisible
}

// open is how many messages a group has of a queue that it popped in order.
func (o *orders) open(topic, group string, queue int32) (n int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	q := o.find(topic, group, queue)
	if q == nil {
		return 0
	}
	now := o.s.o.Now().UnixMilli()
	for i, offset := range q.offsets {
		if q.acked&(1<<i) == 0 && q.visible(offset) > now {
			n++
		}
	}
	return n
}

// popped notes what a group was given, and tells the client how often it was given before.
func (o *orders) popped(topic, group string, queue int32, form byte, now, invisible int64, offsets []int64, attempt string) (counts string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	q := &order{popTime: now, invisible: invisible, offsets: slices.Clone(offsets), last: now, attempt: attempt}
	key := placeKey{topic, group}
	if before := o.table[key][queue]; before != nil {
		stop(before.timer)
		q.countFrom(before)
	}
	if o.table[key] == nil {
		o.table[key] = map[int32]*order{}
	}
	o.table[key][queue] = q
	o.dirty = true
	o.wakeLater(key, queue, q)
	return q.text(form, queue)
}

// countFrom takes over how often messages were given; the same attempt is given them again without that counting.
func (q *order) countFrom(before *order) {
	if before.attempt != "" && before.attempt == q.attempt {
		q.counts = before.counts
		return
	}
	q.counts = map[int64]int32{}
	for _, offset := range q.offsets {
		if slices.Contains(before.offsets, offset) {
			q.counts[offset] = before.counts[offset] + 1
		}
	}
}

// text is orderCountInfo: the count of each message that has one, and the smallest of the queue, for older clients.
func (q *order) text(form byte, queue int32) string {
	var b []byte
	least := int32(math.MaxInt32)
	for _, offset := range q.offsets {
		n, ok := q.counts[offset]
		least = min(least, n)
		if ok {
			b = fmt.Appendf(b, "%c qo%d%%%d %d;", form, queue, offset, n)
		}
	}
	return string(fmt.Appendf(b, "%c %d %d", form, queue, least))
}

// hide changes when a message can be seen again.
func (o *orders) hide(a *Ack, next int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	q := o.find(a.Topic, a.Group, a.Queue)
	if q == nil || q.popTime != a.Handle.PopTime || !slices.Contains(q.offsets, a.Offset) {
		return
	}
	if q.next == nil {
		q.next = map[int64]int64{}
	}
	q.next[a.Offset] = next
	o.dirty = true
	o.wakeLater(placeKey{a.Topic, a.Group}, a.Queue, q)
}

// ack notes an acknowledgement and tells the offset of the first message that is not acknowledged; negative: it is of another
// pop. Not ok: the message is none of those that the group has.
func (o *orders) ack(a *Ack) (next int64, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	q := o.find(a.Topic, a.Group, a.Queue)
	if q == nil {
		return a.Offset + 1, true
	}
	if q.popTime != a.Handle.PopTime {
		return -1, true
	}
	i := slices.Index(q.offsets, a.Offset)
	if i < 0 {
		return 0, false
	}
	q.acked |= 1 << i
	q.last = o.s.o.Now().UnixMilli()
	o.dirty = true
	for i, offset := range q.offsets {
		if q.acked&(1<<i) == 0 {
			return offset, true
		}
	}
	return q.offsets[len(q.offsets)-1] + 1, true
}

// clear opens a queue: its offset was reset.
func (o *orders) clear(topic, group string, queue int32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if q := o.find(topic, group, queue); q != nil {
		stop(q.timer)
		delete(o.table[placeKey{topic, group}], queue)
		o.dirty = true
	}
}

// forget drops whole groups or topics.
func (o *orders) forget(gone func(topic, group string) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, queues := range o.table {
		if !gone(key.topic, key.group) {
			continue
		}
		for _, q := range queues {
			stop(q.timer)
		}
		delete(o.table, key)
		o.dirty = true
	}
}

func stop(t *time.Timer) {
	if t != nil {
		t.Stop()
	}
}

// wakeLater wakes those who wait for a queue when it opens.
func (o *orders) wakeLater(key placeKey, queue int32, q *order) {
	stop(q.timer)
	if !o.s.o.Rules().WakeOrdered {
		return
	}
	wait := time.Duration(q.opens()-o.s.o.Now().UnixMilli()) * time.Millisecond
	q.timer = time.AfterFunc(max(wait, 0), func() {
		o.s.Pops.Wake(key.topic, key.group, queue)
		o.s.Notices.Wake(key.topic, key.group, queue)
	})
}

// run writes the file from time to time, and forgets what nobody needs.
func (o *orders) run(ctx context.Context) error {
	tick := time.NewTicker(ordersEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		o.tidy()
		o.write()
	}
}

func (o *orders) tidy() {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.s.o.Now()
	for key, queues := range o.table {
		cfg := o.s.o.Topics.Get(key.topic)
		for id, q := range queues {
			if cfg == nil || id >= cfg.ReadQueueNums || now.Sub(time.UnixMilli(q.last)) > ordersKept {
				stop(q.timer)
				delete(queues, id)
				o.dirty = true
			}
		}
		if len(queues) == 0 {
			delete(o.table, key)
		}
	}
}

func (o *orders) write() {
	o.mu.Lock()
	dirty := o.dirty
	o.dirty = false
	o.mu.Unlock()
	if dirty {
		o.writer.Changed()
	}
}

func (o *orders) close() error {
	o.forgetTimers()
	o.write()
	return o.writer.Close()
}

func (o *orders) forgetTimers() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, queues := range o.table {
		for _, q := range queues {
			stop(q.timer)
		}
	}
}

func (o *orders) load(text []byte) error {
	var body protocol.ConsumerOrderInfoManager
	if err := fastjson.Unmarshal(text, &body); err != nil {
		return err
	}
	for name, queues := range body.Table.All() {
		topic, group, ok := strings.Cut(name, "@")
		if !ok {
			continue
		}
		key := placeKey{topic, group}
		for id, info := range queues.All() {
			if info == nil || len(info.OffsetList) == 0 || len(info.OffsetList) > ordersBits {
				continue
			}
			if o.table[key] == nil {
				o.table[key] = map[int32]*order{}
			}
			o.table[key][id] = orderOf(info)
		}
	}
	return nil
}

func orderOf(info *protocol.OrderInfo) *order {
	q := &order{
		popTime: info.PopTime, invisible: info.InvisibleTime.V, last: info.LastConsumeTimestamp, acked: uint64(info.CommitOffsetBit),
		attempt: info.AttemptID, next: maps.Collect(info.OffsetNextVisibleTime.All()),
		counts: maps.Collect(info.OffsetConsumedCount.All()),
	}
	for i, offset := range info.OffsetList {
		if i > 0 {
			offset += info.OffsetList[0]
		}
		q.offsets = append(q.offsets, offset)
	}
	return q
}

func (o *orders) render() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	var body protocol.ConsumerOrderInfoManager
	body.Table.Clear()
	for _, key := range slices.SortedFunc(maps.Keys(o.table), compareKeys) {
		queues := fastjson.MapOf[int32, *protocol.OrderInfo](len(o.table[key]))
		for _, id := range slices.Sorted(maps.Keys(o.table[key])) {
			queues.Set(id, o.table[key][id].info())
		}
		body.Table.Set(key.topic+"@"+key.group, queues)
	}
	return fastjson.Options{Pretty: true}.Marshal(&body)
}

func compareKeys(a, b placeKey) int {
	return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.group, b.group))
}

func (q *order) info() *protocol.OrderInfo {
	info := &protocol.OrderInfo{
		PopTime: q.popTime, InvisibleTime: protocol.Some(q.invisible), LastConsumeTimestamp: q.last, CommitOffsetBit: int64(q.acked),
		AttemptID: q.attempt,
	}
	for i, offset := range q.offsets {
		if i > 0 {
			offset -= q.offsets[0]
		}
		info.OffsetList = append(info.OffsetList, offset)
	}
	for _, offset := range slices.Sorted(maps.Keys(q.next)) {
		info.OffsetNextVisibleTime.Set(offset, q.next[offset])
	}
	if q.counts != nil {
		info.OffsetConsumedCount.Clear()
	}
	for _, offset := range slices.Sorted(maps.Keys(q.counts)) {
		info.OffsetConsumedCount.Set(offset, q.counts[offset])
	}
	return info
}

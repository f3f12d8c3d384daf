// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rocketmq-go/message"
)

// More than fits into memory is appended while the dispatcher is held up; it reads the log then.
func TestDispatcherThatFellBehind(t *testing.T) {
	cfg := testConfig(t.TempDir())
	gate := make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })
	var arrivals atomic.Int64
	cfg.Arrived = func(a Arrival) {
		if a.Offset != arrivals.Add(1)-1 {
			panic(fmt.Sprintf("arrival of %d", a.Offset))
		}
		<-gate
	}
	s := openTest(t, cfg)
	defer open()
	// What the dispatcher took before it was held up may be as much as fits.
	const n = 2*maxPending + 5000
	m := newMessage("T", 0, "b", "UNIQ_KEY\x01u\x02")
	for range n {
		s.Put(m, func(r PutResult) {
			if r.Status != PutOK {
				panic(r.Status)
			}
		})
	}
	s.cl.Lock()
	overflow := s.overflow
	s.cl.Unlock()
	if !overflow {
		t.Fatal("it did not fall behind")
	}
	open()
	visible(t, s)
	if s.MaxOffset("T", 0) != n || arrivals.Load() != n {
		t.Fatalf("%d of %d visible, %d arrivals", s.MaxOffset("T", 0), n, arrivals.Load())
	}
	put(t, s, newMessage("T", 0, "after", ""))
	visible(t, s)
	s.cl.Lock()
	defer s.cl.Unlock()
	if s.overflow {
		t.Error("still reading the log")
	}
}

func TestLightMessageQueues(t *testing.T) {
	for _, compat49 := range []bool{false, true} {
		t.Run(fmt.Sprint("4.9 ", compat49), func(t *testing.T) {
			cfg := testConfig(t.TempDir())
			cfg.Compat49, cfg.MaxLMQ = compat49, 3
			var mu sync.Mutex
			seen := map[string]int{}
			cfg.Arrived = func(a Arrival) { mu.Lock(); seen[a.Topic]++; mu.Unlock() }
			s := openTest(t, cfg)
			for range 3 {
				put(t, s, newMessage("L", 2, "both", "INNER_MULTI_DISPATCH\x01%LMQ%a,%LMQ%b\x02TAGS\x01x\x02"))
			}
			put(t, s, newMessage("L", 2, "one", "INNER_MULTI_DISPATCH\x01%LMQ%a\x02"))
			put(t, s, newMessage("%RETRY%L", 0, "retry", "INNER_MULTI_DISPATCH\x01%LMQ%b\x02"))
			visible(t, s)
			b := int64(3)
			if compat49 { // it has no exception for retry topics
				b = 4
			}
			check := func(s *Store) {
				t.Helper()
				if got := s.MaxOffset("%LMQ%a", 0); got != 4 {
					t.Errorf("a ends at %d", got)
				}
				if got := s.MaxOffset("%LMQ%b", 0); got != b {
					t.Errorf("b ends at %d", got)
				}
				if u, _ := s.Unit("%LMQ%a", 0, 1); u.TagsCode != message.TagsCode([]byte("x")) {
					t.Errorf("%+v", u)
				}
			}
			check(s)
			mu.Lock()
			if seen["L"] != 4 || seen["%LMQ%a"] != 4 || seen["%LMQ%b"] != int(b) {
				t.Errorf("arrivals %v", seen)
			}
			mu.Unlock()
			s.Close()
			s = openTest(t, cfg)
			check(s)
			put(t, s, newMessage("L", 2, "third", "INNER_MULTI_DISPATCH\x01%LMQ%c\x02"))
			s.Put(newMessage("L", 2, "fourth", "INNER_MULTI_DISPATCH\x01%LMQ%d\x02"), func(r PutResult) {
				if r.Status != LMQQueueNumExceeded {
					t.Errorf("one queue too many: %d", r.Status)
				}
			})
			if r := put(t, s, newMessage("L", 2, "next", "")); r.QueueOffset != 5 {
				t.Errorf("queue offset %d", r.QueueOffset)
			}
		})
	}
}

// U034 (R#7902): a record that cannot be indexed must not stop the others.
func TestPanicInIndex(t *testing.T) {
	s := openTest(t, testConfig(t.TempDir()))
	s.dispatch.mu.Lock()
	add := s.dispatch.addKeys
	s.dispatch.addKeys = func(topic string, uniqKey, keys []byte, phyOffset, storeTime int64) error {
		if string(uniqKey) == "bad" {
			panic("index")
		}
		return add(topic, uniqKey, keys, phyOffset, storeTime)
	}
	s.dispatch.mu.Unlock()
	for _, key := range []string{"one", "bad", "two"} {
		put(t, s, newMessage("T", 0, "b", "UNIQ_KEY\x01"+key))
	}
	visible(t, s)
	for key, want := range map[string]int{"one": 1, "bad": 0, "two": 1} {
		if got := s.QueryIndex("T", key, 10, 0, math.MaxInt64); len(got.PhyOffsets) != want {
			t.Errorf("%s: %+v", key, got)
		}
	}
	if s.MaxOffset("T", 0) != 3 {
		t.Error("messages are missing in the queue")
	}
}

// While queue or index cannot be written, messages are refused; afterwards all is as if nothing had been.
// Deleting topics is what one does about a full disk: it must not wait for space, and not bring anything back.
func TestTopicsAreDeletedWhileTheDiskIsFull(t *testing.T) {
	cfg := testConfig(t.TempDir())
	s := openTest(t, cfg)
	put(t, s, newMessage("Old", 0, "b", ""))
	visible(t, s)
	var full atomic.Bool
	full.Store(true)
	s.dispatch.mu.Lock()
	add := s.dispatch.addKeys
	s.dispatch.addKeys = func(topic string, uniqKey, keys []byte, phyOffset, storeTime int64) error {
		if full.Load() {
			return errors.New("no space left on device")
		}
		return add(topic, uniqKey, keys, phyOffset, storeTime)
	}
	s.dispatch.mu.Unlock()
	put(t, s, newMessage("New", 0, "b", "UNIQ_KEY\x01k"))
	until(t, "messages are refused", func() bool { return !s.Writable() })
	deleted := make(chan struct{})
	go func() {
		s.DeleteTopics([]string{"Old", "New"})
		close(deleted)
	}()
	select {
	case <-deleted:
	case <-time.After(time.Minute):
		t.Error("deleting topics waits for space")
	}
	full.Store(false)
	visible(t, s)
	<-deleted
	for _, topic := range []string{"Old", "New"} {
		if _, err := os.Stat(filepath.Join(cfg.Dir, "consumequeue", topic)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the queues of %s: %v", topic, err)
		}
	}
	put(t, s, newMessage("New", 0, "b", ""))
	visible(t, s)
	if s.MaxOffset("New", 0) != 1 {
		t.Errorf("%d messages", s.MaxOffset("New", 0))
	}
}

func TestDispatcherWithFullDisk(t *testing.T) {
	s := openTest(t, testConfig(t.TempDir()))
	var full atomic.Bool
	full.Store(true)
	s.dispatch.mu.Lock()
	add := s.dispatch.addKeys
	s.dispatch.addKeys = func(topic string, uniqKey, keys []byte, phyOffset, storeTime int64) error {
		if full.Load() {
			return errors.New("no space left on device")
		}
		return add(topic, uniqKey, keys, phyOffset, storeTime)
	}
	s.dispatch.mu.Unlock()
	put(t, s, newMessage("T", 0, "b", "UNIQ_KEY\x01k"))
	until(t, "messages are refused", func() bool { return !s.Writable() })
	s.Put(newMessage("T", 0, "b", ""), func(r PutResult) {
		if r.Status != ServiceNotAvailable {
			t.Errorf("status %d", r.Status)
		}
	})
	full.Store(false)
	visible(t, s)
	until(t, "messages are taken", s.Writable)
	put(t, s, newMessage("T", 0, "b", ""))
	visible(t, s)
	if s.MaxOffset("T", 0) != 2 {
		t.Errorf("%d messages", s.MaxOffset("T", 0))
	}
}

// U039 (R#3613), U040 (RS#10428, R#8438), U042 (RS#2890, R#2421), U043 (RS#5735): keys whose hashes are equal, named twice
// or shared, the hash of which nothing is the absolute value, and those beyond the BMP.
func TestKeysWithEqualHash(t *testing.T) {
	s := openTest(t, testConfig(t.TempDir()))
	phy := map[string]int64{}
	for _, m := range []struct{ topic, key string }{
		{"T", "Aa"}, {"T", "BB"}, {"TopicTest", "ogaQmc"}, {"TopicTest", "ogaRNc"}, {"T", "k k"}, {"T", "\U0001F600 中"},
	} {
		phy[m.key] = put(t, s, newMessage(m.topic, 0, "b", "KEYS\x01"+m.key)).PhyOffset
	}
	twins := []int64{
		put(t, s, newMessage("T", 0, "b", "UNIQ_KEY\x01twin")).PhyOffset,
		put(t, s, newMessage("T", 0, "b", "UNIQ_KEY\x01twin")).PhyOffset,
	}
	visible(t, s)
	for _, c := range []struct {
		topic, key string
		want       []int64
	}{
		{"T", "Aa", []int64{phy["Aa"]}},
		{"T", "BB", []int64{phy["BB"]}},
		{"TopicTest", "ogaQmc", []int64{phy["ogaQmc"]}}, // hash -2^31
		{"TopicTest", "ogaRNc", []int64{phy["ogaRNc"]}},
		{"T", "k", []int64{phy["k k"]}}, // indexed twice
		{"T", "中", []int64{phy["\U0001F600 中"]}},
		{"T", "\U0001F600", []int64{phy["\U0001F600 中"]}},
		{"T", "twin", []int64{twins[1], twins[0]}},
		{"T", "none", nil},
	} {
		if got := s.QueryIndex(c.topic, c.key, 10, 0, math.MaxInt64).PhyOffsets; fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s#%s: %v, expected %v", c.topic, c.key, got, c.want)
		}
	}
	if got := s.QueryIndex("T", "twin", 1, 0, math.MaxInt64).PhyOffsets; len(got) != 1 || got[0] != twins[1] {
		t.Errorf("at most one: %v", got)
	}
	if got := s.QueryIndex("T", "twin", 10, 0, 1000).PhyOffsets; len(got) != 0 {
		t.Errorf("other time: %v", got)
	}
}

func TestGathered(t *testing.T) {
	cfg := testConfig(t.TempDir())
	cfg.Flushing = func() Flushing { return Flushing{Interval: time.Hour} }
	s := openTest(t, cfg)
	gathered := func(queueID int32) *message.Message {
		m := newMessage("T", queueID, "b", "")
		m.Gathered = true
		return m
	}
	for range 3 {
		put(t, s, gathered(0))
	}
	s.Dispatch()
	visible(t, s)
	if got := len(bodies(t, s, "T", 0)); got != 3 {
		t.Fatalf("%d messages", got)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 1000 {
				s.Put(gathered(1), func(PutResult) {})
				if i%10 == 9 {
					s.Dispatch()
				}
			}
		})
	}
	wg.Wait()
	visible(t, s)
	if got := s.MaxOffset("T", 1); got != 4000 {
		t.Fatalf("%d messages", got)
	}
}

// Putting, reading, querying and deleting at the same time: for the race detector, and for what it leaves behind.
func TestEverythingAtOnce(t *testing.T) {
	s := openTest(t, testConfig(t.TempDir()))
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for w := range 3 {
		wg.Go(func() {
			for i := range 1500 {
				m := newMessage(fmt.Sprint("T", w%2), int32(i%3), strings.Repeat("x", i%2000), fmt.Sprintf("KEYS\x01k%d", i%20))
				s.Put(m, func(PutResult) {})
				if i%100 == 0 {
					s.Put(newMessage("Gone", 0, "b", ""), func(PutResult) {})
				}
			}
		})
	}
	var readers sync.WaitGroup
	for w := range 2 {
		readers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				topic := fmt.Sprint("T", w)
				hi := s.MaxOffset(topic, int32(i%3))
				s.Get(nil, GetRequest{Topic: topic, QueueID: int32(i % 3), Offset: max(hi-20, 0), MaxCount: 32})
				s.QueryIndex(topic, "k7", 5, 0, math.MaxInt64)
				s.OffsetByTime(topic, 0, int64(i), Upper)
				if i%50 == 0 {
					s.DeleteTopics([]string{"Gone"})
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	readers.Wait()
	visible(t, s)
	total := 0
	for topic, ids := range s.Queues() {
		for _, id := range ids {
			if topic != "Gone" {
				total += len(bodies(t, s, topic, id))
			}
		}
	}
	if total != 4500 {
		t.Errorf("%d messages", total)
	}
}

// A topic is deleted again and again while messages are sent to it: each of them either went with one of the deletions, or
// is in the queue, and a start that makes the queue anew from the log finds the same.
func TestTopicIsDeletedWhileMessagesAreSentToIt(t *testing.T) {
	cfg := testConfig(t.TempDir())
	s := openTest(t, cfg)
	var mu sync.Mutex
	var acknowledged []int64
	var senders sync.WaitGroup
	var stop atomic.Bool
	for w := range 2 {
		senders.Go(func() {
			m := newMessage("T", 0, "b", "")
			send, body := s.Put, m.Body
			if w == 1 {
				send, body = s.PutBatch, message.AppendBatchEntry(nil, 0, m.Body, nil)
			}
			m.Body = body
			for !stop.Load() {
				send(m, func(r PutResult) {
					mu.Lock()
					defer mu.Unlock()
					if r.Status != PutOK {
						t.Errorf("status %d", r.Status)
					}
					acknowledged = append(acknowledged, r.PhyOffset)
				})
			}
		})
	}
	for range 10 {
		until(t, "the topic is made again", func() bool { return s.MaxOffset("T", 0) > 0 })
		s.DeleteTopics([]string{"T"})
	}
	stop.Store(true)
	senders.Wait()
	last := put(t, s, newMessage("T", 0, "last", ""))
	visible(t, s)
	left := int64(1)
	for _, phyOffset := range acknowledged {
		if !s.gone.has([]byte("T"), phyOffset) {
			left++
		}
	}
	if last.QueueOffset != left-1 || s.MaxOffset("T", 0) != left || len(bodies(t, s, "T", 0)) != int(left) {
		t.Errorf("%d acknowledged, %d left, %d visible, the last is %d", len(acknowledged), left, s.MaxOffset("T", 0), last.QueueOffset)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(cfg.Dir, "consumequeue")); err != nil {
		t.Fatal(err)
	}
	if s = openTest(t, cfg); s.MaxOffset("T", 0) != left {
		t.Errorf("%d after a start, %d expected", s.MaxOffset("T", 0), left)
	}
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Who waited too long for the log's lock stores nothing: its client has sent the message elsewhere by then.
func TestLongestWait(t *testing.T) {
	for _, c := range []struct {
		longest, held time.Duration
		want          PutStatus
	}{
		{200 * time.Millisecond, 200 * time.Millisecond, OSPageCacheBusy},
		{200 * time.Millisecond, 199 * time.Millisecond, PutOK},
		{0, time.Hour, PutOK},
	} {
		var clock atomic.Int64
		var calls atomic.Int32
		cfg := testConfig(t.TempDir())
		cfg.Now = func() time.Time { calls.Add(1); return time.UnixMilli(1700000000000).Add(time.Duration(clock.Load())) }
		cfg.LongestWait = func() time.Duration { return c.longest }
		s := openTest(t, cfg)
		s.cl.Lock()
		before := calls.Load()
		done := make(chan PutResult, 1)
		go s.Put(newMessage("T", 0, "body", ""), func(r PutResult) { done <- r })
		until(t, "the put waits for the lock", func() bool { return calls.Load() > before })
		clock.Add(int64(c.held))
		s.cl.Unlock()
		if got := (<-done).Status; got != c.want {
			t.Errorf("waited %s of %s: %d, want %d", c.held, c.longest, got, c.want)
		}
		put(t, s, newMessage("T", 0, "the lock is free again", ""))
	}
}

func TestLongTopics(t *testing.T) {
	taken := true
	cfg := testConfig(t.TempDir())
	cfg.LongTopics = func() bool { return taken }
	s := openTest(t, cfg)
	long := "%RETRY%" + strings.Repeat("g", 200)
	put(t, s, newMessage(long, 0, "body", ""))
	taken = false
	put(t, s, newMessage(long[:127], 0, "body", ""))
	s.Put(newMessage(long[:128], 0, "body", ""), func(r PutResult) {
		if r.Status != MessageIllegal {
			t.Errorf("status %d for a topic of 128 bytes", r.Status)
		}
	})
}

// A pull that finds nothing gives up after some files of the queue, or some ranges of FilterBytes, and says where to go on.
func TestFilterRounds(t *testing.T) {
	limits := DefaultReadLimits()
	limits.FilterBytes = 20 * 100
	cfg := testConfig(t.TempDir())
	cfg.ConsumeQueueFileSize = 20 * 250
	cfg.Limits = func() ReadLimits { return limits }
	s := openTest(t, cfg)
	for i := range 1000 {
		props := ""
		if i == 299 {
			props = "TAGS\x01a\x02"
		}
		put(t, s, newMessage("T", 0, fmt.Sprint(i), props))
	}
	visible(t, s)
	for _, c := range []struct {
		rounds, offset, next int64
		status               GetStatus
	}{
		{0, 0, 100, NoMatchedMessage},
		{1, 0, 100, NoMatchedMessage},
		{2, 0, 200, NoMatchedMessage},
		{3, 0, 250, NoMatchedMessage}, // the end of the file
		{4, 0, 350, Found},            // to the end of the range, as in a single one
		{3, 300, 600, NoMatchedMessage},
		{9, 700, 1000, NoMatchedMessage}, // the end of the queue
	} {
		limits.FilterRounds = int(c.rounds)
		_, r := s.Get(nil, GetRequest{Topic: "T", Offset: c.offset, MaxCount: 32, Match: tag("a")})
		if r.Status != c.status || r.NextBeginOffset != c.next {
			t.Errorf("%d rounds from %d: status %d, next %d; want %d, %d", c.rounds, c.offset, r.Status, r.NextBeginOffset, c.status, c.next)
		}
	}
}

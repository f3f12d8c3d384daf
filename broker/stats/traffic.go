// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package stats

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Traffic is what code 28 tells of a broker's load: rates over three windows, counts at midnight, how long storing and
// reading take. Counting costs a few atomic additions.
type Traffic struct {
	stored, failed, missed atomic.Int64
	longestPut, longestGet atomic.Int64 // ns
	puts                   [len(putBounds) + 1]atomic.Int64
	now                    func() time.Time

	mu         sync.Mutex
	samples    []counts // every 10 s, of a bit more than the longest window
	dayOf      time.Time
	atMidnight [2]counts                 // of yesterday and of today
	minute     [len(putBounds) + 1]int64 // puts of the last complete minute
	before     [len(putBounds) + 1]int64 // puts until it ended
	complete   bool                      // a minute has been completed
	ticks      int
}

// counts are the counters at one moment.
type counts struct {
	at                 time.Time
	stored, missed     int64
	put, got           int64 // messages sent and given, of the topics that Table.Totals counts
	transferred, found int64 // messages given, gets that found some
}

// RateWindows are those of Rates.
var RateWindows = [...]time.Duration{10 * time.Second, time.Minute, 10 * time.Minute}

const ticksPerMinute = int(time.Minute / (10 * time.Second))

// putBounds are the upper bounds of the classes of durations, which are finer where most of them are. They contain those
// of Java's PutClasses.
var putBounds = [...]time.Duration{
	50 * us, 100 * us, 150 * us, 200 * us, 300 * us, 400 * us, 500 * us, 700 * us, 1 * ms, 1500 * us, 2 * ms, 3 * ms, 4 * ms,
	5 * ms, 7 * ms, 10 * ms, 15 * ms, 20 * ms, 30 * ms, 40 * ms, 50 * ms, 70 * ms, 100 * ms, 150 * ms, 200 * ms, 300 * ms,
	400 * ms, 500 * ms, 700 * ms, 1000 * ms, 1500 * ms, 2000 * ms, 3000 * ms, 4000 * ms, 5000 * ms, 7000 * ms, 10_000 * ms,
}

const (
	us = time.Microsecond
	ms = time.Millisecond
)

// PutClasses are the classes by which Java's tools show durations, and their upper bounds; the last one has none.
var PutClasses = [...]struct {
	Name  string
	below time.Duration
}{
	{"<=0ms", ms},
	{"0~10ms", 10 * ms},
	{"10~50ms", 50 * ms},
	{"50~100ms", 100 * ms},
	{"100~200ms", 200 * ms},
	{"200~500ms", 500 * ms},
	{"500ms~1s", 1000 * ms},
	{"1~2s", 2000 * ms},
	{"2~3s", 3000 * ms},
	{"3~4s", 4000 * ms},
	{"4~5s", 5000 * ms},
	{"5~10s", 10_000 * ms},
	{"10s~", 1<<63 - 1},
}

func newTraffic(now func() time.Time) *Traffic {
	start := now()
	return &Traffic{now: now, samples: []counts{{at: start}}, dayOf: start}
}

// Stored counts a message that became visible, whoever stored it.
func (t *Traffic) Stored() { t.stored.Add(1) }

// Missed counts a request for messages that found none.
func (t *Traffic) Missed() { t.missed.Add(1) }

// PutFailed counts a message that the store refused.
func (t *Traffic) PutFailed() { t.failed.Add(1) }

// Refused is how many messages the store refused.
func (t *Traffic) Refused() int64 { return t.failed.Load() }

// Empty is how many requests for messages found none.
func (t *Traffic) Empty() int64 { return t.missed.Load() }

// PutTook notes how long it took until a producer's message was stored.
func (t *Traffic) PutTook(d time.Duration) {
	class, exact := slices.BinarySearch(putBounds[:], d)
	if exact {
		class++
	}
	t.puts[class].Add(1)
	raise(&t.longestPut, d)
}

// GetTook notes how long reading messages took.
func (t *Traffic) GetTook(d time.Duration) { raise(&t.longestGet, d) }

func raise(longest *atomic.Int64, d time.Duration) {
	for old := longest.Load(); int64(d) > old; old = longest.Load() {
		if longest.CompareAndSwap(old, int64(d)) {
			return
		}
	}
}

func (t *Traffic) counts(now time.Time, put, got, transferred, found int64) counts {
	return counts{
		at: now, stored: t.stored.Load(), missed: t.missed.Load(), put: put, got: got, transferred: transferred, found: found,
	}
}

// sample is called every 10 s.
func (t *Traffic) sample(now time.Time, put, got, transferred, found int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.counts(now, put, got, transferred, found)
	oldest := now.Add(-RateWindows[len(RateWindows)-1])
	for len(t.samples) > 1 && !t.samples[1].at.After(oldest) {
		t.samples = append(t.samples[:0], t.samples[1:]...)
	}
	t.samples = append(t.samples, c)
	if y, m, d := now.Date(); t.dayOf.Day() != d || t.dayOf.Month() != m || t.dayOf.Year() != y {
		t.dayOf, t.atMidnight = now, [2]counts{t.atMidnight[1], c}
	}
	if t.ticks++; t.ticks%ticksPerMinute == 0 {
		for i := range t.puts {
			n := t.puts[i].Load()
			t.minute[i], t.before[i] = n-t.before[i], n
		}
		t.complete = true
	}
}

// Report is the traffic at one moment.
type Report struct {
	// Per second, over RateWindows; over the time since the start where that is shorter.
	Put, Found, Missed, Transferred [len(RateWindows)]float64
	// Messages sent and given, since the start: by the last two midnights.
	PutAtMidnight, GetAtMidnight [2]int64
	Stored, Failed               int64         // messages since the start
	LongestPut, LongestGet       time.Duration // since the start
	// Of the last complete minute, of the first one before that: puts by PutClasses, and percentiles.
	Classes               [len(PutClasses)]int64
	Percent99, Percent999 time.Duration
}

// Report tells what there is to tell.
func (t *Table) Report() Report {
	now := t.now()
	tr := t.Traffic
	put, got := t.Totals()
	c := tr.counts(now, put, got, t.AllGet.Sum(), t.AllGet.times.Load())
	r := Report{
		Stored: c.stored, Failed: tr.failed.Load(),
		LongestPut: time.Duration(tr.longestPut.Load()), LongestGet: time.Duration(tr.longestGet.Load()),
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for w, window := range RateWindows {
		from := tr.since(now.Add(-window))
		seconds := now.Sub(from.at).Seconds()
		if seconds <= 0 {
			continue
		}
		r.Put[w] = float64(c.stored-from.stored) / seconds
		r.Found[w] = float64(c.found-from.found) / seconds
		r.Missed[w] = float64(c.missed-from.missed) / seconds
		r.Transferred[w] = float64(c.transferred-from.transferred) / seconds
	}
	for i, m := range tr.atMidnight {
		r.PutAtMidnight[i], r.GetAtMidnight[i] = m.put, m.got
	}
	r.durations(tr.lastMinute())
	return r
}

// since is the newest sample that is not younger than a time, or the oldest there is.
func (t *Traffic) since(at time.Time) counts {
	for i := len(t.samples) - 1; i > 0; i-- {
		if !t.samples[i].at.After(at) {
			return t.samples[i]
		}
	}
	return t.samples[0]
}

func (t *Traffic) lastMinute() [len(putBounds) + 1]int64 {
	puts := t.minute
	if !t.complete {
		for i := range t.puts {
			puts[i] = t.puts[i].Load()
		}
	}
	return puts
}

func (r *Report) durations(puts [len(putBounds) + 1]int64) {
	var all int64
	class := 0
	for i, n := range puts {
		all += n
		for i < len(putBounds) && putBounds[i] > PutClasses[class].below || i == len(putBounds) && class < len(PutClasses)-1 {
			class++
		}
		r.Classes[class] += n
	}
	r.Percent99, r.Percent999 = percentile(puts, all, 0.99), percentile(puts, all, 0.999)
}

// percentile is the upper bound of the class in which that share of all puts is reached.
func percentile(puts [len(putBounds) + 1]int64, all int64, share float64) time.Duration {
	var sum int64
	for i, n := range puts {
		if sum += n; n > 0 && float64(sum) >= share*float64(all) {
			return putBounds[min(i, len(putBounds)-1)]
		}
	}
	return 0
}

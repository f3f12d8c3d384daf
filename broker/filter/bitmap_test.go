// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package filter

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// world is a store with a table of expressions, as a broker has them, under a clock that a test moves.
type world struct {
	t     *testing.T
	dir   string
	clock atomic.Int64 // ms
	ext   bool
	calc  bool
	table *Table
	store *store.Store
	sent  []string // values of property a, in order, per message
}

func (w *world) open() {
	w.t.Helper()
	var err error
	now := func() time.Time { return time.UnixMilli(w.clock.Load()) }
	log := slog.New(slog.DiscardHandler)
	if w.table, err = NewTable(Options{Dir: w.dir, Now: now, Log: log}); err != nil {
		w.t.Fatal(err)
	}
	calc := w.calc
	table := w.table
	if w.store, err = store.Open(store.Config{
		Dir: w.dir, CommitLogFileSize: 1 << 20, ConsumeQueueFileSize: 4000, ExtEnabled: w.ext, ExtFileSize: 4096,
		IndexDisabled: true, Now: now, Log: log,
		FilterBitMap: func(dst []byte, topic string, properties []byte, storeTime int64) []byte {
			if !calc {
				return dst
			}
			return table.BitMap(dst, topic, properties, storeTime)
		},
	}); err != nil {
		w.t.Fatal(err)
	}
	_, newest, _ := w.store.Timestamps()
	w.table.Opened(newest, w.store.WasStopped())
}

// close stops it; as a crash that forgets what the table wrote since the given copy of its file.
func (w *world) close(crash bool, older []byte) {
	w.t.Helper()
	if err := errors.Join(w.store.Close(), w.table.Close()); err != nil {
		w.t.Fatal(err)
	}
	if !crash {
		return
	}
	err := os.WriteFile(filepath.Join(w.dir, "abort"), nil, 0o644)
	if path := filepath.Join(w.dir, "config", file); older != nil {
		err = errors.Join(err, os.WriteFile(path, older, 0o644))
	} else if e := os.Remove(path); e != nil && !errors.Is(e, os.ErrNotExist) {
		err = errors.Join(err, e)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) send(a int) {
	w.t.Helper()
	host := netip.MustParseAddrPort("127.0.0.1:1")
	value := strconv.Itoa(a)
	m := &message.Message{
		Topic: "T", BornHost: host, StoreHost: host, Body: []byte("x"),
		Properties: []byte("a\x01" + value + "\x02TAGS\x01t" + value + "\x02KEYS\x01" + strconv.Itoa(len(w.sent)) + "\x02"),
	}
	w.store.Put(m, func(r store.PutResult) {
		if r.Status != store.PutOK {
			w.t.Fatal(r.Status)
		}
	})
	w.sent = append(w.sent, value)
}

// check compares what a group gets with what its expression says of the messages.
func (w *world) check(group string) {
	w.t.Helper()
	for w.store.DispatchBehind() > 0 {
		w.store.Dispatch()
	}
	d := w.table.Get("T", group)
	if d == nil {
		return
	}
	var want []string
	for i, a := range w.sent {
		if d.registered.MatchRecord([]byte("a\x01" + a + "\x02")) {
			want = append(want, strconv.Itoa(i))
		}
	}
	if got := pullAll(w.t, w.store, "T", 0, d.Matcher); !slices.Equal(got, want) {
		w.t.Fatalf("%s (%s, born %d) gets\n%q, expected\n%q", group, d.body.Expression, d.body.BornTime, got, want)
	}
	tags, err := Tags("t3")
	if err != nil {
		w.t.Fatal(err)
	}
	want = want[:0]
	for i, a := range w.sent {
		if a == "3" {
			want = append(want, strconv.Itoa(i))
		}
	}
	if got := pullAll(w.t, w.store, "T", 0, tags); !slices.Equal(got, want) {
		w.t.Fatalf("by tag\n%q, expected\n%q", got, want)
	}
}

// Whatever happens, a pull gets exactly the messages that its expression matches: expressions come, change and go, the
// broker stops or crashes, both keys are switched, the clock stands still or jumps ahead.
func TestBitMapsNeverLoseAMessage(t *testing.T) {
	rounds := 8
	if os.Getenv("ROCKETMQ_LONG") != "" {
		rounds = 1000
	}
	for seed := range rounds {
		t.Run(strconv.Itoa(seed), func(t *testing.T) { randomLife(t, rand.New(rand.NewPCG(uint64(seed), 1))) })
	}
}

func randomLife(t *testing.T, r *rand.Rand) {
	w := &world{t: t, dir: t.TempDir(), ext: true, calc: true}
	w.clock.Store(1_700_000_000_000)
	w.open()
	version := int64(0)
	var older []byte
	groups := []string{"G0", "G1", "G2"}
	for range 60 {
		group := groups[r.IntN(len(groups))]
		switch r.IntN(8) {
		case 0:
			version++
			w.table.Register(group, []protocol.SubscriptionData{{
				Topic: "T", SubString: fmt.Sprintf("a BETWEEN %d AND %d", r.IntN(3), 2+r.IntN(4)), ExpressionType: TypeSQL92, SubVersion: version,
			}})
		case 1:
			w.table.Retire("T", group)
		case 2:
			if r.IntN(2) == 0 {
				older, _ = os.ReadFile(filepath.Join(w.dir, "config", file))
			}
			w.check(group)
			w.close(r.IntN(2) == 0, older)
			if r.IntN(3) == 0 {
				w.ext, w.calc = r.IntN(3) > 0, r.IntN(3) > 0
			}
			w.open()
		case 3:
			w.clock.Add(int64(r.IntN(3)))
		default:
			for range r.IntN(40) {
				w.send(r.IntN(6))
			}
		}
		w.check(group)
	}
	for _, group := range groups {
		w.check(group)
	}
	w.close(false, nil)
}

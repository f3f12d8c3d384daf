// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package filter

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
	"rocketmq-go/store/inspect"
)

// testdata/cqext: the messages, the queues and the expressions of a broker of 5.3.3 with enableConsumeQueueExt and
// enableCalcFilterBitMap. Its consumer came between the first message of topic GSql and the second one.
const cqext = "testdata/cqext"

// cqextTable is a table with the expressions of that broker, as they were when it wrote the file.
func cqextTable(t *testing.T) *Table {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join(cqext, file))
	if err == nil {
		err = errors.Join(os.Mkdir(filepath.Join(dir, "config"), 0o755), os.WriteFile(filepath.Join(dir, "config", file), text, 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	table, err := NewTable(Options{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return table
}

// feedCqext stores the messages, as that broker did.
func feedCqext(t *testing.T, table *Table, args ...string) (dir string, o inspect.Options) {
	t.Helper()
	o, err := inspect.ParseOptions(append([]string{
		"enableConsumeQueueExt=true", "mappedFileSizeConsumeQueueExt=65536", "enabledAppendPropCRC=true",
	}, args...))
	if err != nil {
		t.Fatal(err)
	}
	born := table.Get("GSql", "g_sql").body.BornTime
	o.Store.Log = slog.New(slog.DiscardHandler)
	o.Store.FilterBitMap = func(dst []byte, topic string, properties []byte, storeTime int64) []byte {
		if storeTime < born {
			return dst
		}
		return table.BitMap(dst, topic, properties, storeTime)
	}
	f, err := os.Open(filepath.Join(cqext, "inputs.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dir = filepath.Join(t.TempDir(), "store")
	res, err := inspect.Feed(f, dir, o, func(i int, status store.PutStatus) { t.Errorf("record %d: %d", i, status) })
	if err != nil || res.Fed != 39 {
		t.Fatalf("%+v: %v", res, err)
	}
	return dir, o
}

func TestExtensionFilesAreJavas(t *testing.T) {
	dir, _ := feedCqext(t, cqextTable(t))
	packed, err := os.Open(filepath.Join(cqext, "queues.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		want, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files++
		got, err := os.ReadFile(filepath.Join(dir, h.Name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs from Java's: %v", h.Name, err)
		}
	}
	if files != 12 {
		t.Errorf("%d files", files)
	}
}

// counting counts the messages of which the properties are looked at.
type counting struct {
	store.ExtMatcher
	looked int
}

func (c *counting) MatchRecord(properties []byte) bool {
	c.looked++
	return c.ExtMatcher.MatchRecord(properties)
}

// pullAll gives the keys of all messages that pulls of a queue get.
func pullAll(t *testing.T, s *store.Store, topic string, queue int32, m store.Matcher) (keys []string) {
	t.Helper()
	for offset := s.MinOffset(topic, queue); ; {
		b, res := s.Get(nil, store.GetRequest{Topic: topic, QueueID: queue, Offset: offset, MaxCount: 32, Match: m})
		for len(b) > 0 {
			r, err := message.ParseRecord(b)
			if err != nil {
				t.Fatal(err)
			}
			key, _ := message.Property(r.Properties, "KEYS")
			keys = append(keys, string(key))
			b = b[r.Size:]
		}
		if res.Status != store.Found && res.Status != store.NoMatchedMessage {
			return keys
		}
		offset = res.NextBeginOffset
	}
}

// A pull passes over messages by their bit maps; when they cannot tell, the messages are looked at. What it gets is always
// the same.
func TestPullByBitMap(t *testing.T) {
	table := cqextTable(t)
	dir, o := feedCqext(t, table)
	o.Store.Dir = dir
	for _, c := range []struct {
		name   string
		change func(d *Data) *Data
		ext    bool
		looked int
	}{
		{"as Java", func(d *Data) *Data { return d }, true, 6}, // one of them was stored before
		{"born later", func(d *Data) *Data { return d.bornAt(d.body.BornTime + 1e6) }, true, 13},
		{"other bits", func(d *Data) *Data {
			r := *d.registered
			r.size = 128
			return &Data{Matcher: &r, registered: &r}
		}, true, 13},
		{"files are not enabled, and read", func(d *Data) *Data { return d }, false, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			o.Store.ExtEnabled = c.ext
			s, err := store.Open(o.Store)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			d := c.change(table.Get("GSql", "g_sql"))
			m := &counting{ExtMatcher: d.Matcher.(store.ExtMatcher)}
			keys := pullAll(t, s, "GSql", 0, m)
			keys = append(keys, pullAll(t, s, "GSql", 1, m)...)
			if want := []string{"sk2", "sk4", "sk10", "sk5", "sk11"}; !slices.Equal(keys, want) {
				t.Errorf("%q, expected %q", keys, want)
			}
			if m.looked != c.looked {
				t.Errorf("the properties of %d messages were looked at, expected %d", m.looked, c.looked)
			}
			// by tags
			tags, err := Tags("Q1")
			if err != nil {
				t.Fatal(err)
			}
			if keys := pullAll(t, s, "GSql", 1, tags); len(keys) != 6 {
				t.Errorf("by tag: %q", keys)
			}
			if u, ok := s.Unit("GSql", 1, 3); !ok || u.TagsCode != 2560 {
				t.Errorf("%+v %v", u, ok)
			}
		})
	}
}

// The window in which Java loses messages: one is dispatched after an expression was compiled and before it is in the table.
func TestBornBehindWhatWasDispatched(t *testing.T) {
	now := time.UnixMilli(1000)
	table, err := NewTable(Options{Dir: t.TempDir(), Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	sub := protocol.SubscriptionData{Topic: "T", SubString: "a > 1", ExpressionType: TypeSQL92, SubVersion: 1}
	props := []byte("a\x012\x02")
	older := store.ExtUnit{StoreTime: 1500, BitMap: table.BitMap(nil, "T", props, 1500)} // the clock is set back
	table.Register("G1", []protocol.SubscriptionData{sub})
	olderToo := store.ExtUnit{StoreTime: 2500, BitMap: table.BitMap(nil, "T", props, 2500)} // with the bits of G1
	table.Register("G2", []protocol.SubscriptionData{sub})
	none := store.ExtUnit{StoreTime: 2600, BitMap: table.BitMap(nil, "T", []byte("a\x010\x02"), 2600)}
	both := store.ExtUnit{StoreTime: 2600, BitMap: table.BitMap(nil, "T", props, 2600)}
	for _, c := range []struct {
		group string
		unit  store.ExtUnit
		want  bool
	}{
		{"G1", older, true},
		{"G2", older, true},
		{"G1", olderToo, true},
		{"G2", olderToo, true},
		{"G1", none, false},
		{"G2", none, false},
		{"G1", both, true},
		{"G2", both, true},
	} {
		if got := table.Get("T", c.group).Matcher.(store.ExtMatcher).MatchExt(c.unit); got != c.want {
			t.Errorf("%s %+v: %v", c.group, c.unit, got)
		}
	}
	if len(older.BitMap) != 0 || len(both.BitMap) != 14 {
		t.Errorf("%d and %d bytes", len(older.BitMap), len(both.BitMap))
	}
}

// After a crash the bit maps may be those of expressions that never got into the file.
func TestOpened(t *testing.T) {
	for _, clean := range []bool{true, false} {
		table := cqextTable(t)
		before := table.Get("GSql", "g_sql").body
		newest := before.BornTime + 1000
		table.Opened(newest, clean)
		d := table.Get("GSql", "g_sql")
		if kept := d.body.BornTime == before.BornTime; kept != clean || !d.dead() {
			t.Errorf("clean %v: born %d, before %d, dead %v", clean, d.body.BornTime, before.BornTime, d.dead())
		}
		if passed := d.registered.MatchExt(store.ExtUnit{StoreTime: newest, BitMap: make([]byte, 14)}); passed == clean {
			t.Errorf("clean %v: MatchExt is %v", clean, passed)
		}
		if text := string(table.render()); !strings.Contains(text, `"dead":true`) {
			t.Error(text)
		}
	}
}

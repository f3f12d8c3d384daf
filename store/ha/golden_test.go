// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package ha_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"rocketmq-go/store"
	"rocketmq-go/store/ha"
)

// What passed between Java's masters and slaves, once more with one of them being ours, and the store below it.

// frame is one message of a recording.
type frame struct {
	Conn int    `json:"conn"`
	Dir  string `json:"dir"`
	Kind string `json:"kind"`
	Max  int64  `json:"maxOffset"`
	Off  int64  `json:"offset"`
	Size int    `json:"bodySize"`
	Raw  string `json:"raw"`
}

func (f *frame) bytes(t *testing.T) []byte {
	b, err := hex.DecodeString(f.Raw)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// connections reads a recording.
func connections(t *testing.T, name string) map[int][]frame {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	conns := map[int][]frame{}
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var f frame
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			t.Fatal(err)
		}
		if f.Kind != "" {
			conns[f.Conn] = append(conns[f.Conn], f)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return conns
}

// recordings: the connections in which a slave goes on, the one in which it catches up over ends of files, and the one in
// which an empty slave joins.
var recordings = []struct {
	name    string
	goes    []int
	catchUp int
	joins   int

	messages int64
}{
	{"classic-4.9.7-async.ha.jsonl.gz", []int{1, 2, 6}, 2, 7, 85},
	{"classic-5.3.3-sync.ha.jsonl.gz", []int{1, 2, 8}, 2, 9, 79},
}

const fileSize = 64 << 10

func open(t *testing.T, dir string, slave bool) *store.Store {
	t.Helper()
	s, err := store.Open(store.Config{Dir: dir, CommitLogFileSize: fileSize, IndexSlots: 100, IndexUnits: 1000, Slave: slave, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func content(t *testing.T, s *store.Store, from, to int64) []byte {
	t.Helper()
	var all []byte
	for from < to {
		n := min(to-from, fileSize-from%fileSize)
		if !s.ViewLog(from, int(n), func(b []byte) { all = append(all, b...) }) {
			t.Fatalf("the log cannot be read at %d", from)
		}
		from += n
	}
	return all
}

func rules() ha.Rules {
	return ha.Rules{Heartbeat: time.Minute, Housekeeping: time.Minute, Reconnect: time.Millisecond, BatchSize: 32 << 10}
}

// replayToSlave plays the master's part of a connection. It returns the bytes of the log.
func replayToSlave(t *testing.T, s *store.Store, frames []frame) []byte {
	t.Helper()
	here, there := net.Pipe()
	defer there.Close()
	dialed := make(chan struct{}, 1)
	slave := ha.NewSlave(ha.SlaveOptions{
		Log: s, Rules: rules, Logger: slog.New(slog.DiscardHandler),
		Dial: func(ctx context.Context, _ string) (net.Conn, error) {
			select {
			case dialed <- struct{}{}:
				return here, nil
			default: // one connection only
				<-ctx.Done()
				return nil, ctx.Err()
			}
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- slave.Run(ctx) }()
	slave.Follow("master")

	reports := make(chan int64, 1000)
	go func() {
		defer close(reports)
		for {
			var b [8]byte
			if _, err := io.ReadFull(there, b[:]); err != nil {
				return
			}
			reports <- int64(binary.BigEndian.Uint64(b[:]))
		}
	}()
	var want, log []byte
	first, end := int64(-1), int64(0)
	for i := range frames {
		f := &frames[i]
		if f.Dir == "S>M" {
			if first < 0 {
				if first = <-reports; first != f.Max {
					t.Fatalf("the slave begins with %d, Java's with %d", first, f.Max)
				}
			}
			end = f.Max
			continue
		}
		raw := f.bytes(t)
		if _, err := there.Write(raw); err != nil {
			t.Fatal(err)
		}
		want = append(want, raw[12:]...)
	}
	for s.MaxPhyOffset() != end {
		if r, ok := <-reports; !ok || r > end {
			t.Fatalf("the slave reports %d, Java's comes to %d", r, end)
		}
	}
	log = content(t, s, end-int64(len(want)), end)
	if !bytes.Equal(log, want) {
		t.Errorf("another log than the master's")
	}
	cancel()
	<-ended
	return log
}

func TestGoldenSlave(t *testing.T) {
	for _, rec := range recordings {
		t.Run(rec.name, func(t *testing.T) {
			conns := connections(t, rec.name)
			dir := t.TempDir()
			for _, n := range rec.goes { // the slave's process was another one each time
				s := open(t, dir, true)
				replayToSlave(t, s, conns[n])
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			s := open(t, dir, false)
			if behind := s.DispatchBehind(); behind != 0 {
				t.Errorf("%d bytes are not in the queues", behind)
			}
			messages := int64(0)
			for topic, ids := range s.Queues() {
				for _, id := range ids {
					messages += s.MaxOffset(topic, id)
				}
			}
			if messages != rec.messages {
				t.Errorf("%d messages in the queues, want %d", messages, rec.messages)
			}
			late := open(t, t.TempDir(), true)
			replayToSlave(t, late, conns[rec.joins])
			if late.MinPhyOffset()%fileSize != 0 || late.MinPhyOffset() == 0 {
				t.Errorf("the log of a slave that joined late begins at %d", late.MinPhyOffset())
			}
			from, to := late.MinPhyOffset(), late.MaxPhyOffset()
			if !bytes.Equal(content(t, late, from, to), content(t, s, from, to)) {
				t.Error("another log than the slave's that was there before")
			}
		})
	}
}

func TestGoldenMaster(t *testing.T) {
	for _, rec := range recordings {
		t.Run(rec.name, func(t *testing.T) {
			conns := connections(t, rec.name)
			dir := t.TempDir()
			s := open(t, dir, true)
			for _, n := range rec.goes {
				replayToSlave(t, s, conns[n])
				if n == rec.catchUp {
					break
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir, false)
			m := ha.NewMaster(ha.MasterOptions{Log: s, Rules: rules, Acknowledged: func() {}, Logger: slog.New(slog.DiscardHandler)})
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			served := make(chan error)
			go func() { served <- m.Serve(ctx, l) }()
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			frames := 0
			for _, f := range conns[rec.catchUp] {
				switch {
				case f.Dir == "S>M" && frames == 0:
					if _, err := c.Write(f.bytes(t)); err != nil {
						t.Fatal(err)
					}
				case f.Kind == "TRANSFER":
					frames++
					want := f.bytes(t)
					got := make([]byte, len(want))
					if _, err := io.ReadFull(c, got); err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(got, want) {
						t.Errorf("frame %d is %x…, Java's %x…", frames, got[:12], want[:12])
					}
				}
			}
			if frames < 5 {
				t.Errorf("%d frames", frames)
			}
			cancel()
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
	}
}

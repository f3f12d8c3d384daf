// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timer

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/store"
	"rocketmq-go/store/timerlog"
)

// javaStore unpacks the store of a Java 5.3.3 broker: what its timers need, and the log up to their last message.
func javaStore(t *testing.T) (dir string) {
	t.Helper()
	f, err := os.Open("testdata/533-main.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return filepath.Join(dir, "store")
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.Clean(h.Name))
		if h.FileInfo().IsDir() {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err == nil {
			err = os.WriteFile(path, b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func openJava(t *testing.T, dir string, service func() *Service) *store.Store {
	t.Helper()
	s, err := store.Open(store.Config{
		Dir: dir, CommitLogFileSize: 1 << 20, ConsumeQueueFileSize: 40000, IndexDisabled: true,
		Log: slog.New(slog.DiscardHandler), Arrived: func(a store.Arrival) { service().Arrived(a) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What a Java broker delivered is what we would have delivered from the same units, byte for byte.
func TestDeliversAsJava(t *testing.T) {
	dir := javaStore(t)
	s := openJava(t, dir, nil)
	defer s.Close()
	service, err := New(Options{
		Dir: dir, FileSize: 104000, Store: s, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.UnixMilli(1795988060000) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer service.files.Close()
	defer service.counts.writer.Close()
	if !service.recover() {
		t.Fatal("not recovered")
	}
	units := map[string]timerlog.Unit{} // by UNIQ_KEY
	service.files.Count(1795988060000, func(u *timerlog.Unit) {
		raw, _ := s.Record(nil, u.PhyOffset, u.Size)
		if r, err := message.ParseRecord(raw); err == nil {
			id, _ := message.Property(r.Properties, "UNIQ_KEY")
			units[string(id)] = *u
		}
	})
	compared := 0
	for id := range int32(2) {
		for offset := range s.MaxOffset("GTimer", id) {
			q, _ := s.Unit("GTimer", id, offset)
			raw, _ := s.Record(nil, q.PhyOffset, q.Size)
			java, err := message.ParseRecord(raw)
			if err != nil {
				t.Fatal(err)
			}
			unique, _ := message.Property(java.Properties, "UNIQ_KEY")
			dequeued, _ := message.Property(java.Properties, propDequeue)
			now, _ := strconv.ParseInt(string(dequeued), 10, 64)
			u, ok := units[string(unique)]
			if !ok {
				t.Fatalf("no unit for %s", unique)
			}
			it := item{phy: u.PhyOffset, size: u.Size, write: u.WriteTime, magic: u.Magic}
			m, why := service.work.message(service, it)
			if why != "" {
				t.Fatal(why)
			}
			out := service.work.outgoing(&m, it, now)
			ours := message.AppendRecord(nil, out, message.BodyCRC(out.Body), message.Position{
				PhyOffset: java.PhyOffset, QueueOffset: java.QueueOffset, StoreTimestamp: java.StoreTimestamp,
			})
			if string(ours) != string(raw) {
				t.Errorf("%s\n got %q\nwant %q", unique, ours, raw)
			}
			compared++
		}
	}
	if compared != 3 {
		t.Errorf("%d messages compared", compared)
	}
}

// Java's waiting messages are delivered at their times.
func TestTakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := javaStore(t)
		const stopped = 1795988250000 // some seconds after the Java broker
		time.Sleep(time.Until(time.UnixMilli(stopped)))
		var service *Service
		s := openJava(t, dir, func() *Service { return service })
		run := func() (stop func()) {
			var err error
			service, err = New(Options{Dir: dir, FileSize: 104000, Store: s, Put: s.Put, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error)
			go func() { done <- service.Run(ctx) }()
			synctest.Wait()
			return func() {
				cancel()
				if err := errors.Join(<-done, service.Close()); err != nil {
					t.Fatal(err)
				}
			}
		}
		stop := run()
		before := service.Stats()
		if before.Waiting != 2 || before.Skipped != 0 || before.OffsetBehind != 0 || service.counts.sum() != 2 {
			t.Errorf("at the start: %+v", before)
		}
		time.Sleep(2 * time.Hour)
		stop()
		stop = run()
		time.Sleep(48 * time.Hour)
		after := service.Stats()
		stop()
		if after.Delivered != 1 || after.Waiting != 0 || after.Entered != 0 {
			t.Errorf("at the end: %+v", after)
		}
		var got []string
		for id := range int32(2) {
			for offset := int64(2 - id); offset < s.MaxOffset("GTimer", id); offset++ {
				q, _ := s.Unit("GTimer", id, offset)
				raw, _ := s.Record(nil, q.PhyOffset, q.Size)
				r, err := message.ParseRecord(raw)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprintf("%d %d %s", id, r.StoreTimestamp, strings.NewReplacer("\x01", "=", "\x02", " ").Replace(string(r.Properties))))
			}
		}
		want := []string{
			"0 1796074461000 TIMER_OUT_MS=1796074460000 MSG_REGION=DefaultRegion UNIQ_KEY=FD000000000000000000000000000002610C5FFD2B2794D310FD00B0 " +
				"CLUSTER=GoldCluster TIMER_ENQUEUE_MS=1795988060000 TIMER_DELAY_MS=86400000 TAGS=W4 KEYS=wk4 WAIT=true TRACE_ON=true " +
				"TIMER_DEQUEUE_MS=1796074461000 REAL_TOPIC=GTimer REAL_QID=0 ",
			"1 1795991661000 TIMER_OUT_MS=1795991660000 MSG_REGION=DefaultRegion TIMER_DELIVER_MS=1795991660260 " +
				"UNIQ_KEY=FD000000000000000000000000000002610C5FFD2B2794D3106400AF CLUSTER=GoldCluster TIMER_ENQUEUE_MS=1795988060000 TAGS=W3 KEYS=wk3 " +
				"WAIT=true TRACE_ON=true TIMER_DEQUEUE_MS=1795991661000 REAL_TOPIC=GTimer REAL_QID=1 ",
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

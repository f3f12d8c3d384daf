// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"rocketmq-go/admin/client"
	"rocketmq-go/message"
)

// The broker is killed at any moment while messages wait on delay levels and are delivered from them: each that was
// acknowledged is delivered, none before its time.
func TestKilledWhileMessagesWait(t *testing.T) {
	dir := t.TempDir()
	ns := startServer(t, "namesrv", "-c", confFile(t, dir, "ns.conf", "listenPort=0", "bindAddress=127.0.0.1"))
	settings := []string{
		"brokerName=b1", "brokerIP1=127.0.0.1", "bindAddress=127.0.0.1", "storePathRootDir=" + dir + "/store",
		"mappedFileSizeCommitLog=4194304", "mappedFileSizeConsumeQueue=60000", "maxIndexNum=20000", "maxHashSlotNum=5000",
		"messageDelayLevel=1s 2s 3s", "flushDelayOffsetInterval=100", "flushConsumerOffsetInterval=100",
	}
	b := startServer(t, "broker", "-n", ns.at.Namesrv, "-c", confFile(t, dir, "broker.conf", append(settings, "listenPort=0")...))
	confFile(t, dir, "broker.conf", append(settings, "listenPort="+b.at.Broker[strings.LastIndex(b.at.Broker, ":")+1:])...)

	var mu sync.Mutex
	waiting := map[string]bool{} // bodies of acknowledged messages that were not seen yet
	ctx, cancel := context.WithCancel(t.Context())
	var producers sync.WaitGroup
	for p := range 3 {
		producers.Go(func() {
			c := client.New(client.Options{Namesrv: []string{ns.at.Namesrv}, Timeout: time.Second})
			defer c.Close()
			for n := 0; ctx.Err() == nil; n++ {
				m := &client.Message{Topic: "Late", Body: fmt.Appendf(nil, "%d-%d", p, n), DelayLevel: strconv.Itoa(1 + n%3)}
				if _, err := c.Send(ctx, m); err == nil {
					mu.Lock()
					waiting[string(m.Body)] = true
					mu.Unlock()
				}
				time.Sleep(3 * time.Millisecond)
			}
		})
	}
	rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	for range 5 {
		time.Sleep(time.Duration(600+rnd.IntN(900)) * time.Millisecond)
		_ = b.end(syscall.SIGKILL)
		b.start()
	}
	cancel()
	producers.Wait()
	_ = b.end(syscall.SIGKILL)
	b.start()
	sent := len(waiting)
	c := client.New(client.Options{Namesrv: []string{ns.at.Namesrv}, Timeout: 10 * time.Second})
	defer c.Close()
	queues, err := c.Queues(t.Context(), "Late", 4)
	if err != nil {
		t.Fatal(err)
	}
	next := make([]int64, len(queues))
	early, twice := 0, 0
	for begin := time.Now(); len(waiting) > 0 && time.Since(begin) < 2*time.Minute; {
		for i, q := range queues {
			got, err := c.Pull(t.Context(), client.PullRequest{Topic: "Late", Queue: q, Group: "G", Offset: next[i], Max: 32, Suspend: 200 * time.Millisecond})
			if err != nil {
				continue
			}
			next[i] = got.Next
			for j := range got.Messages {
				m := &got.Messages[j]
				level, _ := message.Property(m.Properties, message.PropDelay)
				seconds, _ := strconv.Atoi(string(level))
				if m.StoreTimestamp-m.BornTimestamp < int64(seconds)*1000 {
					early++
				}
				if !waiting[string(m.Body)] {
					twice++ // or it was stored and the answer was lost
				}
				delete(waiting, string(m.Body))
			}
		}
	}
	// U056 (R#3503): offsets that were written before a kill are there after it.
	for i, q := range queues {
		if err := c.Commit(t.Context(), "G", "Late", q, next[i]); err != nil {
			t.Fatal(err)
		}
	}
	offsets := filepath.Join(dir, "store", "config", "consumerOffset.json")
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		text, _ := os.ReadFile(offsets)
		written := 0
		for i, q := range queues {
			if strings.Contains(string(text), fmt.Sprintf("%d:%d", q.ID, next[i])) {
				written++
			}
		}
		if written == len(queues) {
			break
		}
		if time.Since(begin) > time.Minute {
			t.Fatal("the offsets are not written")
		}
	}
	_ = b.end(syscall.SIGKILL)
	b.start()
	for i, q := range queues {
		if offset, ok, err := c.Offset(t.Context(), "G", "Late", q); err != nil || !ok || offset != next[i] {
			t.Errorf("queue %d: offset %d %v %v instead of %d", i, offset, ok, err, next[i])
		}
	}
	t.Logf("%d messages acknowledged, %d lost, %d more came", sent, len(waiting), twice)
	if sent == 0 || len(waiting) > 0 || early > 0 {
		t.Errorf("%d lost, %d early", len(waiting), early)
	}
}

func confFile(t *testing.T, dir, name string, lines ...string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

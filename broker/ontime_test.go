// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/admin/client"
	"rocketmq-go/message"
	"rocketmq-go/rocketmqtest"
)

// fiveLevels are used at once; the delays of the levels 1, 2, 3, 4 and 5 are as many seconds.
const fiveLevels = 5

// lateness sends messages at 200 a second to five delay levels for a while, and tells how long after its time each was
// stored anew, sorted; negative is early.
func lateness(tb testing.TB, mq *rocketmqtest.Cluster, c *client.Client, n int, rest time.Duration) []time.Duration {
	tb.Helper()
	// Several producers: none of them waits for the answer of another one.
	var senders sync.WaitGroup
	for w := range 4 {
		senders.Go(func() {
			for i := w; i < n; i += 4 {
				m := &client.Message{Topic: "T", Body: []byte("x"), DelayLevel: strconv.Itoa(1 + i%fiveLevels), Queue: queue(mq, int32(i%4))}
				if _, err := c.Send(context.Background(), m); err != nil {
					tb.Error(err)
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	senders.Wait()
	time.Sleep(fiveLevels*time.Second + rest)
	var late []time.Duration
	for q := range int32(4) {
		for next := int64(0); ; {
			got, err := c.Pull(context.Background(), client.PullRequest{Topic: "T", Queue: *queue(mq, q), Group: "G", Offset: next, Max: 32})
			if err != nil {
				tb.Fatal(err)
			}
			if len(got.Messages) == 0 {
				break
			}
			for i := range got.Messages {
				m := &got.Messages[i]
				level, _ := message.Property(m.Properties, message.PropDelay)
				seconds, _ := strconv.Atoi(string(level))
				// The client's and the broker's clock are one; the broker's time of the first storing is not told.
				late = append(late, time.Duration(m.StoreTimestamp-m.BornTimestamp)*time.Millisecond-time.Duration(seconds)*time.Second)
			}
			next = got.Next
		}
	}
	slices.Sort(late)
	if len(late) != n {
		tb.Fatalf("%d of %d messages came", len(late), n)
	}
	return late
}

func levelsOfSeconds() rocketmqtest.Option {
	return rocketmqtest.WithConfig("messageDelayLevel", "1s 2s 3s 4s 5s")
}

// At 200 messages a second on five delay levels at once none comes early, and 99 of 100 are at most 20 ms late: in
// virtual time, where only waiting counts. BenchmarkDelay measures it in real time.
func TestDelayIsOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mq := rocketmqtest.Start(t, rocketmqtest.WithPipe(), levelsOfSeconds())
		late := lateness(t, mq, goodClient(t, mq), 2000, time.Second)
		p99 := late[len(late)*99/100]
		t.Logf("earliest %v, median %v, p99 %v, latest %v", late[0], late[len(late)/2], p99, late[len(late)-1])
		if late[0] < 0 || p99 > 20*time.Millisecond {
			t.Error("that is not in time")
		}
	})
}

// BenchmarkDelay measures, in real time, how late delayed messages are at 200 a second on five levels.
func BenchmarkDelay(b *testing.B) {
	mq := rocketmqtest.Start(b, levelsOfSeconds())
	late := lateness(b, mq, socketClient(b, mq), 2000, 2*time.Second)
	for name, part := range map[string]int{"p50": 500, "p99": 990, "p99.9": 999} {
		b.ReportMetric(late[len(late)*part/1000].Seconds()*1000, name+"-ms-late")
	}
	b.ReportMetric(0, "ns/op")
}

// What waits costs nothing while it waits: an hour with 100,000 waiting messages, half of them on a delay level, half with
// a time of their own, takes about the CPU time that it takes with a hundred of them.
func TestWaitingCostsNothing(t *testing.T) {
	many := 100_000
	if testing.Short() {
		many = 10_000
	}
	few := cpuOfAnHour(t, 100)
	all := cpuOfAnHour(t, many)
	t.Logf("an hour with 100 waiting messages: %v of CPU; with %d: %v", few, many, all)
	if all > 3*few+300*time.Millisecond {
		t.Error("messages that wait cost CPU")
	}
}

// cpuOfAnHour is the CPU time that a broker takes for an hour in which n messages wait.
func cpuOfAnHour(t *testing.T, n int) (took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		mq := rocketmqtest.Start(t, rocketmqtest.WithPipe(), rocketmqtest.WithDir(memoryDir(t)))
		c := goodClient(t, mq)
		var senders sync.WaitGroup
		for w := range 8 {
			senders.Go(func() {
				for i := w; i < n; i += 8 {
					m := &client.Message{Topic: "T", Body: []byte("x"), Queue: queue(mq, 0)}
					if i%2 == 0 {
						m.DelayLevel = "18" // two hours
					} else {
						m.Properties = map[string]string{"TIMER_DELAY_SEC": fmt.Sprint(7200 + i%3600)}
					}
					if _, err := c.Send(context.Background(), m); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		senders.Wait()
		time.Sleep(time.Minute) // what came is entered and flushed
		synctest.Wait()
		before := cpuTime(t)
		time.Sleep(time.Hour)
		synctest.Wait()
		took = cpuTime(t) - before
	})
	return took
}

func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package stats

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

func isSystem(topic string) bool { return strings.HasPrefix(topic, "SYS") }

// running starts a table whose samples are taken in the bubble's time.
func running(t *testing.T) *Table {
	table := New(time.Now, isSystem, nil)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- table.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return table
}

// The windows are those of Java: the first sample brings a zero one period before it, so that what was counted is seen
// with the first sample; later a minute has seven samples.
func TestWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := running(t)
		time.Sleep(time.Second)
		table.Put("T", Normal, 3, 300)
		minute := func() (int64, float64, float64) {
			d := table.Find(TopicPutNums, "T", "C").Data().StatsMinute
			return d.Sum, d.Tps, d.Avgpt
		}
		if sum, _, _ := minute(); sum != 0 {
			t.Errorf("before the first sample: %d", sum)
		}
		time.Sleep(10 * time.Second)
		if sum, tps, avg := minute(); sum != 3 || tps != 0.3 || avg != 3 {
			t.Errorf("after 10 s: sum %d, tps %g, avgpt %g", sum, tps, avg)
		}
		time.Sleep(30 * time.Second)
		table.Put("T", Normal, 1, 100)
		time.Sleep(20 * time.Second)
		if sum, _, avg := minute(); sum != 4 || avg != 2 {
			t.Errorf("after a minute: sum %d, avgpt %g", sum, avg)
		}
		time.Sleep(time.Minute)
		if sum, _, _ := minute(); sum != 0 {
			t.Errorf("a minute later: %d", sum)
		}
		time.Sleep(10 * time.Minute)
		if d := table.Find(TopicPutSize, "T", "C").Data(); d.StatsHour.Sum != 400 || d.StatsDay.Sum != 0 {
			t.Errorf("hour %d, day %d", d.StatsHour.Sum, d.StatsDay.Sum)
		}
		time.Sleep(time.Hour)
		if d := table.Find(TopicPutSize, "T", "C").Data(); d.StatsDay.Sum != 400 {
			t.Errorf("day %d", d.StatsDay.Sum)
		}
	})
}

func TestFind(t *testing.T) {
	table := New(time.Now, isSystem, nil)
	table.Put("T", Normal, 2, 20)
	table.Put("SYST", Normal, 1, 10)
	table.Get("G", "T", 3, 30)
	table.SendBack("G", "T")
	table.Acks("G", "T", 4)
	table.Checkpoints("G", "T", 1)
	for _, c := range []struct {
		name, key string
		sum       int64
	}{
		{TopicPutNums, "T", 2},
		{TopicPutSize, "SYST", 10},
		{GroupGetNums, "T@G", 3},
		{GroupGetSize, "T@G", 30},
		{SendBackNums, "T@G", 1},
		{GroupAck, "T@G", 4},
		{GroupCK, "T@G", 1},
		{BrokerAck, "C", 4},
		{BrokerCK, "C", 1},
		{BrokerPut, "C", 3},
		{BrokerPutUser, "C", 2},
		{BrokerGet, "C", 3},
		{BrokerGetUser, "C", 3},
	} {
		if i := table.Find(c.name, c.key, "C"); i == nil || i.Sum() != c.sum {
			t.Errorf("%s %s: %v, want %d", c.name, c.key, i, c.sum)
		}
	}
	for _, c := range [][2]string{{TopicPutNums, "U"}, {TopicPutNums, "C"}, {GroupGetNums, "T"}, {BrokerPut, "T"}, {"NO", "T"}, {"", ""}} {
		if table.Find(c[0], c[1], "C") != nil {
			t.Errorf("%s %s is there", c[0], c[1])
		}
	}
	table.RemoveGroup("G")
	if table.Find(GroupGetNums, "T@G", "C") != nil || table.Find(TopicPutNums, "T", "C") == nil {
		t.Error("RemoveGroup")
	}
	table.Get("G", "T", 1, 1)
	table.RemoveTopic("T")
	if table.Find(GroupGetNums, "T@G", "C") != nil || table.Find(TopicPutNums, "T", "C") != nil {
		t.Error("RemoveTopic")
	}
}

// Names may be views into a buffer that is used again.
func TestNamesAreKept(t *testing.T) {
	table := New(time.Now, isSystem, nil)
	buffer := []byte("T@G")
	topic, group := unsafe.String(&buffer[0], 1), unsafe.String(&buffer[2], 1)
	table.Get(group, topic, 1, 1)
	copy(buffer, "xxx")
	if table.Find(GroupGetNums, "T@G", "C") == nil {
		t.Error("the name changed with its buffer")
	}
}

func TestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := running(t)
		for range 700 {
			time.Sleep(time.Second)
			table.Put("T", Normal, 2, 20)
			table.Traffic.Stored()
			table.Traffic.Stored()
			table.Get("G", "T", 4, 40)
			table.Traffic.Missed()
		}
		r := table.Report()
		for w, window := range RateWindows {
			for _, c := range []struct {
				what      string
				got, want float64
			}{{"put", r.Put[w], 2}, {"found", r.Found[w], 1}, {"missed", r.Missed[w], 1}, {"transferred", r.Transferred[w], 4}} {
				if c.got < 0.9*c.want || c.got > 1.1*c.want {
					t.Errorf("%s over %s: %g a second, want %g", c.what, window, c.got, c.want)
				}
			}
		}
		time.Sleep(70 * time.Second)
		r = table.Report()
		if r.Put[0] != 0 || r.Put[1] != 0 || r.Put[2] == 0 {
			t.Errorf("a minute later: %v", r.Put)
		}
		if r.Stored != 1400 {
			t.Errorf("stored %d", r.Stored)
		}
	})
}

func TestMidnight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := running(t)
		time.Sleep(time.Hour) // virtual time starts at midnight, when what happens at that moment may count for either day
		day := func(n int) {
			table.Put("T", Normal, n, 1)
			table.Get("G", "T", 10*n, 1)
			table.Put("SYS", Normal, 100, 1)
			table.Get("G", "SYS", 100, 1)
			time.Sleep(24 * time.Hour)
		}
		day(1)
		day(2)
		day(4)
		time.Sleep(time.Minute)
		r := table.Report()
		if r.PutAtMidnight != [2]int64{3, 7} || r.GetAtMidnight != [2]int64{30, 70} {
			t.Errorf("put %v, get %v", r.PutAtMidnight, r.GetAtMidnight)
		}
	})
}

func TestTotals(t *testing.T) {
	for _, as49 := range []bool{false, true} {
		table := New(time.Now, isSystem, nil)
		table.As49 = as49
		for range 311 { // those below, and some that nobody sent: delayed messages when they are delivered
			table.Traffic.Stored()
		}
		table.Put("T", Normal, 7, 1)
		table.Get("G", "T", 70, 1)
		table.Put("SYS", Normal, 300, 1)
		table.Get("G", "SYS", 300, 1)
		want := [2]int64{7, 70}
		if as49 {
			want = [2]int64{311, 370}
		}
		if put, got := table.Totals(); put != want[0] || got != want[1] {
			t.Errorf("as 4.9 %v: put %d, got %d, expected %v", as49, put, got, want)
		}
		table.Committed("T", 1, time.Second)
		if n := table.Find(TopicPutNums, "T", "").Sum(); n != 7 && as49 || n != 8 && !as49 {
			t.Errorf("as 4.9 %v: a commit makes it %d puts", as49, n)
		}
	}
}

func TestDurations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := running(t)
		synctest.Wait()
		for i := range 1000 {
			d := 120 * time.Microsecond
			switch {
			case i < 2:
				d = 12 * time.Second
			case i < 15:
				d = 9 * time.Millisecond
			}
			table.Traffic.PutTook(d)
		}
		table.Traffic.PutTook(time.Millisecond)
		table.Traffic.GetTook(3 * time.Millisecond)
		table.Traffic.PutFailed()
		check := func() {
			t.Helper()
			r := table.Report()
			if r.Classes != [len(PutClasses)]int64{0: 985, 1: 14, 12: 2} {
				t.Errorf("classes %v", r.Classes)
			}
			if r.Percent99 != 10*time.Millisecond || r.Percent999 != 10*time.Second {
				t.Errorf("percentiles %s, %s", r.Percent99, r.Percent999)
			}
			if r.LongestPut != 12*time.Second || r.LongestGet != 3*time.Millisecond || r.Failed != 1 {
				t.Errorf("longest %s, %s, failed %d", r.LongestPut, r.LongestGet, r.Failed)
			}
		}
		check()
		time.Sleep(70 * time.Second)
		check()
		time.Sleep(time.Minute)
		if r := table.Report(); r.Classes != [len(PutClasses)]int64{} || r.Percent99 != 0 {
			t.Errorf("of a minute without puts: %v, %s", r.Classes, r.Percent99)
		}
	})
}

func BenchmarkPut(b *testing.B) {
	table := New(time.Now, isSystem, nil)
	for b.Loop() {
		table.Put("T", Normal, 1, 1024)
		table.Traffic.Stored()
		table.Traffic.PutTook(130 * time.Microsecond)
	}
}

// Light queues and light groups are found under one name, unless they are to be counted one by one; what is counted then
// is as a Java broker of 5.3.3 answers. The broker's own items have no mean there.
func TestLightQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := running(t)
		time.Sleep(time.Second) // the first sample is behind
		merged := true
		table.merged = func() bool { return merged }
		table.Get("%LMQ%g", "%LMQ%a", 5, 1740)
		table.Get("%LMQ%g", "%LMQ%b", 5, 1740)
		table.Get("plain", "%LMQ%a", 5, 1740)
		table.Get("%LMQ%g", "T", 10, 3160)
		table.SendBack("%LMQ%g", "T")
		time.Sleep(10 * time.Second)
		expect := func(want map[string]int64) {
			t.Helper()
			for key, sum := range want {
				name, key, _ := strings.Cut(key, " ")
				item := table.Find(name, key, "C")
				if (item == nil) != (sum == 0) || item != nil && item.Data().StatsMinute.Sum != sum {
					t.Errorf("merged %t: %s %s: %+v, want %d", merged, name, key, item, sum)
				}
			}
		}
		expect(map[string]int64{
			"GROUP_GET_NUMS %LMQ%@%LMQ%": 10, "GROUP_GET_SIZE %LMQ%@%LMQ%": 3480, "GROUP_GET_NUMS %LMQ%@plain": 5,
			"GROUP_GET_NUMS T@%LMQ%": 10, "SNDBCK_PUT_NUMS T@%LMQ%": 1, "GROUP_GET_NUMS %LMQ%a@%LMQ%g": 0, "GROUP_GET_NUMS T@%LMQ%g": 0,
			"BROKER_GET_NUMS C": 25,
		})
		if tps := table.GroupGet("%LMQ%g", "%LMQ%b"); tps != 1 {
			t.Errorf("a light group reads %g messages a second, want those of all", tps)
		}
		if d := table.Find(BrokerGet, "C", "C").Data().StatsMinute; d.Avgpt != 0 {
			t.Errorf("mean of the broker's own: %g", d.Avgpt)
		}
		merged = false
		expect(map[string]int64{
			"GROUP_GET_NUMS %LMQ%a@%LMQ%g": 5, "GROUP_GET_NUMS %LMQ%b@%LMQ%g": 5, "GROUP_GET_NUMS %LMQ%a@plain": 5,
			"GROUP_GET_NUMS T@%LMQ%g": 10, "GROUP_GET_NUMS %LMQ%@%LMQ%": 0,
		})
		if tps := table.GroupGet("%LMQ%g", "%LMQ%b"); tps != 0.5 {
			t.Errorf("a light group reads %g messages a second", tps)
		}
	})
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"rocketmq-go/broker/put"
	"rocketmq-go/broker/timer"
	"rocketmq-go/config"
)

// openTimers makes the timer service, which 4.9 does not have. timerWheelEnable=false only refuses new messages: what
// waits is delivered all the same.
func (b *Broker) openTimers() (err error) {
	if !b.profile.Timers {
		return nil
	}
	s := &b.values().Store
	b.timers, err = timer.New(timer.Options{
		Dir: s.StorePathRootDir, FileSize: int64(s.MappedFileSizeTimerLog), Tick: config.Millis(s.TimerPrecisionMs),
		Window: s.TimerRollWindowSlot, FlushTime: config.Millis(s.TimerFlushIntervalMs),
		SkipUnknown: func() bool { return b.values().Store.TimerSkipUnknownError },
		StopEnter:   func() bool { return b.values().Store.TimerStopEnqueue },
		Store:       b.store,
		Put:         b.serviceStore().Put,
		Now:         b.o.Now, Log: b.log,
	})
	return err
}

// putTimers is what the put pipeline sees of them.
func (b *Broker) putTimers() put.Timers {
	if b.timers == nil {
		return nil
	}
	return b.timers
}

// runTimers delivers, where there are timers.
func (b *Broker) runTimers(ctx context.Context) error {
	if b.timers == nil {
		return nil
	}
	return b.timers.Run(ctx)
}

// timerRuntime adds what code 28 tells of timers.
func (b *Broker) timerRuntime(t map[string]string) {
	if b.timers == nil {
		return
	}
	s := b.timers.Stats()
	t["timerReadBehind"] = strconv.FormatInt(int64(s.ReadBehind/time.Second), 10)
	t["timerOffsetBehind"] = strconv.FormatInt(s.OffsetBehind, 10)
	t["timerCongestNum"] = strconv.FormatInt(s.Waiting, 10)
	t["timerEnqueueTps"] = fmt.Sprintf("%.1f", s.EnteredPerSecond)
	t["timerDequeueTps"] = fmt.Sprintf("%.1f", s.DeliveredPerSecond)
}

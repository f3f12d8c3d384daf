// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package controller

import (
	"math"
	"sync"
	"time"

	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// defaultTimeout is how long a broker that does not say may be silent.
const defaultTimeout = 10 * time.Second

// brokerKey is who sends heartbeats.
type brokerKey struct {
	cluster, name string
	id            int64
}

// beat is what a broker said last.
type beat struct {
	addr      string
	at        time.Time
	timeout   time.Duration
	channel   remoting.Channel
	epoch     int32 // of its log
	maxOffset int64
	priority  int32 // the smaller the better
}

// liveness knows which brokers are alive. Brokers send their heartbeats to all controllers, so each has a table of its own.
type liveness struct {
	now func() time.Time

	mu    sync.Mutex
	beats map[brokerKey]*beat
}

func newLiveness(now func() time.Time) *liveness {
	return &liveness{now: now, beats: map[brokerKey]*beat{}}
}

// beat takes a heartbeat; first tells that the broker was not there.
func (l *liveness) beat(h *protocol.BrokerHeartbeatRequestHeader, ch remoting.Channel) (first bool) {
	timeout := time.Duration(h.HeartbeatTimeoutMills.V) * time.Millisecond
	if !h.HeartbeatTimeoutMills.Set || timeout <= 0 {
		timeout = defaultTimeout
	}
	priority := int32(math.MaxInt32)
	if h.ElectionPriority.Set {
		priority = h.ElectionPriority.V
	}
	key := brokerKey{h.ClusterName.V, h.BrokerName.V, h.BrokerID.V}
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.beats[key]
	if first = b == nil; first {
		b = &beat{epoch: -1, maxOffset: -1}
		l.beats[key] = b
	}
	b.addr, b.at, b.timeout, b.channel, b.priority = h.BrokerAddr.V, l.now(), timeout, ch, priority
	if epoch, end := h.Epoch.Or(-1), h.MaxOffset.Or(-1); epoch > b.epoch || epoch == b.epoch && end > b.maxOffset {
		b.epoch, b.maxOffset = epoch, end
	}
	return first
}

// get is the last heartbeat of a broker that is alive.
func (l *liveness) get(cluster, name string, id int64) (beat, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.beats[brokerKey{cluster, name, id}]
	if b == nil || l.silent(b) {
		return beat{}, false
	}
	return *b, true
}

func (l *liveness) alive(cluster, name string, id int64) bool {
	_, ok := l.get(cluster, name, id)
	return ok
}

func (l *liveness) silent(b *beat) bool { return l.now().Sub(b.at) > b.timeout }

// closed forgets the brokers whose connection has ended.
func (l *liveness) closed(ch remoting.Channel) (gone []brokerKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, b := range l.beats {
		if b.channel == ch {
			delete(l.beats, key)
			gone = append(gone, key)
		}
	}
	return gone
}

// expire forgets the brokers that were silent for too long, and gives their connections.
func (l *liveness) expire() (gone []brokerKey, channels []remoting.Channel) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, b := range l.beats {
		if l.silent(b) {
			delete(l.beats, key)
			gone, channels = append(gone, key), append(channels, b.channel)
		}
	}
	return gone, channels
}

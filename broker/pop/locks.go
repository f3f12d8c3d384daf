// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package pop

import "sync"

type queueKey struct {
	topic, group string
	queue        int32
}

// locks are the queues that are being popped for a group. Nobody waits for one: a pop takes from other queues meanwhile.
type locks struct {
	mu   sync.Mutex
	held map[queueKey]bool // true: somebody wanted it too
}

func (l *locks) take(key queueKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.held[key]; ok {
		l.held[key] = true
		return false
	}
	l.held[key] = false
	return true
}

// release tells whether somebody wanted the lock meanwhile.
func (l *locks) release(key queueKey) (wanted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	wanted = l.held[key]
	delete(l.held, key)
	return wanted
}

// want tells whether a lock is taken; then release tells that somebody wanted it.
func (l *locks) want(key queueKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.held[key]
	if ok {
		l.held[key] = true
	}
	return ok
}

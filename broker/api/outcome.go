// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"sync/atomic"

	"rocketmq-go/remoting"
	"rocketmq-go/store"
)

// outcome joins a handler that has given a message to the store and the store's callback, which may come before the
// store's Put returns, later from another goroutine, or in between.
type outcome struct {
	state     atomic.Int32
	responder remoting.Responder
	result    store.PutResult
}

const (
	pending  = iota // neither has come so far
	stored          // the result is there
	detached        // the handler has returned: the callback answers
)

// put is the store's callback; it tells whether the caller has to answer, with the responder.
func (o *outcome) put(r store.PutResult) (answer bool) {
	o.result = r
	return !o.state.CompareAndSwap(pending, stored)
}

// ready is for the handler, behind Put: the result is there, and the request is answered by the handler.
func (o *outcome) ready() bool { return o.state.Load() == stored }

// detach lets the handler return without an answer. What the answer needs must be the caller's own by now. If it tells
// true the result came meanwhile and the caller has to answer, with the responder.
func (o *outcome) detach(r *remoting.Request) (answer bool) {
	o.responder = r.Detach()
	return !o.state.CompareAndSwap(pending, detached)
}

func (o *outcome) reset() {
	o.responder = nil
	o.result = store.PutResult{}
	o.state.Store(pending)
}

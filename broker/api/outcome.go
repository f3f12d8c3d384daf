// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"sync/atomic"

	"rocketmq-go/remoting"
	"rocketmq-go/store"
)

// outcome joins a handler that has given a message to the store and the store's callback.
type outcome struct {
	join
	result store.PutResult
}

// put is the store's callback; it tells whether the caller has to answer, with the responder.
func (o *outcome) put(r store.PutResult) (answer bool) {
	o.result = r
	return o.came()
}

func (o *outcome) reset() {
	o.responder = nil
	o.result = store.PutResult{}
	o.state.Store(pending)
}

// join joins a handler and a callback, which may come before the call that it belongs to returns, later from another
// goroutine, or in between.
type join struct {
	state     atomic.Int32
	responder remoting.Responder
}

const (
	pending  = iota // neither has come so far
	stored          // the result is there
	detached        // the handler has returned: the callback answers
)

// came is for the callback, behind what it keeps of the result; it tells whether the caller has to answer, with the responder.
func (j *join) came() (answer bool) { return !j.state.CompareAndSwap(pending, stored) }

// ready is for the handler, behind the call: the result is there, and the request is answered by the handler.
func (j *join) ready() bool { return j.state.Load() == stored }

// detach lets the handler return without an answer. What the answer needs must be the caller's own by now. If it tells
// true the result came meanwhile and the caller has to answer, with the responder.
func (j *join) detach(r *remoting.Request) (answer bool) {
	j.responder = r.Detach()
	return !j.state.CompareAndSwap(pending, detached)
}

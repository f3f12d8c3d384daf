// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package observe counts the requests that a server answers, and how long that takes.
package observe

import (
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/telemetry/metric"
)

// Requests counts answers and how long they took. The zero value is empty; counting what was seen before allocates
// nothing and takes no lock.
type Requests struct {
	seen atomic.Pointer[map[rpcKey]*metric.Histogram]
	mu   sync.Mutex // held by those who add to seen
}

type rpcKey struct {
	request, response int32
	held, oneway      bool
}

// maxKeys bounds what strange codes can cost; what is new beyond it is not counted.
const maxKeys = 2000

var rpcBounds = metric.NewBounds(float64(time.Millisecond), 1, 3, 5, 7, 10, 100, 1000, 2000, 3000)

// Observe counts one answer; see remoting.ServerConfig.
func (r *Requests) Observe(o remoting.Observation) {
	key := rpcKey{o.Request, o.Response, o.Held, o.Oneway}
	if seen := r.seen.Load(); seen != nil {
		if h := (*seen)[key]; h != nil {
			h.Observe(int64(o.Took))
			return
		}
	}
	if h := r.add(key); h != nil {
		h.Observe(int64(o.Took))
	}
}

func (r *Requests) add(key rpcKey) *metric.Histogram {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := map[rpcKey]*metric.Histogram{}
	if seen := r.seen.Load(); seen != nil {
		if h := (*seen)[key]; h != nil || len(*seen) >= maxKeys {
			return h
		}
		next = maps.Clone(*seen)
	}
	h := rpcBounds.New()
	next[key] = h
	r.seen.Store(&next)
	return h
}

// Latency is the name under which Java's broker tells of it.
const Latency = "rocketmq_rpc_latency_milliseconds"

// Collect writes a histogram for each kind of answer under a name.
func (r *Requests) Collect(w *metric.Writer, as string) {
	seen := r.seen.Load()
	if seen == nil {
		return
	}
	f := w.Histogram(as, "How long requests took until they were answered.")
	for key, h := range *seen {
		result := "success"
		if key.oneway {
			result = "oneway"
		}
		f.Histogram(h, "protocol_type", "remoting", "request_code", name(protocol.RequestName, key.request),
			"response_code", name(protocol.ResponseName, key.response),
			"is_long_polling", strconv.FormatBool(key.held), "result", result)
	}
}

// name is a code's name as Java's metrics have it, or its number.
func name(of func(int32) string, code int32) string {
	if n := of(code); n != "" {
		return strings.ToLower(n)
	}
	return strconv.Itoa(int(code))
}

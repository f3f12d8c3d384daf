// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package remoting moves RocketMQ remoting commands over connections: frames, server, client, TLS, and an in-memory
// connection for tests and for servers that live in one process.
package remoting

import (
	"context"
	"net/netip"
	"time"

	"rocketmq-go/remoting/protocol"
)

// Dispatcher handles the requests of a server: broker, name server and others implement it with their route table.
// Dispatch is called on the connection's reading goroutine and must not block: it either answers with Request.Reply
// before it returns, or takes the request over with Request.Detach and answers later from any goroutine.
type Dispatcher interface {
	Dispatch(r *Request)
}

// Gatherer is a Dispatcher that wants to do something once for all requests that a connection read together: Gathered is
// called on the reading goroutine when they were dispatched, before their replies are written. It must not block.
type Gatherer interface {
	Dispatcher
	Gathered()
}

// ConnListener learns of connections. Both are called once per channel; Closed after the last request was dispatched.
type ConnListener interface {
	Connected(ch Channel)
	Closed(ch Channel)
}

// Request is one request on its connection. It and everything in Command are valid until Dispatch returns.
type Request struct {
	protocol.Command
	Channel Channel
	// Fast tells that it came in on the fast ("VIP") port.
	Fast bool

	responder Responder
	done      bool
	start     time.Duration // when it was read, see endpoint.elapsed; only with ServerConfig.Observe
}

// Reply answers the request: the response is encoded into the connection's write buffer at once, so Body and all
// strings may be reused when Reply returns. A oneway request is never answered. The second reply is ignored.
func (r *Request) Reply(resp *protocol.Response) {
	if r.done {
		return
	}
	r.done = true
	r.responder.Respond(resp)
}

// Detach takes the request out of Dispatch: the returned Responder answers later, once, from any goroutine.
// It stays valid when the connection closes (the answer is then dropped). Strings and Body of the request do not.
func (r *Request) Detach() Responder {
	r.done = true
	return r.responder.Keep(r.IsOneway())
}

// Hold is Detach for a request that waits for something to happen, such as a pull that found nothing, rather than for
// work being done: it does not count towards the connection's bound of requests in flight, and a server that shuts down
// does not wait for it. Whoever holds requests must bound them.
func (r *Request) Hold() Responder {
	r.done = true
	return r.responder.(holder).hold(r.IsOneway())
}

type holder interface{ hold(oneway bool) Responder }

// Responder answers one detached request.
type Responder interface {
	// Respond answers; nothing is sent for a oneway request. Further calls do nothing.
	Respond(resp *protocol.Response)
	// Keep makes a Responder that outlives Dispatch. Only Request.Detach calls it.
	Keep(oneway bool) Responder
}

// Channel is one open connection as the services see it: identity, addresses, and the way to send to the peer.
type Channel interface {
	// RemoteAddr is the peer: the socket's address, or what a PROXY preamble named.
	RemoteAddr() netip.AddrPort
	// SocketAddr is the socket's address, which nobody can invent.
	SocketAddr() netip.AddrPort
	// LocalAddr is the address the peer connected to.
	LocalAddr() netip.AddrPort
	// Oneway sends a request that is not answered. It does not block; a full write queue drops the connection.
	Oneway(c *protocol.Command) error
	// Call sends a request and waits for the answer (cloned, owned by the caller).
	Call(ctx context.Context, c *protocol.Command) (*protocol.Command, error)
	// Close closes the connection; pending answers are dropped.
	Close()
	// Done is closed when the connection is gone.
	Done() <-chan struct{}
}

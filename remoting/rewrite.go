// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package remoting

import "rocketmq-go/remoting/protocol"

// Rewritten is the request with another command: whoever handles it, now or later, answers r with what change makes of the
// response. Whoever calls it must not answer r.
func (r *Request) Rewritten(cmd protocol.Command, change func(*protocol.Response)) *Request {
	r.done = true
	return &Request{Command: cmd, Channel: r.Channel, Fast: r.Fast, start: r.start, responder: changing{r.responder, change}}
}

// changing is a responder that changes what it answers.
type changing struct {
	Responder
	change func(*protocol.Response)
}

func (c changing) Respond(resp *protocol.Response) {
	c.change(resp)
	c.Responder.Respond(resp)
}

func (c changing) Keep(oneway bool) Responder { return changing{c.Responder.Keep(oneway), c.change} }

func (c changing) hold(oneway bool) Responder {
	return changing{c.Responder.(holder).hold(oneway), c.change}
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package replay

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"
)

// Runner plays the steps of recordings against servers. A recording starts with a Runner of its own.
type Runner struct {
	dial  func(to string) (net.Conn, error)
	conns map[connKey]*Conn
	env   env
	async map[string]int32
	last  *Frame
}

type connKey struct{ to, name string }

// NewRunner makes a Runner; dial connects to the server with a step's name ("broker", "namesrv").
func NewRunner(dial func(to string) (net.Conn, error)) *Runner {
	return &Runner{
		dial: dial, conns: make(map[connKey]*Conn), env: env{values: make(map[string]any)}, async: make(map[string]int32),
	}
}

// Close closes all connections.
func (r *Runner) Close() {
	for _, c := range r.conns {
		c.Close()
	}
	clear(r.conns)
}

// Last is the latest answer as it was received; nil if there was none.
func (r *Runner) Last() *Frame { return r.last }

const (
	defaultTimeout = 5 * time.Second
	answerTimeout  = 3 * time.Second
	// closeWait gives the server time to notice the end of a connection.
	closeWait = 300 * time.Millisecond
)

// Do plays one step and returns what came, in the form of Step.Expect.
func (r *Runner) Do(st *Step) (map[string]any, error) {
	time.Sleep(time.Duration(st.WaitMs) * time.Millisecond)
	r.last, r.env.err = nil, nil
	key := connKey{cmp.Or(st.To, "broker"), cmp.Or(st.Conn, "c")}
	if st.Op == "close" {
		if c := r.conns[key]; c != nil {
			c.Close()
			delete(r.conns, key)
		}
		time.Sleep(closeWait)
		return map[string]any{}, nil
	}
	for name, id := range st.Derive {
		r.env.values[name] = r.env.offsetOf(id)
	}
	c, err := r.conn(key)
	if err != nil {
		return nil, err
	}
	switch st.Op {
	case "":
		return r.call(c, st)
	case "await":
		return r.wait(c, st, r.async[st.Ref])
	case "pushed":
		return r.pushed(c, st), nil
	case "answer":
		return r.answer(c, st)
	}
	return nil, fmt.Errorf("unknown op %q", st.Op)
}

func (r *Runner) conn(key connKey) (*Conn, error) {
	c := r.conns[key]
	if c != nil && !c.isClosed() {
		return c, nil
	}
	if c != nil {
		c.Close()
	}
	nc, err := r.dial(key.to)
	if err != nil {
		return nil, err
	}
	c = NewConn(nc)
	r.conns[key] = c
	return c, nil
}

func (st *Step) timeout(otherwise time.Duration) time.Duration {
	if st.TimeoutMs == nil {
		return otherwise
	}
	return time.Duration(*st.TimeoutMs) * time.Millisecond
}

func (r *Runner) call(c *Conn, st *Step) (map[string]any, error) {
	f, err := st.request(&r.env)
	if err != nil {
		return nil, err
	}
	opaque, err := c.Write(f)
	if err != nil {
		return nil, err
	}
	if st.Async {
		r.async[st.ID] = opaque
		return map[string]any{}, nil
	}
	return r.wait(c, st, opaque)
}

func (r *Runner) wait(c *Conn, st *Step, opaque int32) (map[string]any, error) {
	f, err := c.Wait(opaque, st.timeout(defaultTimeout))
	r.last = f
	var got map[string]any
	switch {
	case errors.Is(err, ErrClosed):
		got = map[string]any{"connectionClosed": true}
	case err != nil:
		return nil, err
	case f == nil:
		got = map[string]any{"none": true}
	default:
		got = f.view(st.Messages == nil || *st.Messages)
	}
	r.save(st, got)
	return got, nil
}

func (r *Runner) save(st *Step, got map[string]any) {
	for name, path := range st.Save {
		r.env.values[name] = lookup(got, path)
	}
}

func (r *Runner) pushed(c *Conn, st *Step) map[string]any {
	wanted := func(f *Frame) bool { return st.OnlyCode == nil || f.Code == *st.OnlyCode }
	frames := c.TakePushed(st.timeout(0), func(got []*Frame) bool {
		return !st.First || slices.ContainsFunc(got, wanted)
	})
	out := []any{}
	for _, f := range frames {
		if !wanted(f) {
			continue
		}
		v := f.view(true)
		v["flag"] = number(int64(f.Flag))
		out = append(out, v)
		if st.First {
			break
		}
	}
	if len(out) > 0 {
		r.save(st, out[0].(map[string]any))
	}
	return map[string]any{"pushed": out}
}

func (r *Runner) answer(c *Conn, st *Step) (map[string]any, error) {
	f, err := st.request(&r.env)
	if err != nil {
		return nil, err
	}
	frames := c.TakePushed(st.timeout(answerTimeout), func(got []*Frame) bool { return len(got) > 0 })
	for _, q := range frames {
		f.Flag, f.Opaque = 1, q.Opaque
		if _, err := c.Write(f); err != nil {
			return nil, err
		}
	}
	return map[string]any{"answered": number(int64(len(frames)))}, nil
}

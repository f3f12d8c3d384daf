// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package storedbytes

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"rocketmq-go/internal/replay"
	"rocketmq-go/message"
)

// Run is what one broker made of the requests.
type Run struct {
	Requests []Request
	Records  []Record
}

// Request is a request with its answer.
type Request struct {
	Name   string
	Code   int32 // of the answer, -1 if there was none
	Remark string
	Stored int // records in the log when it was answered
}

// Player sends requests to a broker, one after the other.
type Player struct {
	Addr string // of the broker
	Log  *Log
	V4   bool // requests of 5.x are left out

	run  Run
	name string // of the section
	conn *replay.Conn
}

const (
	answerWait = 30 * time.Second
	recordWait = 30 * time.Second
)

// Play plays all sections and returns what came of them.
func (p *Player) Play(sections []Section) (*Run, error) {
	defer p.hangUp()
	for _, s := range sections {
		if s.Since5 && p.V4 {
			continue
		}
		p.name = s.Name
		p.hangUp()
		if err := s.Play(p); err != nil {
			var last Request
			if n := len(p.run.Requests); n > 0 {
				last = p.run.Requests[n-1]
			}
			return nil, fmt.Errorf("%s: %w (last answer %d %s)", s.Name, err, last.Code, last.Remark)
		}
	}
	err := p.Log.Read()
	p.run.Records = p.Log.Records
	return &p.run, err
}

// Section is a part of the requests.
type Section struct {
	Name   string
	Since5 bool // 4.9 does not know it
	Play   func(p *Player) error
}

func (p *Player) hangUp() {
	if p.conn != nil {
		p.conn.Close()
		p.conn = nil
	}
}

func (p *Player) dial() (*replay.Conn, error) {
	if p.conn == nil {
		c, err := net.DialTimeout("tcp", p.Addr, 5*time.Second)
		if err != nil {
			return nil, err
		}
		p.conn = replay.NewConn(c)
	}
	return p.conn, nil
}

// Call sends a request and waits for the answer; nil if the broker hung up instead.
func (p *Player) Call(f *replay.Frame) (*replay.Frame, error) {
	c, err := p.dial()
	if err != nil {
		return nil, err
	}
	opaque, err := c.Write(f)
	if err != nil {
		return nil, err
	}
	return p.answer(c, f.Code, opaque)
}

// Raw sends a frame as it was recorded. A one-way send is over when it is stored.
func (p *Player) Raw(t *replay.Tapped) error {
	f, err := t.Frame()
	if err != nil {
		return err
	}
	c, err := p.dial()
	if err != nil {
		return err
	}
	if f.Flag&oneWay != 0 {
		topic, _ := f.ExtFields["b"].(string)
		return p.Storing(topic, 1, func() error { return c.WriteRaw(t.Bytes) })
	}
	if err := c.WriteRaw(t.Bytes); err != nil {
		return err
	}
	_, err = p.answer(c, f.Code, f.Opaque)
	return err
}

const oneWay = 2

func (p *Player) answer(c *replay.Conn, code, opaque int32) (*replay.Frame, error) {
	a, err := c.Wait(opaque, answerWait)
	r := Request{Name: fmt.Sprintf("%s: %d", p.name, code), Code: -1}
	switch {
	case errors.Is(err, replay.ErrClosed):
		p.hangUp()
	case err != nil:
		return nil, err
	case a == nil:
		return nil, fmt.Errorf("request %d: no answer", len(p.run.Requests))
	default:
		r.Code = a.Code
		if a.Remark != nil {
			r.Remark = *a.Remark
		}
	}
	err = p.note(r)
	if ids := field(a, "msgId"); err == nil && len(ids) >= 32 && r.Code == 0 {
		var offset int64
		if _, err := fmt.Sscanf(ids[len(ids)-16:], "%X", &offset); err == nil && offset >= p.Log.next {
			return a, fmt.Errorf("request %d: stored at %d, but the log cannot be read at %d", len(p.run.Requests)-1, offset, p.Log.next)
		}
	}
	return a, err
}

// note takes down a request, when what it makes the broker store later is there.
func (p *Player) note(r Request) error {
	from := 0
	if n := len(p.run.Requests); n > 0 {
		from = p.run.Requests[n-1].Stored
	}
	err := p.wait(func() error {
		due := map[string]int{}
		for i := from; i < len(p.Log.Records); i++ {
			switch topic := string(p.Log.Records[i].Topic); topic {
			case "SCHEDULE_TOPIC_XXXX":
				real, _ := message.Property(p.Log.Records[i].Properties, message.PropRealTopic)
				due[string(real)]++
			default:
				due[topic]--
			}
		}
		for topic, n := range due {
			if n > 0 {
				return fmt.Errorf("%d delayed messages of topic %s are not delivered", n, topic)
			}
		}
		return nil
	})
	r.Stored = len(p.Log.Records)
	p.run.Requests = append(p.run.Requests, r)
	return err
}

// wait reads the log until it is as it should be.
func (p *Player) wait(asItShould func() error) error {
	for deadline := time.Now().Add(recordWait); ; time.Sleep(5 * time.Millisecond) {
		if err := p.Log.Read(); err != nil {
			return err
		}
		if err := asItShould(); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// Storing does something and waits until a topic has n records more than before. They count as the last request's, whether
// the broker answers before it stores them or behind.
func (p *Player) Storing(topic string, n int, do func() error) error {
	if err := p.Log.Read(); err != nil {
		return err
	}
	want := p.Log.Count(topic) + n
	if err := do(); err != nil {
		return err
	}
	err := p.wait(func() error {
		if got := p.Log.Count(topic); got < want {
			return fmt.Errorf("topic %s has %d records, %d were expected", topic, got, want)
		}
		return nil
	})
	if n := len(p.run.Requests); n > 0 {
		p.run.Requests[n-1].Stored = len(p.Log.Records)
	}
	return err
}

// Send is a send request (310) with the usual fields; fields replaces some, an empty value removes one.
func (p *Player) Send(topic, properties string, body []byte, fields ...string) (*replay.Frame, error) {
	return p.Call(sendFrame(topic, properties, body, fields...))
}

// born is when all own messages were made: long ago, so that it is told from what brokers make.
const born = "1600000000000"

func sendFrame(topic, properties string, body []byte, fields ...string) *replay.Frame {
	f := &replay.Frame{Code: 310, Language: "JAVA", Version: 475, Body: body, ExtFields: map[string]any{
		"a": "PG", "b": topic, "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": born, "h": "0", "i": properties, "j": "0", "k": "false", "m": "false",
	}}
	set(f, fields)
	return f
}

// set replaces fields: name, value, name, value. A value "-" removes one.
func set(f *replay.Frame, fields []string) {
	for i := 0; i+1 < len(fields); i += 2 {
		if f.ExtFields[fields[i]] = fields[i+1]; fields[i+1] == "-" {
			delete(f.ExtFields, fields[i])
		}
	}
}

// Request is any request.
func (p *Player) Request(code int32, fields ...string) (*replay.Frame, error) {
	f := &replay.Frame{Code: code, Language: "JAVA", Version: 475, ExtFields: map[string]any{}}
	set(f, fields)
	for tries := 0; ; tries++ {
		a, err := p.Call(f)
		// a record can be read in the file before the broker itself knows that it is there
		if err != nil || a == nil || tries == 100 || a.Remark == nil || !strings.Contains(*a.Remark, "look message by offset failed") {
			return a, err
		}
		p.run.Requests = p.run.Requests[:len(p.run.Requests)-1]
		time.Sleep(20 * time.Millisecond)
	}
}

// props makes a property string of name, value, name, value.
func props(list ...string) string {
	s := ""
	for i := 0; i+1 < len(list); i += 2 {
		s += list[i] + "\x01" + list[i+1] + "\x02"
	}
	return s
}

// field is a field of an answer.
func field(a *replay.Frame, name string) string {
	if a == nil {
		return ""
	}
	s, _ := a.ExtFields[name].(string)
	return s
}

// id is the message id of an answer, and the offset in the log that it names.
func id(a *replay.Frame) (id string, offset int64, err error) {
	id = cmp.Or(field(a, "msgId"), "?")
	if len(id) != 32 {
		return id, 0, fmt.Errorf("not stored: %+v", a)
	}
	_, err = fmt.Sscanf(id[16:], "%X", &offset)
	return id, offset, err
}

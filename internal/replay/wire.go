// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package replay

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Frame is one command as it stood on the wire.
type Frame struct {
	Code       int32          `json:"code"`
	Language   string         `json:"language"`
	Version    int32          `json:"version"`
	Opaque     int32          `json:"opaque"`
	Flag       int32          `json:"flag"`
	Remark     *string        `json:"remark,omitempty"`
	ExtFields  map[string]any `json:"extFields,omitempty"`
	Serialize  string         `json:"serializeTypeCurrentRPC"`
	HeaderText string         `json:"-"` // the JSON header as received
	Body       []byte         `json:"-"`
}

// ErrClosed tells that the server closed the connection.
var ErrClosed = errors.New("connection closed")

// Conn is one client connection. Its methods may be called from one goroutine.
type Conn struct {
	c      net.Conn
	opaque int32

	mu      sync.Mutex
	changed chan struct{} // closed and replaced whenever something arrives
	answers map[int32]*Frame
	pushed  []*Frame
	closed  bool
	done    chan struct{}
}

// NewConn starts to read from c.
func NewConn(c net.Conn) *Conn {
	n := &Conn{c: c, changed: make(chan struct{}), answers: make(map[int32]*Frame), done: make(chan struct{})}
	go n.read()
	return n
}

func (n *Conn) read() {
	defer close(n.done)
	r := bufio.NewReader(n.c)
	for {
		f, err := readFrame(r)
		n.mu.Lock()
		switch {
		case err != nil:
			n.closed = true
		case f.Flag&1 != 0:
			n.answers[f.Opaque] = f
		default:
			n.pushed = append(n.pushed, f)
		}
		close(n.changed)
		n.changed = make(chan struct{})
		n.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Close closes the connection and waits until its reader has ended.
func (n *Conn) Close() {
	n.c.Close()
	<-n.done
}

func (n *Conn) isClosed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.closed
}

// Write sends a frame with a JSON header. A request gets a number of its own, an answer keeps the one it has.
func (n *Conn) Write(f *Frame) (opaque int32, err error) {
	if f.Flag&1 == 0 {
		n.opaque++
		f.Opaque = n.opaque
	}
	f.Serialize = "JSON"
	header, err := json.Marshal(f)
	if err != nil {
		return 0, err
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(4+len(header)+len(f.Body)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(header)))
	return f.Opaque, n.WriteRaw(append(append(b, header...), f.Body...))
}

// WriteRaw sends bytes as they are.
func (n *Conn) WriteRaw(b []byte) error {
	_, err := n.c.Write(b)
	return err
}

// Wait returns the answer with this number, nil if there is none in time, or ErrClosed.
func (n *Conn) Wait(opaque int32, timeout time.Duration) (*Frame, error) {
	var f *Frame
	err := n.until(timeout, func() bool {
		f = n.answers[opaque]
		delete(n.answers, opaque)
		return f != nil
	})
	return f, err
}

// TakePushed returns the requests that the server sent since the last call. It waits up to timeout until enough.
func (n *Conn) TakePushed(timeout time.Duration, enough func([]*Frame) bool) []*Frame {
	n.until(timeout, func() bool { return enough(n.pushed) })
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.pushed
	n.pushed = nil
	return p
}

// until waits for ok, which is called with the lock held.
func (n *Conn) until(timeout time.Duration, ok func() bool) error {
	t := time.NewTimer(timeout)
	defer t.Stop()
	for {
		n.mu.Lock()
		good, closed, changed := ok(), n.closed, n.changed
		n.mu.Unlock()
		switch {
		case good:
			return nil
		case closed:
			return ErrClosed
		}
		select {
		case <-changed:
		case <-t.C:
			return nil
		}
	}
}

func readFrame(r io.Reader) (*Frame, error) {
	var word [4]byte
	if _, err := io.ReadFull(r, word[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(word[:]))
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	return parseFrame(b)
}

// parseFrame reads a frame without its length word.
func parseFrame(b []byte) (*Frame, error) {
	if len(b) < 4 {
		return nil, io.ErrUnexpectedEOF
	}
	kind, n := b[0], int(binary.BigEndian.Uint32(b)&0xffffff)
	if n > len(b)-4 {
		return nil, io.ErrUnexpectedEOF
	}
	header, body := b[4:4+n], b[4+n:]
	f := &Frame{}
	switch kind {
	case 0:
		if err := json.Unmarshal(header, f); err != nil {
			return nil, err
		}
		f.HeaderText = string(header)
	case 1:
		if err := f.parseBinary(header); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("serialize type %d", kind)
	}
	f.Body = body
	return f, nil
}

var languages = []string{
	"JAVA", "CPP", "DOTNET", "PYTHON", "DELPHI", "ERLANG", "RUBY", "OTHER", "HTTP", "GO", "PHP", "OMS", "RUST", "NODE_JS",
}

// parseBinary reads the ROCKETMQ header.
func (f *Frame) parseBinary(h []byte) error {
	const fixed = 2 + 1 + 2 + 4 + 4
	if len(h) < fixed+8 {
		return io.ErrUnexpectedEOF
	}
	f.Serialize = "ROCKETMQ"
	f.Code = int32(int16(binary.BigEndian.Uint16(h)))
	if int(h[2]) < len(languages) {
		f.Language = languages[h[2]]
	}
	f.Version = int32(int16(binary.BigEndian.Uint16(h[3:])))
	f.Opaque = int32(binary.BigEndian.Uint32(h[5:]))
	f.Flag = int32(binary.BigEndian.Uint32(h[9:]))
	rest, ok := h[fixed:], true
	take := func(size int) string {
		var n int
		if len(rest) < size {
			ok = false
			return ""
		}
		for _, c := range rest[:size] {
			n = n<<8 | int(c)
		}
		if rest = rest[size:]; n > len(rest) {
			ok = false
			return ""
		}
		s := string(rest[:n])
		rest = rest[n:]
		return s
	}
	if remark := take(4); remark != "" {
		f.Remark = &remark
	}
	fields := take(4)
	rest = []byte(fields)
	f.ExtFields = map[string]any{}
	for ok && len(rest) > 0 {
		key := take(2)
		f.ExtFields[key] = take(4)
	}
	if !ok {
		return io.ErrUnexpectedEOF
	}
	return nil
}

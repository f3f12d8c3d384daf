// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package remoting

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"

	"rocketmq-go/remoting/protocol"
)

// sendAnswer is what a hot handler keeps in a pool, so that answering allocates nothing.
type sendAnswer struct {
	resp   protocol.Response
	header protocol.SendMessageResponseHeader
}

// sendHandler answers as a broker that stored the message.
func sendHandler() Dispatcher {
	answers := sync.Pool{New: func() any { return new(sendAnswer) }}
	var header protocol.SendMessageResponseHeader
	header.MsgID = protocol.Some("7F000002000052130000000000000BB4")
	header.TransactionID = protocol.Some("C00002026C970000000094d0c9580001")
	extra := []protocol.Field{{Key: "MSG_REGION", Value: "DefaultRegion"}, {Key: "TRACE_ON", Value: "true"}}
	return NewRoutes(RoutesConfig{}, Route{Code: protocol.ReqSendMessageV2, Raw: func(r *Request) {
		var h protocol.SendMessageRequestHeaderV2
		if err := h.ParseFields(&r.Fields); err != nil {
			return
		}
		a := answers.Get().(*sendAnswer)
		a.header = header
		a.header.QueueID = h.E
		a.header.QueueOffset = protocol.Some(h.G.V)
		a.resp = protocol.Response{Header: &a.header, Extra: extra}
		r.Reply(&a.resp)
		answers.Put(a)
	}})
}

func sendFrame(tb testing.TB, bodySize int) []byte {
	h := &protocol.SendMessageRequestHeaderV2{
		A: protocol.Some("producerGroup"), B: protocol.Some("TopicTest"), C: protocol.Some("TBW102"), D: protocol.Some(int32(4)),
		E: protocol.Some(int32(2)), F: protocol.Some(int32(0)), G: protocol.Some(int64(1700000000000)), H: protocol.Some(int32(0)),
		I: protocol.Some("UNIQ_KEY\x01C00002026C970000000094d0c9580001\x02WAIT\x01true\x02TAGS\x01TagA\x02"),
		J: protocol.Some(int32(0)), K: protocol.Some(false), M: protocol.Some(false), N: protocol.Some("broker-a"),
	}
	c := protocol.NewRequest(protocol.ReqSendMessageV2, h, make([]byte, bodySize))
	c.Version, c.Opaque = 479, 12345
	b, err := protocol.AppendFrame(nil, c)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func benchServer(b *testing.B, pipeline int) {
	s := NewServer(ServerConfig{Dispatcher: sendHandler(), Version: 479})
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go s.Serve(l, false)
	defer s.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	one := sendFrame(b, 1024)
	var batch []byte
	for range pipeline {
		batch = append(batch, one...)
	}
	if _, err := c.Write(one); err != nil {
		b.Fatal(err)
	}
	answer := make([]byte, 1<<20)
	n, err := c.Read(answer)
	if err != nil {
		b.Fatal(err)
	}
	size := n
	b.SetBytes(int64(len(one)))
	b.ReportAllocs()
	for i := 0; i < b.N; i += pipeline {
		if _, err := c.Write(batch); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, answer[:size*pipeline]); err != nil {
			b.Fatal(err)
		}
	}
}

// One request at a time over loopback, and 64 in one write.
func BenchmarkServerRoundTrip(b *testing.B) { benchServer(b, 1) }
func BenchmarkServerPipelined(b *testing.B) { benchServer(b, 64) }

// Requests that are answered later by another goroutine, as with sync flush: 64 in one write.
func BenchmarkServerLate(b *testing.B) {
	late := make(chan Responder, 4096)
	go func() {
		resp := &protocol.Response{}
		for l := range late {
			l.Respond(resp)
		}
	}()
	defer close(late)
	s := NewServer(ServerConfig{Version: 479, Dispatcher: NewRoutes(RoutesConfig{}, Route{Code: protocol.ReqSendMessageV2, Raw: func(r *Request) {
		late <- r.Detach()
	}})})
	defer s.Close()
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go s.Serve(l, false)
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	one := sendFrame(b, 1024)
	batch := bytes.Repeat(one, 64)
	if _, err := c.Write(one); err != nil {
		b.Fatal(err)
	}
	answer := make([]byte, 1<<20)
	size, err := c.Read(answer)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; i < b.N; i += 64 {
		if _, err := c.Write(batch); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, answer[:size*64]); err != nil {
			b.Fatal(err)
		}
	}
}

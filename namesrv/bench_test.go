// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package namesrv_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"rocketmq-go/internal/replay"
	"rocketmq-go/namesrv"
	"rocketmq-go/remoting/protocol"
)

// frame is a request as it stands on the wire.
func frame(b *testing.B, code int32, f fields, body string) []byte {
	h, err := json.Marshal(replay.Frame{Code: code, Language: "JAVA", Version: 479, Opaque: 1, ExtFields: f, Serialize: "JSON"})
	if err != nil {
		b.Fatal(err)
	}
	out := binary.BigEndian.AppendUint32(nil, uint32(4+len(h)+len(body)))
	out = binary.BigEndian.AppendUint32(out, uint32(len(h)))
	return append(append(out, h...), body...)
}

// exchange sends the same request over and over, with depth of them under way, over an in-memory connection.
func exchange(b *testing.B, setup [][]byte, request []byte, depth int) {
	s := startB(b)
	c := s.Pipe()
	defer c.Close()
	answer := func() int {
		var word [4]byte
		if _, err := io.ReadFull(c, word[:]); err != nil {
			b.Fatal(err)
		}
		n := int(binary.BigEndian.Uint32(word[:]))
		if _, err := io.CopyN(io.Discard, c, int64(n)); err != nil {
			b.Fatal(err)
		}
		return 4 + n
	}
	for _, f := range setup {
		c.Write(f)
		answer()
	}
	c.Write(request)
	size := answer()
	var batch []byte
	for range depth {
		batch = append(batch, request...)
	}
	answers := make([]byte, depth*size)
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += depth {
		if _, err := c.Write(batch); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, answers); err != nil {
			b.Fatal(err)
		}
	}
}

func startB(b *testing.B) *namesrv.Server {
	s, err := namesrv.New(load(b, ""), namesrv.Options{NoListen: true})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

func topics(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("SomeTopicName%05d", i)
	}
	return out
}

// BenchmarkRoute is a client's question for a route, from frame to frame.
func BenchmarkRoute(b *testing.B) {
	setup := [][]byte{
		frame(b, protocol.ReqRegisterBroker, registration("broker-a", 0, nil), body(1, topics(1000))),
		frame(b, protocol.ReqRegisterBroker, registration("broker-b", 0, nil), body(1, topics(1000))),
	}
	exchange(b, setup, frame(b, protocol.ReqGetRouteinfoByTopic, fields{"topic": "SomeTopicName00500"}, ""), 64)
}

// BenchmarkRegisterUnchanged is a broker with 10,000 topics that repeats its registration.
func BenchmarkRegisterUnchanged(b *testing.B) {
	exchange(b, nil, frame(b, protocol.ReqRegisterBroker, registration("broker-a", 0, nil), body(1, topics(10_000))), 1)
}

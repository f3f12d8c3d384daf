// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"rocketmq-go/admin/client"
	"rocketmq-go/rocketmqtest"
)

// frame is a request with a JSON header, as a Java client writes it.
func frame(code int, fields [][2]string, body []byte) []byte {
	var ext []string
	for _, f := range fields {
		value := strings.NewReplacer("\x01", `\u0001`, "\x02", `\u0002`).Replace(f[1])
		ext = append(ext, fmt.Sprintf("%q:\"%s\"", f[0], value))
	}
	header := fmt.Sprintf(`{"code":%d,"extFields":{%s},"flag":0,"language":"JAVA","opaque":7,"serializeTypeCurrentRPC":"JSON","version":479}`,
		code, strings.Join(ext, ","))
	b := binary.BigEndian.AppendUint32(nil, uint32(4+len(header)+len(body)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(header)))
	return append(append(b, header...), body...)
}

func sendFrame(topic string, size int) []byte {
	return frame(310, [][2]string{
		{"a", "PG"},
		{"b", topic},
		{"c", "TBW102"},
		{"d", "4"},
		{"e", "0"},
		{"f", "0"},
		{"g", "1795986374907"},
		{"h", "0"},
		{"i", "UNIQ_KEY\x017F0000010000620C0000000000000000\x02WAIT\x01true\x02TAGS\x01TagA\x02"},
		{"j", "0"},
		{"k", "false"},
		{"m", "false"},
		{"n", "broker-a"},
	}, make([]byte, size))
}

func pullFrame(topic string) []byte {
	return frame(11, [][2]string{
		{"consumerGroup", "G"},
		{"topic", topic},
		{"queueId", "0"},
		{"queueOffset", "0"},
		{"maxMsgNums", "32"},
		{"sysFlag", "4"},
		{"commitOffset", "0"},
		{"suspendTimeoutMillis", "0"},
		{"subscription", "*"},
		{"subVersion", "0"},
		{"expressionType", "TAG"},
	}, nil)
}

// wire is a connection that reads answers without looking at them.
type wire struct {
	net.Conn
	in   *bufio.Reader
	size [4]byte
}

func (w *wire) skip(b *testing.B) {
	if _, err := io.ReadFull(w.in, w.size[:]); err != nil {
		b.Fatal(err)
	}
	if _, err := w.in.Discard(int(binary.BigEndian.Uint32(w.size[:]))); err != nil {
		b.Fatal(err)
	}
}

// drive sends the frame b.N times with so many in flight.
func drive(b *testing.B, w *wire, f []byte, inFlight int) {
	block := make([]byte, 0, len(f)*inFlight)
	for range inFlight {
		block = append(block, f...)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for left := b.N; left > 0; left -= inFlight {
		n := min(inFlight, left)
		if _, err := w.Write(block[:n*len(f)]); err != nil {
			b.Fatal(err)
		}
		for range n {
			w.skip(b)
		}
	}
}

func benchmark(b *testing.B, opts []rocketmqtest.Option, run func(b *testing.B, w *wire)) {
	opts = append(opts, rocketmqtest.WithConfig("mappedFileSizeCommitLog", "268435456"),
		rocketmqtest.WithConfig("mappedFileSizeConsumeQueue", "6000000"), rocketmqtest.WithConfig("maxIndexNum", "2000000"),
		rocketmqtest.WithConfig("maxHashSlotNum", "500000"))
	mq := rocketmqtest.Start(b, opts...)
	conn, err := mq.Dial(context.Background(), mq.BrokerAddr)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	c := client.New(client.Options{Namesrv: []string{mq.NamesrvAddr}, Dial: mq.Dial})
	defer c.Close()
	for range 40 {
		if _, err := c.Send(b.Context(), &client.Message{Topic: "T", Body: make([]byte, 1024), Queue: &client.Queue{Addr: mq.BrokerAddr}}); err != nil {
			b.Fatal(err)
		}
	}
	time.Sleep(50 * time.Millisecond)
	run(b, &wire{Conn: conn, in: bufio.NewReaderSize(conn, 256<<10)})
}

func BenchmarkSend(b *testing.B) {
	for _, over := range []struct {
		name string
		opts []rocketmqtest.Option
	}{{"pipe", []rocketmqtest.Option{rocketmqtest.WithPipe()}}, {"loopback", nil}} {
		for _, inFlight := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/inFlight=%d", over.name, inFlight), func(b *testing.B) {
				benchmark(b, over.opts, func(b *testing.B, w *wire) { drive(b, w, sendFrame("T", 1024), inFlight) })
			})
		}
	}
}

// BenchmarkSendObserved is what metrics cost a send: off and on must not differ by more than the runs of each do.
func BenchmarkSendObserved(b *testing.B) {
	for _, exporter := range []string{"DISABLE", "PROM"} {
		b.Run(exporter, func(b *testing.B) {
			opts := []rocketmqtest.Option{rocketmqtest.WithPipe(), rocketmqtest.WithConfig("metricsExporterType", exporter)}
			benchmark(b, opts, func(b *testing.B, w *wire) { drive(b, w, sendFrame("T", 1024), 64) })
		})
	}
}

// BenchmarkPull reads 32 messages of 1 KiB per operation.
func BenchmarkPull(b *testing.B) {
	for _, over := range []struct {
		name string
		opts []rocketmqtest.Option
	}{{"pipe", []rocketmqtest.Option{rocketmqtest.WithPipe()}}, {"loopback", nil}} {
		b.Run(over.name, func(b *testing.B) {
			benchmark(b, over.opts, func(b *testing.B, w *wire) { drive(b, w, pullFrame("T"), 1) })
		})
	}
}

// BenchmarkHeld is the time from a send to the answer of a pull that waited for it.
func BenchmarkHeld(b *testing.B) {
	benchmark(b, nil, func(b *testing.B, w *wire) {
		conn, err := net.Dial("tcp", w.RemoteAddr().String())
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		sender := &wire{Conn: conn, in: bufio.NewReader(conn)}
		f := sendFrame("T", 1024)
		offset := 40
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			pull := frame(11, [][2]string{
				{"consumerGroup", "G"},
				{"topic", "T"},
				{"queueId", "0"},
				{"queueOffset", fmt.Sprint(offset)},
				{"maxMsgNums", "32"},
				{"sysFlag", "6"},
				{"commitOffset", "0"},
				{"suspendTimeoutMillis", "15000"},
				{"subscription", "*"},
				{"subVersion", "0"},
				{"expressionType", "TAG"},
			}, nil)
			if _, err := w.Write(pull); err != nil {
				b.Fatal(err)
			}
			time.Sleep(200 * time.Microsecond)
			b.StartTimer()
			if _, err := sender.Write(f); err != nil {
				b.Fatal(err)
			}
			w.skip(b)
			b.StopTimer()
			sender.skip(b)
			offset++
			b.StartTimer()
		}
	})
}

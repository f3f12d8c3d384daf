// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package storedbytes

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"rocketmq-go/message"
)

// Result of a comparison.
type Result struct {
	Requests, Records int
	Differences       []string
	Masked            map[string]int // values of properties that are made by a broker, and differ
}

// Compare compares two runs; the first is the one that is right.
func Compare(want, got *Run) *Result {
	res := &Result{Requests: len(want.Requests), Records: len(want.Records), Masked: map[string]int{}}
	differ := func(format string, args ...any) {
		res.Differences = append(res.Differences, fmt.Sprintf(format, args...))
	}
	var w, g int // records before
	for i := range min(len(want.Requests), len(got.Requests)) {
		wr, gr := want.Requests[i], got.Requests[i]
		theirs, ours := want.Records[w:wr.Stored], got.Records[g:gr.Stored]
		w, g = wr.Stored, gr.Stored
		// where Java fails with an exception, ours says what is wrong
		sameCode := wr.Code == gr.Code || gr.Code != 0 && strings.Contains(wr.Remark, "Exception")
		if !sameCode || len(theirs) != len(ours) {
			differ("request %d (%s): answer %d %q, %d records; ours %d %q, %d records", i, wr.Name, wr.Code, wr.Remark, len(theirs), gr.Code, gr.Remark, len(ours))
			continue
		}
		for n := range theirs {
			if text := res.record(&theirs[n], &ours[n], theirs[0].PhyOffset-ours[0].PhyOffset); text != "" {
				differ("request %d (%s): %s", i, wr.Name, text)
			}
		}
	}
	if len(want.Requests) != len(got.Requests) || len(want.Records)-w != len(got.Records)-g {
		differ("%d requests and %d records, ours %d and %d", len(want.Requests), len(want.Records), len(got.Requests), len(got.Records))
	}
	return res
}

// record compares two records; empty if they are the same. shift is how much later want is in its log, because of an earlier
// difference that was reported.
func (res *Result) record(want, got *Record, shift int64) string {
	w, g := mask(want), mask(got)
	binary.BigEndian.PutUint64(g[28:], uint64(got.PhyOffset+shift))
	if bytes.Equal(w, g) {
		return ""
	}
	if g = res.maskProperties(want, got, g); bytes.Equal(w, g) {
		return ""
	}
	return "\n\tJava " + describe(want) + "\n\tours " + describe(got)
}

// mask clears what two brokers cannot have in common: store time, addresses, and the time at which a message was made if a
// broker made it.
func mask(r *Record) []byte {
	b := bytes.Clone(r.Raw)
	at := 48
	host := func(v6 bool) {
		n := 8
		if v6 {
			n = 20
		}
		clear(b[at : at+n])
		at += n
	}
	host(r.SysFlag&message.SysBornHostV6 != 0)
	clear(b[at : at+8])
	at += 8
	host(r.SysFlag&message.SysStoreHostV6 != 0)
	if d := r.StoreTimestamp - r.BornTimestamp; d >= 0 && d < time.Minute.Milliseconds() {
		clear(b[40:48])
	}
	return b
}

// made are properties of which the value may be a broker's own: an id with its address and time, or a time.
var made = map[string]string{
	message.PropUniqKey: hexDigits, "__transactionId__": hexDigits, "ORIGIN_MESSAGE_ID": hexDigits, "DLQ_ORIGIN_MESSAGE_ID": hexDigits,
	"TIMER_OUT_MS": digits, "TIMER_ENQUEUE_MS": digits, "TIMER_DEQUEUE_MS": digits, "TIMER_DELIVER_MS": digits, "BORN_TIMESTAMP": digits, "ARRIVE_TIME": digits,
}

const (
	digits    = "0123456789"
	hexDigits = digits + "ABCDEF"
)

// maskProperties puts the values that a broker made in want into g, the masked bytes of got, if they look the same there.
func (res *Result) maskProperties(want, got *Record, g []byte) []byte {
	if len(want.Properties) != len(got.Properties) || len(want.Raw) != len(got.Raw) {
		return g
	}
	from := len(g) - len(got.Properties)
	pos := 0
	for _, piece := range bytes.SplitAfter(want.Properties, []byte{2}) {
		name, value, _ := strings.Cut(strings.TrimSuffix(string(piece), "\x02"), "\x01")
		other := got.Properties[pos : pos+len(piece)]
		if kind := made[name]; kind != "" && !bytes.Equal(piece, other) && strings.Trim(value, kind) == "" {
			theirs := other[len(name)+1 : len(name)+1+len(value)]
			if bytes.HasPrefix(other, []byte(name+"\x01")) && strings.Trim(string(theirs), kind) == "" {
				copy(g[from+pos:], piece)
				res.Masked[name]++
			}
		}
		pos += len(piece)
	}
	return g
}

// describe prints a record for people.
func describe(r *Record) string {
	body := string(r.Body)
	if len(body) > 60 {
		body = fmt.Sprintf("%s… (%d bytes)", body[:60], len(r.Body))
	}
	topic, properties := string(r.Topic), string(r.Properties)
	if len(topic) > 100 {
		topic = fmt.Sprintf("%s… (%d bytes)", topic[:100], len(topic))
	}
	if len(properties) > 1500 {
		properties = fmt.Sprintf("%s… (%d bytes)", properties[:1500], len(properties))
	}
	return fmt.Sprintf("magic %08x size %d at %d topic %q queue %d offset %d flag %d sysFlag %#x born %d reconsumed %d prepared %d body %q properties %q",
		binary.BigEndian.Uint32(r.Raw[4:]), r.Size, r.PhyOffset, topic, r.QueueID, r.QueueOffset, r.Flag, r.SysFlag, r.BornTimestamp, r.ReconsumeTimes,
		r.PreparedTransactionOffset, body, properties)
}

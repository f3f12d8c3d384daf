// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package inspect

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/store"
)

// Input is one INPUT record: a message with everything that decides about its bytes.
type Input struct {
	Topic                     string `json:"topic"`
	QueueID                   int32  `json:"queueId"`
	Flag                      int32  `json:"flag"`
	SysFlag                   int32  `json:"sysFlag"`
	BornTimestamp             int64  `json:"bornTimestamp"`
	BornHost                  string `json:"bornHost"` // ip|port
	StoreTimestamp            int64  `json:"storeTimestamp"`
	StoreHost                 string `json:"storeHost"`
	ReconsumeTimes            int32  `json:"reconsumeTimes"`
	PreparedTransactionOffset int64  `json:"preparedTransactionOffset"`
	Properties                string `json:"properties"`
	Body                      []byte `json:"body"`            // base64
	Batch                     int    `json:"batch,omitempty"` // this and the next Batch-1 were one client batch
	BatchProperties           string `json:"batchProperties,omitempty"`
}

func parseHost(s string) (netip.AddrPort, error) {
	ip, port, ok := cutLast(s, '|')
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("host %q is not ip|port", s)
	}
	a, err := netip.ParseAddr(ip)
	if err != nil {
		return netip.AddrPort{}, err
	}
	p, err := strconv.ParseUint(port, 10, 16)
	return netip.AddrPortFrom(a, uint16(p)), err
}

func cutLast(s string, sep byte) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// Message makes the message of a record.
func (in *Input) Message() (*message.Message, error) {
	born, err := parseHost(in.BornHost)
	if err != nil {
		return nil, err
	}
	stored, err := parseHost(in.StoreHost)
	if err != nil {
		return nil, err
	}
	if in.Body == nil {
		in.Body = []byte{}
	}
	return &message.Message{
		Topic: in.Topic, QueueID: in.QueueID, Flag: in.Flag, SysFlag: in.SysFlag,
		BornTimestamp: in.BornTimestamp, BornHost: born, StoreHost: stored, ReconsumeTimes: in.ReconsumeTimes,
		PreparedTransactionOffset: in.PreparedTransactionOffset, Properties: []byte(in.Properties), Body: in.Body,
	}, nil
}

// FeedResult counts what Feed did.
type FeedResult struct {
	Fed, Refused int
	MaxPhyOffset int64
}

// Feed stores INPUT records, one JSON object a line, in order into the directory, with the store times of the records.
// refused is told of each record the store does not take. DIR/config/topics.json, if it is there, names the BatchCQ topics.
func Feed(inputs io.Reader, dir string, o Options, refused func(record int, status store.PutStatus)) (res FeedResult, err error) {
	var clock atomic.Int64
	clock.Store(time.Now().UnixMilli())
	o.Store.Dir = dir
	o.Store.BatchTopic = batchTopics(dir)
	o.Store.Now = func() time.Time { return time.UnixMilli(clock.Load()) }
	records, err := readInputs(inputs)
	if err != nil {
		return res, err
	}
	s, err := store.Open(o.Store)
	if err != nil {
		return res, err
	}
	defer func() {
		if cerr := s.Close(); err == nil {
			err = cerr
		}
	}()
	for i := 0; i < len(records); {
		n := min(max(records[i].Batch, 1), len(records)-i)
		clock.Store(records[i].StoreTimestamp)
		status, err := feedGroup(s, records[i:i+n], o.dialect())
		if err != nil {
			return res, fmt.Errorf("record %d: %w", i, err)
		}
		if status != store.PutOK {
			res.Refused++
			refused(i, status)
		}
		res.Fed += n
		i += n
	}
	for i := 0; s.DispatchBehind() > 0 && i < 60000; i++ {
		time.Sleep(time.Millisecond)
	}
	res.MaxPhyOffset = s.MaxPhyOffset()
	return res, nil
}

func readInputs(r io.Reader) ([]Input, error) {
	in := bufio.NewReader(r)
	if head, err := in.Peek(2); err == nil && bytes.Equal(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		in = bufio.NewReader(z)
	}
	var out []Input
	for d := json.NewDecoder(in); ; {
		var rec Input
		err := d.Decode(&rec)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", len(out), err)
		}
		out = append(out, rec)
	}
}

// feedGroup stores one record, or the records of a client batch.
func feedGroup(s *store.Store, group []Input, d message.Dialect) (store.PutStatus, error) {
	m, err := group[0].Message()
	if err != nil {
		return 0, err
	}
	done := make(chan store.PutResult, 1)
	if group[0].Batch == 0 {
		s.Put(m, func(r store.PutResult) { done <- r })
		return (<-done).Status, nil
	}
	var body []byte
	for i := range group {
		body = message.AppendBatchEntry(body, group[i].Flag, group[i].Body, []byte(group[i].Properties))
	}
	m.Body, m.Properties = body, message.Rebuild([]byte(group[0].BatchProperties), d)
	s.PutBatch(m, func(r store.PutResult) { done <- r })
	return (<-done).Status, nil
}

// FeedCommand is the command line of Feed: INPUTS.jsonl[.gz] DIR [key=value …]. It returns the exit code.
func FeedCommand(args []string, _, errw io.Writer) int {
	if len(args) < 2 {
		fmt.Fprintln(errw, "usage: feed INPUTS.jsonl[.gz] DIR [key=value …]")
		return 2
	}
	o, err := ParseOptions(args[2:])
	if err != nil {
		fmt.Fprintln(errw, err)
		return 2
	}
	o.warn(errw)
	f, err := os.Open(args[0])
	if err != nil {
		fmt.Fprintln(errw, err)
		return 1
	}
	defer f.Close()
	res, err := Feed(f, args[1], o, func(i int, status store.PutStatus) {
		fmt.Fprintf(errw, "record %d: status %d\n", i, status)
	})
	if err != nil {
		fmt.Fprintln(errw, err)
		return 1
	}
	fmt.Fprintf(errw, "fed %d records, refused %d, maxPhyOffset %d\n", res.Fed, res.Refused, res.MaxPhyOffset)
	return min(res.Refused, 1)
}

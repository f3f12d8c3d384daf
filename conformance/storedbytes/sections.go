// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package storedbytes

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"

	"rocketmq-go/internal/replay"
	"rocketmq-go/message"
)

//go:embed testdata/wire.jsonl.gz
var wire []byte

// Sections are all requests, in order. recordings are files of package replay whose steps are sent too.
func Sections(recordings ...string) ([]Section, error) {
	clients, err := recordedClients()
	if err != nil {
		return nil, err
	}
	all := append(clients,
		Section{"single", false, single}, Section{"system flags", false, sysFlags}, Section{"random properties", false, randomProperties},
		Section{"batch", false, batches}, Section{"binary header", false, binaryHeaders}, Section{"delay levels", false, delays},
		Section{"sent back", false, sentBack}, Section{"transactions", false, transactions},
		Section{"timer", true, timers}, Section{"long topics", true, longTopics}, Section{"replies", false, replies}, Section{"light queues", false, lightQueues},
	)
	for _, file := range recordings {
		s, err := recordedSteps(file)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// recordedClients are the sends of official clients, a section for each recording.
func recordedClients() ([]Section, error) {
	z, err := gzip.NewReader(bytes.NewReader(wire))
	if err != nil {
		return nil, err
	}
	frames, err := replay.LoadTapped(z)
	var out []Section
	for len(frames) > 0 {
		n := 1
		for n < len(frames) && frames[n].Link == frames[0].Link {
			n++
		}
		part := frames[:n]
		frames = frames[n:]
		out = append(out, Section{part[0].Link, false, func(p *Player) error {
			for _, t := range part {
				if bytes.Contains(t.Bytes, []byte("TIMER_DELAY_MS")) { // delivered at some later time, between others
					continue
				}
				if err := p.Raw(t); err != nil {
					return err
				}
			}
			return nil
		}})
	}
	return out, err
}

// clock are the places in recorded steps where the time of now is put in: messages that are made now could not be compared.
var clock = regexp.MustCompile(`\$\{now([+-][0-9]+)?\}`)

// recordedSteps are the steps of a file, recorded with 5.3.3.
func recordedSteps(file string) (Section, error) {
	r, err := replay.Open(file)
	if err != nil {
		return Section{}, err
	}
	defer r.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(r); err != nil {
		return Section{}, err
	}
	steps, err := replay.Load(bytes.NewReader(clock.ReplaceAll(text.Bytes(), []byte(born))))
	return Section{strings.TrimSuffix(baseName(file), ".jsonl.gz"), false, func(p *Player) error { return p.steps(steps) }}, err
}

func baseName(file string) string { return file[strings.LastIndexByte(file, os.PathSeparator)+1:] }

// single are messages with all that a send request may say.
func single(p *Player) error {
	long := strings.Repeat("v", 32000)
	many := ""
	for i := range 120 {
		many += fmt.Sprintf("name%d\x01%d\x02", i*37%120, i)
	}
	for i, c := range []struct {
		properties, body string
		fields           []string
	}{
		{"", "no properties", nil},
		{"", "no properties at all", []string{"i", "-"}},
		{props("TAGS", "TagA", "KEYS", "k1 k2", "UNIQ_KEY", "7F0000010001000000000000AAAAAAAA", "WAIT", "true"), "usual", nil},
		{props("UNIQ_KEY", "7F0000010001000000000000AAAAAAAB", "WAIT", "false"), "does not wait", nil},
		{strings.TrimSuffix(props("UNIQ_KEY", "u1", "a", "b"), "\x02"), "no separator at the end", nil},
		{props("UNIQ_KEY", "u2") + "\x02\x02" + props("a", "b"), "empty pieces", nil},
		{props("UNIQ_KEY", "u3", "empty", "", "", "nameless", "x", "y"), "empty name and value", nil},
		{props("UNIQ_KEY", "u4", "x", "1", "x", "2", "y", "1"), "twice", nil},
		{props("UNIQ_KEY", "u5", "x", "a\x01b"), "separator in the value", nil},
		{"UNIQ_KEY\x01u6\x02garbage\x02a\x02ab\x02abc\x02\x01x\x02y\x01\x02", "pieces that are no properties", nil},
		{props("UNIQ_KEY", "u7", "größe", "schön", "名前", "値", "😀", "🎈"), "unicode", nil},
		{props("UNIQ_KEY", "u8", "Aa", "1", "BB", "2", "AaAa", "3", "BBBB", "4", "AaBB", "5", "BBAa", "6"), "names with one hash", nil},
		{props("UNIQ_KEY", "u9", "long", long), "long property", nil},
		{props("UNIQ_KEY", "u9", "long", long+strings.Repeat("w", 700)), "nearly too long", nil},
		{props("UNIQ_KEY", "u9", "long", long+strings.Repeat("w", 900)), "too long", nil},
		{many + props("UNIQ_KEY", "u10"), "many properties", nil},
		{props("UNIQ_KEY", "u11", "MSG_REGION", "mine", "TRACE_ON", "no", "CLUSTER", "mine"), "those that a broker sets", nil},
		{props("UNIQ_KEY", "u12", "__CRC32#", "1234567890"), "a sum", nil},
		{props("UNIQ_KEY", "u13", "POP_CK", "0 1 2", "1ST_POP_TIME", "3"), "POP_CK", nil},
		{props("UNIQ_KEY", "u14", "INSTANCE_ID", "i", "BUYER_ID", "b", "__SHARDINGKEY", "s", "TTL", "5"), "others", nil},
		{props("UNIQ_KEY", "u15", "REAL_TOPIC", "X", "REAL_QID", "7", "PGROUP", "PG", "MIN_OFFSET", "1"), "those of the broker", nil},
		{props("UNIQ_KEY", "u16", "RECONSUME_TIME", "3", "MAX_RECONSUME_TIMES", "16"), "reconsume times", []string{"j", "3", "l", "16"}},
		{props("UNIQ_KEY", "u17", "INNER_NUM", "3"), "INNER_NUM", nil},
		{props("UNIQ_KEY", "u18"), "", nil},
		{props("UNIQ_KEY", "u19"), "\x00\xff\xfe\x80", nil},
		{props("UNIQ_KEY", "u20"), strings.Repeat("body", 5000), nil},
		{props("UNIQ_KEY", "u21"), "flag", []string{"h", "-2147483648"}},
		{props("UNIQ_KEY", "u22"), "flag", []string{"h", "2147483647"}},
		{props("UNIQ_KEY", "u23"), "born", []string{"g", "0"}},
		{props("UNIQ_KEY", "u24"), "born", []string{"g", "-1"}},
		{props("UNIQ_KEY", "u25"), "unit mode", []string{"k", "true"}},
		{props("UNIQ_KEY", "u26"), "no optional fields", []string{"j", "-", "k", "-", "m", "-"}},
		{props("UNIQ_KEY", "u27"), "queue 3", []string{"e", "3"}},
		{props("UNIQ_KEY", "u28"), "queue 4", []string{"e", "4"}},
		{props("UNIQ_KEY", "u29"), "one entry", []string{"m", "true"}},
		{props("UNIQ_KEY", "u30", "TRAN_MSG", "false"), "TRAN_MSG=false", nil},
		{props("UNIQ_KEY", "u31", "TRAN_MSG", "TRUE", "PGROUP", "PG"), "TRAN_MSG=TRUE", nil},
		{props("KEYS", "without id"), "no id", nil},
		{props("UNIQ_KEY", "u32", "WAIT", "x", "KEYS", " k  k ", "TAGS", " "), "odd values", nil},
	} {
		if _, err := p.Send("BytesSingle", c.properties, []byte(c.body), c.fields...); err != nil {
			return fmt.Errorf("%d: %w", i, err)
		}
	}
	f := &replay.Frame{Code: 10, Language: "GO", Version: 317, Body: []byte("long names"), ExtFields: map[string]any{
		"producerGroup": "PG", "topic": "BytesSingle", "defaultTopic": "TBW102", "defaultTopicQueueNums": "8", "queueId": "1", "sysFlag": "0",
		"bornTimestamp": born, "flag": "5", "properties": props("UNIQ_KEY", "u40", "z", "1", "a", "2"), "reconsumeTimes": "0", "unitMode": "false",
	}}
	_, err := p.Call(f)
	return err
}

// sysFlags are messages with the flags that clients set, and those that they must not.
func sysFlags(p *Player) error {
	for flag := range 0x100 {
		if p.V4 && flag&message.SysInnerBatch != 0 { // a flag of 5.x
			continue
		}
		// 0x4 and 0xC belong to transactions, and with 0x10 and 0x20 Java writes records that nobody can read
		if flag&0xC == 0x4 || flag&0xC == 0xC || flag&0x30 != 0 || flag > 0x10 && flag%5 != 0 {
			continue
		}
		if _, err := p.Send("BytesFlags", props("UNIQ_KEY", fmt.Sprint("f", flag)), []byte("flag"), "f", strconv.Itoa(flag)); err != nil {
			return err
		}
	}
	for _, flag := range []int{0x101, 0x201, 0x301, 0x700, 0x1000, 1 << 30} {
		if _, err := p.Send("BytesFlags", props("UNIQ_KEY", fmt.Sprint("f", flag)), []byte("flag"), "f", strconv.Itoa(flag)); err != nil {
			return err
		}
	}
	return nil
}

// randomProperties shows the order in which brokers write properties anew.
func randomProperties(p *Player) error {
	r := rand.New(rand.NewPCG(1, 2))
	letters := []rune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJ_0123456789äß漢🎈")
	word := func() string {
		var sb strings.Builder
		for range 1 + r.IntN(12) {
			sb.WriteRune(letters[r.IntN(len(letters))])
		}
		return sb.String()
	}
	for i := range 60 {
		list := []string{"UNIQ_KEY", fmt.Sprint("r", i), "TAGS", word()}
		for range r.IntN(8 << (i % 5)) {
			list = append(list, word(), word())
		}
		if _, err := p.Send("BytesRandom", props(list...), []byte(word()), "e", strconv.Itoa(r.IntN(4))); err != nil {
			return err
		}
	}
	return nil
}

// batches are batches of clients.
func batches(p *Player) error {
	entry := func(flag int32, body, properties string) []byte {
		return message.AppendBatchEntry(nil, flag, []byte(body), []byte(properties))
	}
	one := entry(0, "one", props("UNIQ_KEY", "b1", "KEYS", "k"))
	bare := entry(7, "", "")
	open := entry(0, "three", strings.TrimSuffix(props("UNIQ_KEY", "b3", "a", "b"), "\x02"))
	wait := entry(0, "four", props("UNIQ_KEY", "b4", "WAIT", "false", "TAGS", "t"))
	for i, c := range []struct {
		properties string
		body       []byte
	}{
		{props("WAIT", "true", "UNIQ_KEY", "bb1"), bytes.Join([][]byte{one, bare, open, wait}, nil)},
		{"", bytes.Join([][]byte{one, bare}, nil)},
		{props("TAGS", "all", "KEYS", "all", "zz", "1", "aa", "2", "mm", "3"), bytes.Join([][]byte{open, open, one}, nil)},
		{props("UNIQ_KEY", "bb2"), one},
		{props("DELAY", "1"), one},
		{props("DELAY", "0"), one},
		{props("UNIQ_KEY", "bb3"), one[:10]},
		{props("UNIQ_KEY", "bb4"), nil},
		{props("UNIQ_KEY", "bb5"), bytes.Join([][]byte{one, {0, 0, 0, 40}}, nil)},
		{props("UNIQ_KEY", "bb6", "__CRC32#", "1234567890"), entry(0, "sum", props("__CRC32#", "1234567890", "a", "b"))},
		{props("UNIQ_KEY", "bb7"), entry(0, "delayed entry", props("DELAY", "2"))},
		{props("UNIQ_KEY", "bb8"), entry(0, "long", props("long", strings.Repeat("v", 32000)))},
	} {
		f := sendFrame("BytesBatch", c.properties, c.body, "m", "true")
		f.Code = 320
		if _, err := p.Call(f); err != nil {
			return fmt.Errorf("%d: %w", i, err)
		}
	}
	return nil
}

// binaryHeaders are sends with a header in the ROCKETMQ serialization.
func binaryHeaders(p *Player) error {
	for i, properties := range []string{props("UNIQ_KEY", "h1", "größe", "1", "a", "2"), "", props("UNIQ_KEY", "h2", "long", strings.Repeat("x", 30000))} {
		c, err := p.dial()
		if err != nil {
			return err
		}
		opaque := int32(1_000_000 + i)
		f := sendFrame("BytesBinary", properties, []byte("binary"))
		if err := c.WriteRaw(binaryFrame(f, opaque)); err != nil {
			return err
		}
		if _, err := p.answer(c, f.Code, opaque); err != nil {
			return err
		}
	}
	return nil
}

func binaryFrame(f *replay.Frame, opaque int32) []byte {
	var ext []byte
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "m"} {
		if value, ok := f.ExtFields[name].(string); ok {
			ext = append(binary.BigEndian.AppendUint16(ext, uint16(len(name))), name...)
			ext = append(binary.BigEndian.AppendUint32(ext, uint32(len(value))), value...)
		}
	}
	h := binary.BigEndian.AppendUint16(nil, uint16(f.Code))
	h = append(h, 0) // Java
	h = binary.BigEndian.AppendUint16(h, uint16(f.Version))
	h = binary.BigEndian.AppendUint32(h, uint32(opaque))
	h = binary.BigEndian.AppendUint32(h, uint32(f.Flag))
	h = binary.BigEndian.AppendUint32(h, 0) // remark
	h = append(binary.BigEndian.AppendUint32(h, uint32(len(ext))), ext...)
	out := binary.BigEndian.AppendUint32(nil, uint32(4+len(h)+len(f.Body)))
	out = binary.BigEndian.AppendUint32(out, uint32(len(h))|1<<24)
	return append(append(out, h...), f.Body...)
}

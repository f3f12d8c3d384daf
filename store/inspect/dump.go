// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package inspect

import (
	"bufio"
	"cmp"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"rocketmq-go/message"
	"rocketmq-go/store"
	"rocketmq-go/store/commitlog"
	"rocketmq-go/store/consumequeue"
)

// maxHits is how many messages are asked for per key.
const maxHits = 64

// Dump opens a directory, recovering it as a broker would (give it a copy), and prints what it holds. The error of a
// directory that is refused is returned, after its line was printed.
func Dump(dir string, o Options, out io.Writer) error {
	o.Store.Dir = dir
	o.Store.BatchTopic = batchTopics(dir)
	abort := filepath.Join(dir, "abort")
	_, err := os.Lstat(abort)
	found := err == nil
	w := bufio.NewWriter(out)
	defer w.Flush()
	s, err := store.Open(o.Store)
	if err != nil {
		w.WriteString(new(line).str("t", "store").bool("load", false).bool("abortFileFound", found).end())
		return err
	}
	d := dumper{s: s, o: &o, w: w, reader: commitlog.Reader{Log: s.CommitLog()}, keys: make(map[string]struct{})}
	err = d.all(found)
	d.reader.Close()
	if cerr := s.Close(); err == nil {
		err = cerr
	}
	if found && !o.Start && err == nil {
		err = os.WriteFile(abort, nil, 0o644) // as it was found
	}
	return err
}

type dumper struct {
	s      *store.Store
	o      *Options
	w      *bufio.Writer
	reader commitlog.Reader
	keys   map[string]struct{}
}

func (d *dumper) all(abortFound bool) error {
	d.storeLine(abortFound)
	queues := d.queues()
	if strings.Contains(d.o.What, "queues") {
		for _, q := range queues {
			d.queue(q)
		}
	}
	if strings.Contains(d.o.What, "msgs") || d.o.AllKeys {
		for _, q := range queues {
			d.messages(q)
		}
	}
	if strings.Contains(d.o.What, "phy") {
		if err := d.walk(); err != nil {
			return err
		}
	}
	if strings.Contains(d.o.What, "index") {
		return d.index()
	}
	return nil
}

func (d *dumper) print(l *line) { d.w.WriteString(l.end()) }

func (d *dumper) storeLine(abortFound bool) {
	s := d.s
	behind, confirm := int64(-1), s.MaxPhyOffset()
	if d.o.Start {
		behind = s.DispatchBehind()
	}
	if d.o.Store.Compat49 {
		confirm = -1
	}
	physic, logics, index := s.Timestamps()
	d.print(new(line).str("t", "store").bool("load", true).bool("abortFileFound", abortFound).
		int("minPhyOffset", s.MinPhyOffset()).int("maxPhyOffset", s.MaxPhyOffset()).int("dispatchBehind", behind).
		int("confirmOffset", confirm).int("checkpointPhysic", physic).int("checkpointLogics", logics).int("checkpointIndex", index))
}

// queues are all queues; 4.9.7 knows those of all delay levels, used or not.
func (d *dumper) queues() []store.QueueInfo {
	queues := d.s.QueueInfos()
	if !d.o.Store.Compat49 {
		return queues
	}
	const schedule, levels = "SCHEDULE_TOPIC_XXXX", 18
	have := make(map[int32]bool)
	for _, q := range queues {
		if q.Topic == schedule {
			have[q.QueueID] = true
		}
	}
	for id := range int32(levels) {
		if !have[id] {
			queues = append(queues, store.QueueInfo{Topic: schedule, QueueID: id, MaxPhy: -1})
		}
	}
	slices.SortStableFunc(queues, func(a, b store.QueueInfo) int {
		return cmp.Or(compareJava(a.Topic, b.Topic), int(a.QueueID-b.QueueID))
	})
	return queues
}

// compareJava is String.compareTo: by UTF-16 units.
func compareJava(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

// queue prints a queue. Java's batch queues know where their newest record begins, the others where it ends.
func (d *dumper) queue(q store.QueueInfo) {
	kind := "SimpleCQ"
	if q.Batch {
		kind = "BatchCQ"
		if u, ok := d.s.Unit(q.Topic, q.QueueID, q.Max-1); ok {
			q.MaxPhy = u.PhyOffset
		}
	}
	d.print(new(line).str("t", "queue").str("type", kind).str("topic", q.Topic).int("queueId", int64(q.QueueID)).
		int("min", q.Min).int("max", q.Max).int("maxPhysic", q.MaxPhy))
}

func (d *dumper) messages(q store.QueueInfo) {
	for off := q.Min; off < q.Max; {
		u, ok := d.s.Span(q.Topic, q.QueueID, off)
		if !ok {
			break
		}
		off = u.End()
		l := new(line).str("t", "msg").str("topic", q.Topic).int("queueId", int64(q.QueueID)).int("cqOffset", u.Offset).
			int("cqPos", u.PhyOffset).int("cqSize", int64(u.Size))
		raw, ok := d.reader.Bytes(u.PhyOffset, int(u.Size))
		r, err := message.ParseRecord(raw)
		if consumequeue.IsExtAddress(u.TagsCode) && err == nil { // Java prints what stands at that address
			u.TagsCode = message.TagsCode(message.ScanKnown(r.Properties).Tags)
		}
		l.int("cqTagsCode", u.TagsCode)
		if u.Count > 1 {
			l.int("cqBatchNum", int64(u.Count))
		}
		switch {
		case !ok:
			l.str("error", "no such record")
		case err != nil:
			l.str("error", "not decodable")
		default:
			d.describe(l, &r)
		}
		if strings.Contains(d.o.What, "msgs") {
			d.print(l)
		}
	}
}

func (d *dumper) describe(l *line, r *message.Record) {
	props := message.PropertyMap(r.Properties)
	topic := string(r.Topic)
	l.int("phyOffset", r.PhyOffset).int("size", int64(r.Size)).int("queueOffset", r.QueueOffset).
		str("msgTopic", topic).int("flag", int64(r.Flag)).int("sysFlag", int64(r.SysFlag)).int("bodyCRC", int64(r.BodyCRC)).
		int("bornTimestamp", r.BornTimestamp).str("bornHost", javaHost(r.BornHost)).
		int("storeTimestamp", r.StoreTimestamp).str("storeHost", javaHost(r.StoreHost)).
		int("reconsumeTimes", int64(r.ReconsumeTimes)).int("preparedTransactionOffset", r.PreparedTransactionOffset)
	for _, p := range [2][2]string{{"tags", message.PropTags}, {"keys", message.PropKeys}} {
		if v, ok := props[p[1]]; ok {
			l.str(p[0], v)
		} else {
			l.raw(p[0], "null")
		}
	}
	sum := sha1.Sum(r.Body)
	l.str("msgId", message.OffsetID(r.StoreHost, r.PhyOffset)).int("bodyLen", int64(len(r.Body))).
		str("bodySha1", hex.EncodeToString(sum[:])).raw("props", sortedObject(props))

	if keys, ok := props[message.PropKeys]; ok {
		for _, k := range javaSplit(keys) {
			d.keys[topic+"#"+k] = struct{}{}
		}
	}
	if k, ok := props[message.PropUniqKey]; ok {
		d.keys[topic+"#"+k] = struct{}{}
	}
}

// javaSplit is String.split(" "): empty strings at the end are dropped.
func javaSplit(s string) []string {
	parts := strings.Split(s, " ")
	for len(parts) > 1 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	return parts
}

// javaHost is what InetAddress.getHostAddress prints: IPv6 without compression.
func javaHost(h netip.AddrPort) string {
	a := h.Addr()
	if a.Is4() {
		return a.String() + "|" + strconv.Itoa(int(h.Port()))
	}
	b := a.As16()
	var sb strings.Builder
	for i := 0; i < 16; i += 2 {
		if i > 0 {
			sb.WriteByte(':')
		}
		sb.WriteString(strconv.FormatUint(uint64(b[i])<<8|uint64(b[i+1]), 16))
	}
	return sb.String() + "|" + strconv.Itoa(int(h.Port()))
}

// walk reads the log record by record.
func (d *dumper) walk() error {
	cl := d.s.CommitLog()
	from := d.s.MinPhyOffset()
	res := commitlog.ScanResult{End: from}
	if from >= 0 {
		var err error
		res, err = cl.Scan(from, cl.End(), commitlog.CheckBody, func(int64, *message.Record, []byte) error { return nil })
		if err != nil {
			return err
		}
	}
	stop := "maxPhyOffset"
	if res.Stop != "" {
		stop = fmt.Sprintf("bad record at %d", res.End)
	}
	d.print(new(line).str("t", "phy").int("records", res.Records).int("blanks", res.Blanks).int("end", res.End).str("stop", stop))
	return nil
}

func (d *dumper) index() error {
	var ask []string
	for _, k := range d.o.Keys {
		if strings.Contains(k, "#") {
			ask = append(ask, k)
		}
	}
	if d.o.AllKeys {
		all := make([]string, 0, len(d.keys))
		for k := range d.keys {
			all = append(all, k)
		}
		slices.SortFunc(all, compareJava)
		ask = append(ask, all...)
	}
	for _, k := range ask {
		if err := d.hits(k); err != nil {
			return err
		}
	}
	return nil
}

// hits prints what the index has for a key, unfiltered: other keys of the same hash too, as Java.
func (d *dumper) hits(key string) error {
	topic, k, _ := strings.Cut(key, "#")
	var offsets []int64
	var time, phy int64
	if ix := d.s.Index(); ix != nil {
		var err error
		time, phy, err = ix.Query(topic, k, 0, math.MaxInt64, func(off int64) bool {
			offsets = append(offsets, off)
			return len(offsets) < maxHits
		})
		if err != nil {
			return err
		}
	}
	if len(offsets) == 0 {
		time, phy = 0, 0
	}
	slices.Sort(offsets)
	var sb strings.Builder
	for _, off := range offsets {
		head, ok := d.reader.Bytes(off, 4)
		if !ok {
			continue
		}
		if _, ok := d.reader.Record(off); !ok {
			if _, ok := d.reader.Bytes(off, int(int32(binary.BigEndian.Uint32(head)))); !ok {
				continue
			}
			off = -1 // Java finds something there that is no message
		}
		if sb.Len() > 0 {
			sb.WriteByte(',')
		}
		sb.WriteString(strconv.FormatInt(off, 10))
	}
	d.print(new(line).str("t", "index").str("key", key).raw("offsets", "["+sb.String()+"]").
		int("lastUpdateTimestamp", time).int("lastUpdatePhyOffset", phy))
	return nil
}

// DumpCommand is the command line of Dump: DIR [key=value …]. It returns the exit code: 2 for a refused directory.
func DumpCommand(args []string, out, errw io.Writer) int {
	if len(args) < 1 {
		fmt.Fprintln(errw, "usage: dump DIR [key=value …]")
		return 2
	}
	o, err := ParseOptions(args[1:])
	if err != nil {
		fmt.Fprintln(errw, err)
		return 2
	}
	o.warn(errw)
	if err := Dump(args[0], o, out); err != nil {
		fmt.Fprintln(errw, err)
		return 2
	}
	return 0
}

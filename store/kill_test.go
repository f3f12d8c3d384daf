// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rocketmq-go/message"
	"rocketmq-go/store"
	"rocketmq-go/store/commitlog"
)

// The kill tests run this test binary again as a child that stores messages and prints what was acknowledged, kill it
// with SIGKILL at any moment, and look at what it left behind.

const childEnv = "ROCKETMQ_STORE_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		runChild(dir)
	}
	for env, run := range map[string]func(string) error{
		fullEnv: runDiskFull, readOnlyEnv: runReadOnlyDisk, cleaningEnv: runCleaning, remountEnv: runRemount, permissionEnv: runPermission,
	} {
		if dir := os.Getenv(env); dir != "" {
			if err := run(dir); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	goleak.VerifyTestMain(m)
}

func killConfig(dir string, round int) store.Config {
	return store.Config{
		Dir: dir, CommitLogFileSize: 1 << 20, ConsumeQueueFileSize: 40000, BatchQueueFileSize: 46000, IndexSlots: 500, IndexUnits: 2000,
		EnableLMQ: true, EnableMultiDispatch: true, SyncFlush: round%3 == 2,
		Flushing: func() store.Flushing {
			return store.Flushing{Interval: 10 * time.Millisecond, LeastPages: 4, QueueInterval: 20 * time.Millisecond, QueueLeastPages: 2}
		},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

// batchTopic has batch queues in the directories that begin with every other 20th round: 4.9 knows none.
const batchTopic = "Kill2"

func hasBatchTopic(round int) func(string) bool {
	return func(topic string) bool { return topic == batchTopic && round/20%2 == 0 }
}

// keepFiles has old files deleted at once as long as the log has more than n.
func keepFiles(cfg *store.Config, n int) {
	dir := cfg.Dir
	cfg.DiskUsage = func(string) float64 {
		files, _ := os.ReadDir(filepath.Join(dir, "commitlog"))
		if len(files) > n {
			return 0.86
		}
		return 0.10
	}
	cfg.Cleaning = func() store.CleaningRules {
		return store.CleaningRules{
			CleanResourceInterval: time.Millisecond, DiskMaxUsedSpaceRatio: 0.75, DiskSpaceCleanForciblyRatio: 0.85,
			CleanFileForciblyEnable: true, DiskSpaceWarningLevelRatio: 0.90, FileReservedTime: time.Hour,
		}
	}
}

// seeded makes the message of a seed: its place and content follow from it.
func seeded(seed uint64) *message.Message {
	r := rand.New(rand.NewPCG(seed, 1))
	m := &message.Message{
		Topic: fmt.Sprintf("Kill%d", r.IntN(3)), QueueID: r.Int32N(4), BornTimestamp: 1700000000000,
		BornHost: netip.MustParseAddrPort("127.0.0.1:41244"), StoreHost: netip.MustParseAddrPort("127.0.0.1:10911"),
	}
	m.Body = make([]byte, r.IntN(3000))
	for i := range m.Body {
		m.Body[i] = 'a' + byte((seed+uint64(i))%26)
	}
	props := fmt.Sprintf("UNIQ_KEY\x01%d\x02KEYS\x01k%d k%d\x02TAGS\x01t%d\x02", seed, seed%50, seed%7, seed%5)
	if seed/10%10 == 3 { // single messages have even seeds
		props += fmt.Sprintf("INNER_MULTI_DISPATCH\x01%%LMQ%%%d,%%LMQ%%x\x02", seed%3)
	}
	m.Properties = []byte(props)
	return m
}

// innerBatch makes the batch of a seed as one record, with the messages that follow in its body.
func innerBatch(seed uint64) *message.Message {
	m := seeded(seed)
	count := 2 + seed/10%8
	m.Body = nil
	for i := range count {
		m.Body = message.AppendBatchEntry(m.Body, 0, seeded(seed+1+i).Body, nil)
	}
	m.SysFlag = message.SysInnerBatch | message.SysNeedUnwrap
	m.Properties = message.AppendProperty(m.Properties, message.PropInnerNum, strconv.FormatUint(count, 10))
	return m
}

// countOf is how many messages a record stands for.
func countOf(r *message.Record) int64 {
	if r.SysFlag&message.SysInnerBatch == 0 {
		return 1
	}
	n, _ := strconv.ParseInt(string(message.ScanKnown(r.Properties).InnerNum), 10, 16)
	return n
}

// runChild stores messages until it is killed. Standard output is a line per acknowledged message:
// seed, physical offset, queue offset.
func runChild(dir string) {
	round, _ := strconv.Atoi(os.Getenv(childEnv + "_ROUND"))
	cfg := killConfig(dir, round)
	cfg.BatchTopic = hasBatchTopic(round)
	if os.Getenv(childEnv+"_CLEANS") != "" {
		keepFiles(&cfg, 5)
	}
	s, err := store.Open(cfg)
	if err != nil {
		fmt.Println("open:", err)
		os.Exit(3)
	}
	var mu sync.Mutex
	acknowledge := func(seed uint64, phy, offset int64) {
		mu.Lock()
		fmt.Printf("%d %d %d\n", seed, phy, offset)
		mu.Unlock()
	}
	fmt.Println("started")
	for worker := range uint64(4) {
		go func() {
			for n := uint64(round)<<32 | worker<<24; ; n += 10 {
				m := seeded(n)
				switch {
				case n%70 < 10 && cfg.BatchTopic(m.Topic):
					m = innerBatch(n)
				case n%70 < 10:
					putBatch(s, n, acknowledge)
					continue
				}
				done := make(chan struct{})
				s.Put(m, func(r store.PutResult) {
					if r.Status == store.PutOK {
						acknowledge(n, r.PhyOffset, r.QueueOffset)
					}
					close(done)
				})
				<-done
			}
		}()
	}
	time.Sleep(time.Minute) // a parent that died does not kill
	os.Exit(4)
}

// putBatch stores a batch of up to 9 messages with seeds from n+1 on, in the queue of n.
func putBatch(s *store.Store, n uint64, acknowledge func(seed uint64, phy, offset int64)) {
	m := seeded(n)
	count := 2 + n/10%8
	m.Body, m.Properties = nil, nil
	for i := range count {
		e := seeded(n + 1 + i)
		m.Body = message.AppendBatchEntry(m.Body, 0, e.Body, []byte(fmt.Sprintf("UNIQ_KEY\x01%d\x02", n+1+i)))
	}
	done := make(chan struct{})
	s.PutBatch(m, func(r store.PutResult) {
		if r.Status == store.PutOK {
			for i, phy := range r.Offsets {
				acknowledge(n+1+uint64(i), phy, r.QueueOffset+int64(i))
			}
		}
		close(done)
	})
	<-done
}

// ack is an acknowledged message.
type ack struct {
	seed        uint64
	phy, offset int64
}

// killRound runs a child for a while, kills it, and returns what it had acknowledged.
func killRound(t *testing.T, dir string, round int, env ...string) []ack {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"="+dir, fmt.Sprintf("%s_ROUND=%d", childEnv, round))
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var acks []ack
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "started" {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatalf("child: %q", lines.Text())
	}
	timer := time.AfterFunc(time.Duration(10+rand.IntN(200))*time.Millisecond, func() { _ = cmd.Process.Kill() })
	for lines.Scan() {
		var a ack
		// a last line may be cut
		if n, _ := fmt.Sscanf(lines.Text(), "%d %d %d", &a.seed, &a.phy, &a.offset); n == 3 && strings.Count(lines.Text(), " ") == 2 {
			acks = append(acks, a)
		}
	}
	timer.Stop()
	_ = cmd.Wait()
	if len(acks) > 0 { // its last number may be cut
		acks = acks[:len(acks)-1]
	}
	return acks
}

// checkAcks looks at each acknowledged message.
func checkAcks(t *testing.T, s *store.Store, acks []ack) {
	t.Helper()
	for _, a := range acks {
		if a.phy < s.MinPhyOffset() {
			continue // deleted
		}
		raw, ok := s.Record(nil, a.phy, 0)
		if !ok {
			t.Fatalf("acknowledged message %d is not at %d; the log ends at %d", a.seed, a.phy, s.MaxPhyOffset())
		}
		r, err := message.ParseRecord(raw)
		if err != nil {
			t.Fatal(err)
		}
		want := seeded(a.seed)
		if r.SysFlag&message.SysInnerBatch != 0 {
			want = innerBatch(a.seed)
		}
		if string(r.Body) != string(want.Body) || r.QueueOffset != a.offset || r.PhyOffset != a.phy {
			t.Fatalf("message %d came back with other content", a.seed)
		}
		for _, offset := range []int64{a.offset, a.offset + countOf(&r) - 1} {
			u, ok := s.Unit(string(r.Topic), r.QueueID, offset)
			if !ok || u.PhyOffset != a.phy || u.Size != r.Size {
				t.Fatalf("message %d: unit %+v at queue offset %d of %s-%d", a.seed, u, offset, r.Topic, r.QueueID)
			}
		}
	}
}

// endsBatch tells whether a message is the last of its batch, or in none: see runChild and putBatch.
func endsBatch(seed uint64) bool {
	const workers = 1<<24 - 1
	number := (seed & workers) % 10
	return number == 0 || number == 2+(seed-number)/10%8
}

// checkConsistent walks the log and holds queues and index against it: each record has its units, queues have no others,
// and each key finds its message once.
func checkConsistent(t *testing.T, s *store.Store) (records int) {
	t.Helper()
	type place struct {
		topic string
		id    int32
	}
	units := make(map[place]int64)
	last := ""
	expect := func(topic string, id int32, offset int64, r *message.Record) {
		u, ok := s.Unit(topic, id, offset)
		tags := message.TagsCode(message.ScanKnown(r.Properties).Tags)
		if !ok || u.PhyOffset != r.PhyOffset || u.Size != r.Size || u.TagsCode != tags {
			t.Fatalf("%s-%d: unit %d is %+v, record at %d", topic, id, offset, u, r.PhyOffset)
		}
		units[place{topic, id}]++
		if topic == string(r.Topic) {
			units[place{topic, id}] += countOf(r) - 1
		}
	}
	cl := s.CommitLog()
	res, err := cl.Scan(s.MinPhyOffset(), cl.End(), commitlog.CheckBody, func(off int64, r *message.Record, _ []byte) error {
		known := message.ScanKnown(r.Properties)
		if off != r.PhyOffset {
			t.Fatalf("record at %d says %d", off, r.PhyOffset)
		}
		if last = string(known.UniqKey); last == "" {
			t.Fatalf("record at %d is written in part", off)
		}
		expect(string(r.Topic), r.QueueID, r.QueueOffset, r)
		if len(known.MultiQueueOffset) > 0 {
			names, offsets := strings.Split(string(known.MultiDispatch), ","), strings.Split(string(known.MultiQueueOffset), ",")
			for i, name := range names {
				n, _ := strconv.ParseInt(offsets[i], 10, 64)
				expect(name, 0, n, r)
			}
		}
		// many small index files make this slow: look at the newest, and at samples of the rest
		if records++; records%53 != 0 && off < cl.End()-256<<10 {
			return nil
		}
		if hits := s.QueryIndex(string(r.Topic), string(known.UniqKey), 64, 0, math.MaxInt64).PhyOffsets; len(hits) != 1 || hits[0] != off {
			t.Fatalf("record at %d of %d: its unique key finds %v; index files %+v", off, cl.End(), hits, s.Index().Headers())
		}
		return nil
	})
	if err != nil || res.Stop != "" || res.End != cl.End() {
		t.Fatalf("log ends at %d: %+v, %v", cl.End(), res, err)
	}
	if seed, _ := strconv.ParseUint(last, 10, 64); !endsBatch(seed) {
		t.Fatalf("the log ends in the middle of a batch, with message %d", seed)
	}
	for _, q := range s.QueueInfos() {
		if got := units[place{q.Topic, q.QueueID}]; got != q.Max-q.Min || q.Min != 0 && s.MinPhyOffset() == 0 {
			t.Fatalf("%s-%d: [%d,%d), %d records", q.Topic, q.QueueID, q.Min, q.Max, got)
		}
	}
	// a key that many messages have: every one is in the index, none twice
	hits := 0
	ix := s.Index()
	_, _, err = ix.Query("Kill0", "k3", 0, math.MaxInt64, func(off int64) bool {
		if off >= s.MinPhyOffset() {
			hits++
		}
		return true
	})
	want := 0
	if _, serr := cl.Scan(s.MinPhyOffset(), cl.End(), commitlog.CheckNone, func(_ int64, r *message.Record, _ []byte) error {
		if string(r.Topic) == "Kill0" {
			for _, k := range strings.Fields(string(message.ScanKnown(r.Properties).Keys)) {
				if k == "k3" {
					want++
				}
			}
		}
		return nil
	}); serr != nil || err != nil {
		t.Fatal(serr, err)
	}
	if hits != want {
		t.Fatalf("key k3: %d hits for %d messages", hits, want)
	}
	return records
}

// nameBatchTopic writes the attribute of the batch topic where Java looks for it.
func nameBatchTopic(t *testing.T, dir string, is func(string) bool) {
	t.Helper()
	if !is(batchTopic) {
		return
	}
	text := `{"topicConfigTable":{"` + batchTopic + `":{"attributes":{"queue.type":"BatchCQ"},"topicName":"` + batchTopic + `"}}}`
	config := filepath.Join(dir, "config")
	if err := os.MkdirAll(config, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "topics.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// killRounds kills a child again and again over one directory, which is begun anew every 20 rounds. judge may look at
// the directory as the child left it.
func killRounds(t *testing.T, rounds int, judge func(t *testing.T, round int, dir string), env ...string) {
	var dir string
	var acks []ack
	for round := range rounds {
		if round%20 == 0 {
			dir, acks = filepath.Join(t.TempDir(), "store"), nil
			nameBatchTopic(t, dir, hasBatchTopic(round))
		}
		acks = append(acks, killRound(t, dir, round, env...)...)
		if judge != nil {
			judge(t, round, dir)
		}
		cfg := killConfig(dir, round)
		cfg.BatchTopic = hasBatchTopic(round)
		cfg.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
		s, err := store.Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		checkAcks(t, s, acks)
		records, began := checkConsistent(t, s), s.MinPhyOffset()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("round %d: %d acknowledged so far, %d records from %d on", round, len(acks), records, began)
	}
}

func TestKilledWhileStoring(t *testing.T) {
	rounds := 3
	if n, err := strconv.Atoi(os.Getenv("ROCKETMQ_KILL_ROUNDS")); err == nil {
		rounds = n
	}
	killRounds(t, rounds, nil)
}

// The same while old files are deleted all the time: the process dies between any two of log, queues and index.
func TestKilledWhileCleaning(t *testing.T) {
	rounds := 3
	if n, err := strconv.Atoi(os.Getenv("ROCKETMQ_KILL_ROUNDS")); err == nil {
		rounds = n
	}
	killRounds(t, rounds, nil, childEnv+"_CLEANS=1")
}

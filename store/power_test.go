// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/internal/powerdisk"
	"rocketmq-go/store/consumequeue"
	"rocketmq-go/store/segment"
)

// powerTest plays one schedule: a store on a forgetful disk, whose power fails again and again, at any moment. All that
// the store does in the background is done here step by step, in an order that follows from the seed.
type powerTest struct {
	t    *testing.T
	seed uint64
	rng  *rand.Rand
	dir  string
	cfg  Config
	now  int64 // ms
	full bool  // the disk, for the cleaner

	disk *powerdisk.Disk
	s    *Store
	runs int // directories

	all       []*stored // what is in the log, in its order
	deleted   map[string]int64
	deleting  map[string]int64
	nextSeed  int
	indexed   bool // nothing of the index was lost so far
	clockBack bool
	failed    *powerFailure
	did       []string

	master *powerTest // whose log this store copies; nil: it is not a slave's
	copied int64      // how far it was ever copied
}

// stored is a message that was put.
type stored struct {
	raw                []byte
	topic              string
	queueID            int32
	phy, offset, time  int64
	key                string
	further            []string // topics of light message queues
	furtherOffsets     []int64
	queued, rolledBack bool
	batch              bool  // of a batch queue
	count              int64 // messages
	size               int64
	ext                ExtUnit // what the extension of its unit has to say
}

// powerFailure is what was promised when the power failed.
type powerFailure struct {
	dir     string
	flushed int64
}

func TestPowerFailures(t *testing.T) {
	playPowerFailures(t, 150, 20, newPowerTest)
}

// playPowerFailures plays so many schedules, fewer with -short.
func playPowerFailures(t *testing.T, rounds, short int, prepare func(t *testing.T, seed uint64, dir string) *powerTest) {
	t.Helper()
	if testing.Short() {
		rounds = short
	}
	failures := 0
	for seed := range powerdisk.Seeds(rounds) {
		dir := memoryDir(t)
		synctest.Test(t, func(t *testing.T) {
			p := prepare(t, seed, dir)
			defer p.end()
			p.play()
			failures += p.runs
		})
		if t.Failed() {
			t.Fatalf("run again with ROCKETMQ_POWER_SEED=%d ROCKETMQ_POWER_ROUNDS=1", seed)
		}
		os.RemoveAll(dir)
	}
	t.Logf("%d power failures", failures)
}

// memoryDir is a directory that is in memory, if there is one: nothing here needs a real disk.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "power")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func newPowerTest(t *testing.T, seed uint64, dir string) *powerTest {
	p := &powerTest{
		t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 7)), dir: dir, now: 1700000000000,
		deleted: make(map[string]int64), deleting: make(map[string]int64), indexed: true,
	}
	p.clockBack = p.rng.IntN(6) == 0
	p.cfg = Config{
		CommitLogFileSize: 64 << 10, ConsumeQueueFileSize: 8000, IndexSlots: 1500, IndexUnits: 400,
		ExtFileSize: 10000, BatchQueueFileSize: 100 * consumequeue.BatchUnitSize, FilterBitMap: bitMap,
		BatchTopic: func(topic string) bool { return topic[0] == 'B' },
		EnableLMQ:  true, EnableMultiDispatch: true, SyncFlush: p.rng.IntN(3) > 0, IndexSafe: p.rng.IntN(2) == 0,
		Compat49: p.rng.IntN(4) == 0, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Now: func() time.Time { return time.UnixMilli(p.now) },
		DiskUsage: func(string) float64 {
			if p.full {
				return 0.86
			}
			return 0.10
		},
		Cleaning: func() CleaningRules {
			return CleaningRules{
				DiskMaxUsedSpaceRatio: 0.75, DiskSpaceCleanForciblyRatio: 0.85, CleanFileForciblyEnable: true,
				DiskSpaceWarningLevelRatio: 0.90, FileReservedTime: time.Hour, DeleteFileBatchMax: 2,
			}
		},
	}
	p.disk = powerdisk.New(filepath.Join(dir, "0"), p.rng)
	if err := os.MkdirAll(p.disk.Root, 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *powerTest) end() {
	if p.s != nil {
		p.s.release()
	}
	p.disk.Close()
	if p.master != nil {
		p.master.end()
	}
}

func (p *powerTest) fail(format string, args ...any) {
	p.t.Helper()
	did := p.did
	if len(did) > 40 {
		did = did[len(did)-40:]
	}
	p.t.Fatalf("seed %d: %s\nthe directory: %s\nlast steps: %s", p.seed, fmt.Sprintf(format, args...), p.disk.Root, strings.Join(did, ", "))
}

func (p *powerTest) step(format string, args ...any) {
	p.did = append(p.did, fmt.Sprintf(format, args...))
}

func (p *powerTest) play() {
	p.open()
	for range 5 {
		for range 10 + p.rng.IntN(150) {
			p.operate()
		}
		p.arm(nil)
		for p.failed == nil {
			if p.rng.IntN(20) == 0 { // between two operations
				p.disk.Fail()
				break
			}
			p.operate()
		}
		p.restart()
	}
	if err := p.close(); err != nil {
		p.fail("close: %v", err)
	}
}

// arm has the power fail at one of the next events. starting: the store is being opened, and what it has to find again.
func (p *powerTest) arm(starting *powerFailure) {
	p.disk.Arm(p.rng.IntN(12), func() {
		p.runs++
		p.failed = &powerFailure{dir: filepath.Join(p.dir, strconv.Itoa(p.runs))}
		if starting != nil {
			p.failed.flushed = starting.flushed
		} else if p.s != nil {
			p.failed.flushed = p.s.cl.Flushed()
		}
		p.disk.WriteBack(p.rng.Float64())
		if err := p.disk.Save(p.failed.dir); err != nil {
			panic(err)
		}
		p.step("power failure %d", p.runs)
		p.indexed = p.cfg.IndexSafe
	})
}

// restart opens what the disk had when the power failed. It may fail again meanwhile.
func (p *powerTest) restart() {
	for p.failed != nil {
		f := p.failed
		p.failed = nil
		if p.s != nil {
			p.s.release()
			p.s = nil
		}
		p.disk.Close()
		p.disk = powerdisk.New(f.dir, p.rng)
		if err := p.disk.Take(); err != nil {
			p.fail("%v", err)
		}
		for len(p.all) > 0 && p.all[len(p.all)-1].end() > f.flushed && p.lostOnDisk(p.all[len(p.all)-1]) {
			p.all = p.all[:len(p.all)-1]
		}
		p.checkPromises()
		if p.rng.IntN(3) == 0 {
			p.arm(f)
		}
		p.open()
		p.disk.Disarm()
		p.check(f.flushed)
	}
}

func (m *stored) end() int64 { return m.phy + m.size }

func (p *powerTest) open() {
	p.cfg.Dir, p.cfg.disk = p.disk.Root, p.disk
	p.cfg.ExtEnabled = p.rng.IntN(3) > 0
	p.step("open, extensions %v", p.cfg.ExtEnabled)
	s, err := newStore(p.cfg)
	if err != nil {
		p.fail("open: %v", err)
	}
	s.upkeep.atOnce = 1
	s.cleaner.writeAll = func() bool { s.upkeep.round(true); return true }
	p.s = s
	synctest.Wait()
}

func (p *powerTest) close() error {
	p.step("close")
	s := p.s
	if s.cfg.SyncFlush {
		s.flush.group()
	}
	err := s.Close()
	synctest.Wait()
	p.s = nil
	return err
}

// operate does something at random.
func (p *powerTest) operate() {
	switch n := p.rng.IntN(100); {
	case n < 55 && p.master != nil:
		p.copyOne()
	case n < 55:
		p.put()
	case n < 70:
		least := p.rng.IntN(2) * 4
		p.step("flush %d", least)
		if p.s.cfg.SyncFlush {
			p.s.flush.group()
		} else {
			_ = p.s.flush.flush(least)
		}
	case n < 84:
		p.step("dispatch")
		p.s.dispatch.work()
	case n < 93:
		all := p.rng.IntN(3) == 0
		p.step("upkeep %v", all)
		p.s.upkeep.round(all)
	case n < 95:
		p.step("clean")
		p.full = true
		r := p.s.cleaner.rules()
		p.s.cleaner.disk.look(&r)
		p.s.cleaner.cleanLog()
		p.s.cleaner.follow()
		p.full = false
		p.s.cleaner.disk.look(&r)
	case n < 96 && p.master != nil:
		topic := p.topic()
		p.step("the master deletes %s", topic)
		p.master.s.DeleteTopics([]string{topic})
	case n < 96:
		topic := p.topic()
		p.step("delete %s", topic)
		p.deleting[topic] = p.s.cl.End()
		p.s.DeleteTopics([]string{topic})
		synctest.Wait()
		if p.failed == nil {
			p.deleted[topic] = p.s.gone.before[topic]
		}
	case n < 97:
		if err := p.close(); err != nil {
			p.fail("close: %v", err)
		}
		if p.failed == nil {
			p.open()
			p.check(p.s.cl.End())
		}
	case n < 98:
		p.step("kill")
		end := p.s.cl.End()
		p.s.release()
		p.open()
		p.check(end)
	default:
		p.now += p.rng.Int64N(20000)
		if p.clockBack {
			p.now -= p.rng.Int64N(30000)
		}
	}
	synctest.Wait()
}

// lostOnDisk tells whether the disk does not have a whole record.
func (p *powerTest) lostOnDisk(m *stored) bool {
	return string(p.diskBytes("commitlog", m.phy, int(m.size), p.cfg.CommitLogFileSize)) != string(m.raw)
}

// diskBytes are bytes of a sequence of files as the last power failure left them; nil if they are not there.
func (p *powerTest) diskBytes(dir string, at int64, n int, fileSize int64) []byte {
	f, err := os.Open(filepath.Join(p.disk.Root, dir, segment.Name(at-at%fileSize)))
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, n)
	if _, err := f.ReadAt(b, at%fileSize); err != nil {
		return nil
	}
	return b
}

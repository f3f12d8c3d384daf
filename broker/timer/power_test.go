// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timer

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/internal/powerdisk"
	"rocketmq-go/store"
)

// The power fails at any moment, again and again, below a store with sync flush and the timer files. Every message that
// was acknowledged is delivered, none early, and twice only if it was delivered within the last flush time or so before a
// failure. ROCKETMQ_POWER_ROUNDS is how many schedules, ROCKETMQ_POWER_SEED the first.
func TestPowerFailures(t *testing.T) {
	for seed := range powerdisk.Seeds(5) {
		base, err := os.MkdirTemp("/dev/shm", "power") // nothing here needs a real disk
		if err != nil {
			base = t.TempDir()
		}
		synctest.Test(t, func(t *testing.T) {
			p := &powerTest{rig: newRig(t), base: base, rng: rand.New(rand.NewPCG(seed, 11)), due: map[string]time.Time{}, rolled: map[string]bool{}}
			p.play()
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		})
		os.RemoveAll(base)
	}
}

type powerTest struct {
	*rig
	base string
	rng  *rand.Rand
	disk *powerdisk.Disk
	runs int

	mu       sync.Mutex
	due      map[string]time.Time // of the messages that were put
	rolled   map[string]bool      // those that go back to the timer topic: that counts as a delivery
	acked    map[string]bool
	failed   bool
	promised map[string]bool // acked when the power failed
	failures []time.Time
}

func (p *powerTest) openAt(dir string) {
	p.dir, p.cfg.Dir = dir, dir
	p.disk = powerdisk.New(dir, rand.New(rand.NewPCG(p.rng.Uint64(), 13))) // syncs come from several goroutines
	if err := p.disk.Take(); err != nil {
		p.t.Fatal(err)
	}
	p.cfg = p.cfg.WithDisk(p.disk)
	p.o.Disk = p.disk
	p.open()
	p.o.Put = p.store.Put
	p.start()
}

// send stores a message that is due within the next seconds, or, some, much later.
func (p *powerTest) send() {
	body := strconv.Itoa(len(p.due))
	wait := time.Duration(p.rng.IntN(8000)+1) * time.Millisecond
	if p.rng.IntN(10) == 0 {
		wait *= 10
	}
	p.rolled[body] = wait > time.Duration(p.o.Window-1)*time.Second // from the start of a tick
	at := time.Now().Add(wait)
	p.due[body] = at
	p.store.Put(timed(body, at), func(res store.PutResult) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if res.Status == store.PutOK {
			p.acked[body] = true
		}
	})
}

func (p *powerTest) play() {
	p.cfg.SyncFlush, p.cfg.CommitLogFileSize, p.cfg.ConsumeQueueFileSize = true, 256<<10, 8000
	p.o.FileSize, p.o.Window = 3000, 20
	p.acked = map[string]bool{}
	dir := filepath.Join(p.base, "0")
	if err := os.Mkdir(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	p.openAt(dir)
	for range 4 {
		p.fail(p.rng.IntN(150))
		for {
			for range p.rng.IntN(10) {
				p.send()
			}
			time.Sleep(time.Duration(p.rng.IntN(1500)) * time.Millisecond)
			synctest.Wait()
			p.mu.Lock()
			failed := p.failed
			p.mu.Unlock()
			if failed {
				break
			}
		}
		// what the machine did after its power had failed does not count
		p.kill()
		p.close()
		p.disk.Close()
		p.acked = p.promised
		p.openAt(filepath.Join(p.base, strconv.Itoa(p.runs)))
	}
	time.Sleep(3 * time.Minute)
	p.check()
	p.stop()
	p.close()
	p.disk.Close()
}

// fail has the power fail at the n-th event.
func (p *powerTest) fail(n int) {
	p.failed = false
	p.runs++
	to, written := filepath.Join(p.base, strconv.Itoa(p.runs)), p.rng.Float64()
	p.disk.Arm(n, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.failed, p.promised = true, maps.Clone(p.acked)
		p.failures = append(p.failures, time.Now())
		p.disk.WriteBack(written)
		if err := p.disk.Save(to); err != nil {
			panic(err)
		}
	})
}

func (p *powerTest) check() {
	bodies, at := p.got()
	seen := map[string]time.Time{}
	twice := 0
	for i, b := range bodies {
		if at[i].Before(p.due[b]) {
			p.t.Errorf("%s came %v early", b, p.due[b].Sub(at[i]))
		}
		before, again := seen[b]
		seen[b] = at[i]
		if !again {
			continue
		}
		twice++
		if !p.justBeforeAFailure(before) && !p.rolled[b] {
			p.t.Errorf("%s came at %v and at %v; the power failed at %v", b, before, at[i], p.failures)
		}
	}
	for b := range p.acked {
		if _, ok := seen[b]; !ok {
			p.t.Errorf("%s was acknowledged, due at %v, and never came; the power failed at %v", b, p.due[b], p.failures)
		}
	}
	if x := p.service.Stats(); x.Waiting != 0 || p.service.counts.sum() != 0 {
		p.t.Errorf("%+v, counts %d", x, p.service.counts.sum())
	}
	p.t.Logf("%d messages, %d acknowledged, %d came twice", len(p.due), len(p.acked), twice)
}

// justBeforeAFailure tells whether a delivery may not have been noted on disk: that takes a flush time, and a slot.
func (p *powerTest) justBeforeAFailure(at time.Time) bool {
	for _, f := range p.failures {
		if !at.After(f) && f.Sub(at) <= 3*time.Second {
			return true
		}
	}
	return false
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/internal/powerdisk"
)

// The schedules of TestPowerFailures with a slave's store: what it lost it gets again from its master, byte for byte in the
// same places.
func TestPowerFailuresOfSlaves(t *testing.T) {
	rounds := 20
	if testing.Short() {
		rounds = 4
	}
	failures := 0
	for seed := range powerdisk.Seeds(rounds) {
		dir := memoryDir(t)
		synctest.Test(t, func(t *testing.T) {
			p := newPowerTest(t, seed, filepath.Join(dir, "slave"))
			p.master = newPowerTest(t, seed+1000, filepath.Join(dir, "master"))
			p.master.cfg.Compat49, p.master.cfg.Cleaning = p.cfg.Compat49, nil
			p.master.cfg.Now = func() time.Time { return time.UnixMilli(p.now) }
			p.cfg.Slave = true
			p.master.open()
			defer p.master.end()
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

// copyOne gives the slave what it lacks of the master's next record; the master puts one if it has no more.
func (p *powerTest) copyOne() {
	p.now += p.rng.Int64N(1500)
	from := p.s.cl.End()
	next := 0
	for next < len(p.master.all) && p.master.all[next].phy < from {
		next++
	}
	if next == len(p.master.all) {
		p.master.put()
	}
	m := *p.master.all[next]
	for at := from; at < m.end(); {
		end := min(m.end(), p.s.cl.NextFile(at))
		if !p.master.s.ViewLog(at, int(end-at), func(data []byte) {
			if n := p.rng.IntN(len(data)); m.end() == end { // a record that has not come in full is not taken
				if took, err := p.s.AppendLog(at, data[:n]); took != 0 || err != nil {
					p.fail("%d of %d bytes at %d: took %d, %v", n, len(data), at, took, err)
				}
			}
			if took, err := p.s.AppendLog(at, data); took != len(data) || err != nil {
				p.fail("%d bytes at %d: took %d, %v", len(data), at, took, err)
			}
		}) {
			p.fail("the master's log cannot be read at %d", at)
		}
		at = end
	}
	synctest.Wait()
	p.all = append(p.all, &m)
	p.step("copied %d+%d", m.phy, m.size)
}

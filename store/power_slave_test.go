// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// The schedules of TestPowerFailures with a slave's store: what it lost it gets again from its master, byte for byte in the
// same places.
func TestPowerFailuresOfSlaves(t *testing.T) {
	playPowerFailures(t, 20, 4, func(t *testing.T, seed uint64, dir string) *powerTest {
		p := newPowerTest(t, seed, filepath.Join(dir, "slave"))
		p.cfg.Slave = true
		p.master = newPowerTest(t, seed+1000, filepath.Join(dir, "master"))
		p.master.cfg.Compat49, p.master.cfg.Cleaning = p.cfg.Compat49, nil
		p.master.cfg.Now = func() time.Time { return time.UnixMilli(p.now) }
		p.master.open()
		return p
	})
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
	p.copied = max(p.copied, m.end())
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

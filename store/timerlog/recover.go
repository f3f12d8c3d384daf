// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timerlog

import "math"

// Recovered is what Recover found.
type Recovered struct {
	Pending int64 // messages that wait: the sum of the slots' numbers
	// Entered are the physical offsets of messages whose units are newer than the checkpoint.
	Entered map[int64]struct{}
	// Lost tells that units are missing that the checkpoint knows: the whole timer topic must be looked through, and
	// Entered then are all messages that have units.
	Lost bool
}

// recovery is one run of Recover.
type recovery struct {
	*Files
	Recovered
	readTime int64
	flushed  int64  // of the checkpoint
	end      int64  // of the log
	begin    int64  // where the wheel may lack units
	dropped  bool   // the wheel referred to units that are not there
	moved    []Unit // units whose lists do not fit the slots
}

// Recover makes log and wheel fit each other and the commit log, which ends at maxPhy. Slots before readTime are
// delivered. Units that the wheel on disk does not know yet are entered; units of messages that the commit log does not
// have are dropped.
func (f *Files) Recover(readTime, maxPhy int64) (Recovered, error) {
	r := &recovery{Files: f, readTime: readTime, flushed: f.Check.Read().FlushPos}
	err := r.findEnd(maxPhy)
	if err == nil {
		err = r.loadWheel()
	}
	if err == nil {
		err = r.enterNew()
	}
	f.Log.Forget()
	return r.Recovered, err
}

// findEnd finds the end of the log: behind the last unit whose message is there.
func (r *recovery) findEnd(maxPhy int64) (err error) {
	from := r.flushed
	if !r.Log.holds(from) {
		from = r.Log.First()
	}
	if r.end, err = r.Log.walk(from, math.MaxInt64, func(int64, *Unit) error { return nil }); err != nil {
		return err
	}
	was := r.end
	for {
		// A crash has cut the commit log, or it was cut to follow another master. Queue order is log order, so the
		// units that lost their messages are the last ones.
		pos, u, ok := r.Log.before(r.end)
		if !ok || u.PhyOffset+int64(u.Size) <= maxPhy {
			break
		}
		r.end = pos
	}
	if r.end != was {
		r.log.Warn("timerlog: units of messages that the commit log has lost are dropped", "from", r.end, "to", was)
	}
	r.Lost = r.end < r.flushed
	if r.Lost {
		r.log.Warn("timerlog: units are missing, the timer topic is read again", "end", r.end, "was", r.flushed)
	}
	return nil
}

// loadWheel finds the slots with messages and how far back the wheel may lack units of the log.
func (r *recovery) loadWheel() error {
	r.begin = min(r.flushed, r.end)
	fits, err := r.Wheel.load(r.readTime, func(s Slot) bool {
		if s.Last >= r.end { // made anew from its oldest unit on
			r.begin = min(r.begin, max(s.First, 0))
			r.dropped = true
			return false
		}
		r.Pending += int64(s.Num)
		return true
	})
	if err != nil {
		return err
	}
	if !fits {
		r.log.Warn("timerlog: the wheel was written with another timerPrecisionMs, it is made anew")
		r.Pending = 0
		if err := r.Wheel.reset(); err != nil {
			return err
		}
	}
	if !fits || r.Lost || r.Wheel.missing || !r.wheelKnows(r.begin) {
		r.begin = r.Log.First()
	}
	return nil
}

// wheelKnows tells whether the wheel has the newest pending unit before a position. If not, it is not this log's wheel.
func (r *recovery) wheelKnows(before int64) bool {
	for range windowSize / UnitSize {
		pos, u, ok := r.Log.before(before)
		if !ok {
			break
		}
		if u.Time() >= r.readTime {
			s, ok := r.Wheel.Slot(u.Time())
			return ok && s.Last >= pos
		}
		before = pos
	}
	return true // nothing waits, or hardly anything
}

// enterNew cuts the log and enters the units that the wheel does not know.
func (r *recovery) enterNew() error {
	if err := r.Log.truncate(r.end, r.flushed); err != nil {
		return err
	}
	r.Entered = map[int64]struct{}{}
	newer := r.flushed
	if r.Lost {
		newer = 0
	}
	if _, err := r.Log.walk(r.begin, r.end, func(pos int64, u *Unit) error {
		if pos >= newer {
			r.Entered[u.PhyOffset] = struct{}{}
		}
		r.enter(pos, u)
		return nil
	}); err != nil {
		return err
	}
	for i := range r.moved {
		if err := r.Files.Enter(&r.moved[i]); err != nil {
			return err
		}
		r.Pending += int64(r.moved[i].Weight())
	}
	if err := r.Log.Write(); err != nil || !r.dropped {
		return err
	}
	// The places of the missing units will be used again: the wheel on disk must not refer to them then.
	if err := r.Log.Sync(); err != nil {
		return err
	}
	r.Wheel.Freeze()
	return r.Wheel.Flush()
}

// enter makes the wheel know a unit, unless it does.
func (r *recovery) enter(pos int64, u *Unit) {
	if u.Time() < r.readTime {
		return
	}
	s, ok := r.Wheel.Slot(u.Time())
	switch {
	case ok && pos <= s.Last:
	case ok && u.Prev != s.Last:
		// The lists were made with a higher precision: several meet in one slot. They are joined at the log's end.
		r.moved = append(r.moved, *u)
	default:
		r.Wheel.Add(pos, u)
		r.Pending += int64(u.Weight())
	}
}

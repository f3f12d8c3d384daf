// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timerlog

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	smallFile = 5*UnitSize + blankSize + 11 // five units
	begin     = int64(1_800_000_000_000)
	endless   = int64(1) << 60
)

// model is what must be there.
type model struct {
	t        *testing.T
	dir      string
	f        *Files
	units    []Unit // written, in log order
	fresh    []Unit // appended
	readTime int64
	phy      int64
	flushed  int // units of the last flush
	maxPhy   int64
}

func (m *model) open() {
	m.f = open(m.t, m.dir, smallFile)
	if read := m.f.Check.Read().ReadTime; read != 0 {
		m.readTime = read
	} else {
		m.readTime = begin
	}
	r, err := m.f.Recover(m.readTime, m.maxPhy)
	if err != nil {
		m.t.Fatal(err)
	}
	m.check(r)
}

// check compares all slots with the model.
func (m *model) check(r Recovered) {
	m.t.Helper()
	want := map[int64][]int64{}
	var pending int64
	for _, u := range m.units {
		if u.Time() >= m.readTime {
			want[u.Time()] = append(want[u.Time()], u.PhyOffset)
			pending += int64(u.Weight())
		}
	}
	got := map[int64][]int64{}
	for ms, ok := m.f.Wheel.Next(m.readTime); ok && ms < m.readTime+Slots*1000; ms, ok = m.f.Wheel.Next(ms + 1) {
		if !m.f.List(ms, func(u *Unit) { got[ms] = append(got[ms], u.PhyOffset) }) {
			m.t.Fatalf("list of %d is broken", ms)
		}
		slices.Reverse(got[ms])
		s, _ := m.f.Wheel.Slot(ms)
		if first, ok := m.f.Log.Unit(s.First); !ok || first.Time() != ms {
			m.t.Fatalf("slot %d begins at %d", ms, s.First)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		m.t.Fatalf("waiting\n got %v\nwant %v", got, want)
	}
	if r.Pending != pending {
		m.t.Fatalf("%d pending, want %d", r.Pending, pending)
	}
	for _, u := range m.units[min(m.flushed, len(m.units)):] {
		if _, ok := r.Entered[u.PhyOffset]; !ok {
			m.t.Fatalf("message at %d is not said to be entered", u.PhyOffset)
		}
	}
}

func (m *model) enter(rng *rand.Rand) {
	u := Unit{Magic: MagicDefault, WriteTime: m.readTime, Delay: 1000 * rng.Int32N(6), PhyOffset: m.phy, Size: 100, TopicHash: 7}
	if rng.IntN(6) == 0 {
		u.Magic |= MagicDelete
	}
	if err := m.f.Enter(&u); err != nil {
		m.t.Fatal(err)
	}
	m.phy += 100
	m.fresh = append(m.fresh, u)
}

func (m *model) write() {
	if err := m.f.Log.Write(); err != nil {
		m.t.Fatal(err)
	}
	m.units = append(m.units, m.fresh...)
	m.fresh = nil
}

func (m *model) flush() {
	m.write()
	flush(m.t, m.f, Checkpoint{ReadTime: m.readTime})
	m.flushed = len(m.units)
}

func (m *model) deliver() {
	next, ok := m.f.Wheel.Next(m.readTime)
	if !ok {
		return
	}
	m.write()
	m.f.Wheel.Clear(next)
	m.readTime = next + 1000
	if err := m.f.Check.WriteReadTime(m.readTime); err != nil {
		m.t.Fatal(err)
	}
}

// kill ends the process: what was not written to files is gone.
func (m *model) kill() {
	// A full file makes the writer write earlier than it says.
	written := int(0)
	for pos, n := int64(0), 0; ; n++ {
		_, ok := m.f.Log.Unit(pos)
		if !ok {
			written = n
			break
		}
		if pos += UnitSize; (n+1)%5 == 0 {
			pos += smallFile - 5*UnitSize
		}
	}
	m.units = append(m.units, m.fresh[:written-len(m.units)]...)
	m.fresh = nil
	if err := m.f.Close(); err != nil {
		m.t.Fatal(err)
	}
}

// position of a unit by its number.
func position(n int) int64 { return int64(n/5)*smallFile + int64(n%5)*UnitSize }

// powerFail loses what was not synced: units from somewhere behind the last flush on read as zeros.
func (m *model) powerFail(rng *rand.Rand) {
	m.kill()
	if len(m.units) == m.flushed {
		return
	}
	keep := m.flushed + rng.IntN(len(m.units)-m.flushed)
	m.wipe(keep)
	m.units = m.units[:keep]
}

func (m *model) wipe(from int) {
	for n := from; n < len(m.units); n++ {
		name := fmt.Sprintf("%020d", position(n)/smallFile*smallFile)
		f, err := os.OpenFile(filepath.Join(m.dir, "timerlog", name), os.O_RDWR, 0)
		if err != nil {
			m.t.Fatal(err)
		}
		if _, err := f.WriteAt(make([]byte, UnitSize), position(n)%smallFile); err != nil {
			m.t.Fatal(err)
		}
		f.Close()
	}
}

// cut loses the end of the commit log.
func (m *model) cut(rng *rand.Rand) {
	m.kill()
	if len(m.units) == 0 {
		return
	}
	keep := len(m.units) - rng.IntN(min(len(m.units), 12))
	m.units = m.units[:keep]
	m.phy = m.units[keep-1].PhyOffset + 100
	m.maxPhy = m.phy
	m.open()
	m.flush() // as the service does
	m.kill()
	m.maxPhy = endless
}

// Random operations, crashes of all kinds among them, against the model.
func TestRecoverRandom(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			m := &model{t: t, dir: t.TempDir(), maxPhy: endless}
			m.open()
			for range 120 {
				switch n := rng.IntN(40); {
				case n < 20:
					m.enter(rng)
				case n < 26:
					m.write()
				case n < 31:
					m.flush()
				case n < 35:
					m.deliver()
				case n < 37:
					m.kill()
					m.open()
				case n < 38:
					m.powerFail(rng)
					m.open()
				case n < 39:
					m.cut(rng)
					m.open()
				default:
					m.flush()
					m.kill()
					m.open()
				}
			}
		})
	}
}

// entered makes a directory with a unit for each of the delays (ms), flushed.
func entered(t *testing.T, dir string, precision int64, delays ...int32) {
	t.Helper()
	f, err := Open(Options{Dir: dir, FileSize: smallFile, Precision: precision, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Recover(begin, endless); err != nil {
		t.Fatal(err)
	}
	for i, d := range delays {
		if err := f.Enter(&Unit{Magic: MagicDefault, WriteTime: begin, Delay: d, PhyOffset: int64(i) * 100, Size: 100}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Log.Write(); err != nil {
		t.Fatal(err)
	}
	flush(t, f, Checkpoint{ReadTime: begin})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// slots prints what waits: time since begin and messages in order.
func slots(t *testing.T, f *Files, precision int64) string {
	t.Helper()
	var out []string
	for ms, ok := f.Wheel.Next(begin); ok && ms < begin+Slots*precision; ms, ok = f.Wheel.Next(ms + 1) {
		var list []string
		if !f.List(ms, func(u *Unit) { list = append(list, fmt.Sprint(u.PhyOffset/100)) }) {
			list = append(list, "broken")
		}
		slices.Reverse(list)
		out = append(out, fmt.Sprintf("%d:%s", ms-begin, strings.Join(list, ",")))
	}
	return strings.Join(out, " ")
}

func TestPrecisionChanges(t *testing.T) {
	for _, c := range []struct {
		was, is int64
		want    string
	}{
		{100, 1000, "0:0,2,1 2000:3,4,5,6,8,7"},
		{1000, 100, "0:0,1,2 2000:3,4,5,6,7,8"},
		{1000, 1000, "0:0,1,2 2000:3,4,5,6,7,8"},
	} {
		dir := t.TempDir()
		delays := []int32{0, 200, 0, 2000, 2000, 2000, 2000, 2500, 2000}
		if c.was == 1000 { // times are multiples of the precision
			delays = []int32{0, 0, 0, 2000, 2000, 2000, 2000, 2000, 2000}
		}
		entered(t, dir, c.was, delays...)
		for range 2 { // and after another restart
			f, err := Open(Options{Dir: dir, FileSize: smallFile, Precision: c.is, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			r, err := f.Recover(begin, endless)
			if err != nil {
				t.Fatal(err)
			}
			if got := slots(t, f, c.is); got != c.want || r.Pending != 9 {
				t.Errorf("%d -> %d: %d waiting: %s\nwant %s", c.was, c.is, r.Pending, got, c.want)
			}
			flush(t, f, Checkpoint{ReadTime: begin})
			f.Close()
		}
	}
}

func TestWheelMissing(t *testing.T) {
	dir := t.TempDir()
	entered(t, dir, 1000, 0, 5000, 0, 5000, 0, 5000, 9000)
	for _, damage := range []func(path string) error{
		os.Remove,
		func(path string) error { return os.Truncate(path, 0) },
	} {
		if err := damage(filepath.Join(dir, "timerwheel")); err != nil {
			t.Fatal(err)
		}
		f := open(t, dir, smallFile)
		r, err := f.Recover(begin, endless)
		if err != nil {
			t.Fatal(err)
		}
		if got := slots(t, f, 1000); got != "0:0,2,4 5000:1,3,5 9000:6" || r.Pending != 7 || len(r.Entered) != 0 {
			t.Errorf("%+v %s", r, got)
		}
		flush(t, f, Checkpoint{ReadTime: begin})
		f.Close()
	}
	if err := os.Truncate(filepath.Join(dir, "timerwheel"), 4096); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: dir, FileSize: smallFile}); err == nil || !strings.Contains(err.Error(), "4096 bytes, a timer wheel has 38707200") {
		t.Errorf("a wheel of the wrong size: %v", err)
	}
}

// Files of the log that are gone: what still has units is delivered, the rest is said to be lost.
func TestLogMissing(t *testing.T) {
	for _, c := range []struct {
		gone []int // files
		want string
		lost bool
	}{
		{[]int{0}, "0:broken,6 5000:5,7 9000:8", false},
		{[]int{1}, "0:0,2 5000:1,3,4", true},
		{[]int{0, 1}, "", true},
	} {
		dir := t.TempDir()
		entered(t, dir, 1000, 0, 5000, 0, 5000, 5000, 5000, 0, 5000, 9000)
		for _, n := range c.gone {
			if err := os.Remove(filepath.Join(dir, "timerlog", fmt.Sprintf("%020d", n*smallFile))); err != nil {
				t.Fatal(err)
			}
		}
		f := open(t, dir, smallFile)
		r, err := f.Recover(begin, endless)
		if err != nil {
			t.Fatal(err)
		}
		if got := slots(t, f, 1000); strings.ReplaceAll(got, "5000:broken,5", "5000:5") != c.want || r.Lost != c.lost {
			t.Errorf("without files %v: %+v\n got %s\nwant %s", c.gone, r, got, c.want)
		}
		if err := f.Enter(&Unit{Magic: MagicDefault, WriteTime: begin, Delay: 1000, PhyOffset: 5000, Size: 1}); err != nil {
			t.Error(err)
		}
		if err := f.Log.Write(); err != nil {
			t.Error(err)
		}
		if got := slots(t, f, 1000); !strings.Contains(got, "1000:50") {
			t.Errorf("a new unit is not there: %s", got)
		}
		f.Close()
	}
}

func TestDeleteBefore(t *testing.T) {
	dir := t.TempDir()
	entered(t, dir, 1000, make([]int32, 12)...) // records at 0, 100, …; files of five
	f := open(t, dir, smallFile)
	if _, err := f.Recover(begin, endless); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		minPhy  int64
		removed int
		first   int64
	}{{499, 0, 0}, {500, 1, smallFile}, {999, 0, smallFile}, {5000, 1, 2 * smallFile}, {5000, 0, 2 * smallFile}} {
		n, err := f.Log.DeleteBefore(c.minPhy)
		if err != nil || n != c.removed || f.Log.First() != c.first {
			t.Errorf("before %d: %d removed, first %d, %v", c.minPhy, n, f.Log.First(), err)
		}
	}
}

// Nothing is on disk before the first message, and the wheel takes no more space than its slots do.
func TestFresh(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir, 0)
	if _, err := f.Recover(begin, 0); err != nil {
		t.Fatal(err)
	}
	flush(t, f, Checkpoint{})
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != "config" { // the checkpoint, which was asked for
			t.Errorf("%s is there", e.Name())
		}
	}
}

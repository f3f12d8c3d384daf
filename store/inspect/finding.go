// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package inspect

import (
	"fmt"
	"io"
)

// Finding is something that Verify has to say.
type Finding struct {
	Damage bool   // else worth knowing, but as it may be
	Place  string // file below the store directory, with +position where there is one; or TOPIC-QUEUEID
	Text   string
}

func (f Finding) String() string {
	kind := "note"
	if f.Damage {
		kind = "DAMAGE"
	}
	return fmt.Sprintf("%-6s  %s: %s", kind, f.Place, f.Text)
}

// Report is the result of Verify.
type Report struct {
	Begin, End   int64 // of the log
	Records      int64
	Units        int64 // of consume queues, of records that are there
	IndexEntries int64
	Findings     []Finding
}

// Damaged tells whether any finding is damage.
func (r *Report) Damaged() bool {
	for _, f := range r.Findings {
		if f.Damage {
			return true
		}
	}
	return false
}

func (r *Report) damage(place, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{true, place, fmt.Sprintf(format, args...)})
}

func (r *Report) note(place, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{false, place, fmt.Sprintf(format, args...)})
}

// Print writes the report for people.
func (r *Report) Print(w io.Writer) {
	damages := 0
	for _, f := range r.Findings {
		fmt.Fprintln(w, f)
		if f.Damage {
			damages++
		}
	}
	fmt.Fprintf(w, "commit log %d..%d: %d records; %d units in consume queues and %d index entries lead to them\n",
		r.Begin, r.End, r.Records, r.Units, r.IndexEntries)
	if damages == 0 {
		fmt.Fprintln(w, "OK: log, consume queues and index agree")
		return
	}
	fmt.Fprintf(w, "NOT OK: %d findings of damage\n", damages)
}

// span collects neighbours that have the same thing to say.
type span struct {
	n                int64
	first, last      int64 // numbers
	firstPhy, endPhy int64 // of the records
}

func (s *span) add(number, phy, end int64) {
	if s.n == 0 {
		s.first, s.firstPhy = number, phy
	}
	s.n++
	s.last, s.endPhy = number, end
}

// units prints a span's numbers.
func (s *span) units() string {
	if s.first == s.last {
		return fmt.Sprintf("unit %d", s.first)
	}
	return fmt.Sprintf("units %d to %d", s.first, s.last)
}

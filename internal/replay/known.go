// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package replay

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
)

// Known are the steps whose answers are decided to differ, or belong to something that is not there yet, with the
// reason of each. The list may only shrink: Play fails for an entry that does not differ (any more).
type Known map[string]string

// LoadKnown reads a list with a step id and its reason on each line; lines with # are comments. A missing file is an
// empty list.
func LoadKnown(path string) (Known, error) {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return Known{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readKnown(f)
}

func readKnown(r io.Reader) (Known, error) {
	known := Known{}
	for lines := bufio.NewScanner(r); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		id, reason, _ := strings.Cut(line, " ")
		if reason = strings.TrimSpace(reason); reason == "" {
			return nil, fmt.Errorf("step %s has no reason", id)
		}
		if known[id] != "" {
			return nil, fmt.Errorf("step %s stands twice", id)
		}
		known[id] = reason
	}
	return known, nil
}

// maxShown is how many differences of one step a failure names.
const maxShown = 12

// Play plays the steps of one recording, each connection starting anew, and reports steps that differ.
func Play(t testing.TB, dial func(to string) (net.Conn, error), steps []*Step, known Known) {
	t.Helper()
	r := NewRunner(dial)
	defer r.Close()
	differ := 0
	for _, st := range steps {
		got, err := r.Do(st)
		var d []Difference
		if err != nil {
			d = []Difference{{"client error", nil, err.Error()}}
		} else {
			d = st.Compare(got)
		}
		reason, expected := known[st.ID]
		switch {
		case len(d) == 0 && expected:
			t.Errorf("%s %s: as recorded; take it off the list of known differences (%s)", st.ID, st.Note, reason)
		case len(d) > 0 && !expected:
			t.Errorf("%s %s: differs\n\t%s", st.ID, st.Note, list(d))
		case len(d) > 0:
			differ++
		}
	}
	t.Logf("%d steps, %d known differences", len(steps), differ)
}

func list(d []Difference) string {
	var b strings.Builder
	for i, e := range d[:min(len(d), maxShown)] {
		if i > 0 {
			b.WriteString("\n\t")
		}
		b.WriteString(e.String())
	}
	return b.String()
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

//go:build golden

package replay

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// TestBehaviourFiles reads all recordings of the broker's behaviour. Each recorded answer must equal itself, and no
// longer do so when one of its compared values is taken away.
func TestBehaviourFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(os.Getenv("ROCKETMQ_GOLDEN"), "behaviour", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	n := 0
	for _, file := range files {
		steps, err := LoadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range steps {
			n++
			if d := st.Compare(maps.Clone(st.Expect)); len(d) > 0 {
				t.Errorf("%s differs from itself: %v", st.ID, d)
			}
			if st.NoCheck || len(st.Expect) == 0 {
				continue
			}
			if d := st.Compare(map[string]any{"none": "x"}); len(d) == 0 {
				t.Errorf("%s: any answer would do", st.ID)
			}
		}
	}
	t.Logf("%d steps in %d files", n, len(files))
}

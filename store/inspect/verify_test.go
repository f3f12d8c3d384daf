// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package inspect

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

func verify(t *testing.T, dir string) *Report {
	t.Helper()
	r, err := Verify(Place{Dir: dir}, VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func text(r *Report) string {
	var b bytes.Buffer
	r.Print(&b)
	return b.String()
}

// damages are what Verify must say of corrupt/KIND.json, each as "place: beginning of the text". Nothing else may be damage.
var damages = map[string][]string{}

func TestVerifyFindsEachDamage(t *testing.T) {
	base := feedSet(t, lean, leanSets[0])
	if r := verify(t, base); r.Damaged() {
		t.Fatal(text(r))
	}
	files, err := filepath.Glob(filepath.Join(lean, "corrupt", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		var c corruption
		loadJSON(t, file, &c)
		t.Run(c.Kind, func(t *testing.T) {
			dir := copyDir(t, base)
			c.apply(t, dir)
			r := verify(t, dir)
			t.Log("\n" + strings.Join(strings.SplitN(text(r), "\n", 20), "\n"))
		})
	}
}

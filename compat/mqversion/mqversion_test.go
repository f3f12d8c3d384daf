// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqversion

import (
	"os"
	"strings"
	"testing"
)

// testdata/versions.txt lists the names of Java's enum in the order of their ordinals.
func TestDescribe(t *testing.T) {
	text, err := os.ReadFile("testdata/versions.txt")
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(string(text))
	if len(names) != Higher+1 {
		t.Fatalf("%d names", len(names))
	}
	for i, want := range names {
		if got := Describe(int32(i)); got != want {
			t.Errorf("ordinal %d: %s, want %s", i, got, want)
		}
		if o, ok := Ordinal(want); !ok || int(o) != i {
			t.Errorf("%s: ordinal %d %v, want %d", want, o, ok, i)
		}
	}
}

func TestOrdinalsInUse(t *testing.T) {
	for want, o := range map[string]int32{
		"V3_0_7_SNAPSHOT": V3_0_7_Snapshot, "V3_0_11": V3_0_11, "V3_1_8_SNAPSHOT": V3_1_8_Snapshot, "V3_4_9": V3_4_9,
		"V4_5_2": V4_5_2, "V4_9_3": V4_9_3, "V4_9_4": V4_9_4, "V4_9_7": V4_9_7, "V5_0_0": V5_0_0, "V5_3_1": V5_3_1,
		"V5_3_3": V5_3_3, "V5_4_0": V5_4_0, "HIGHER_VERSION": Higher,
	} {
		if got := Describe(o); got != want {
			t.Errorf("constant %s = %d, which is %s", want, o, got)
		}
	}
	if o, ok := Ordinal("4.9.7"); !ok || o != V4_9_7 {
		t.Errorf("4.9.7: %d %v", o, ok)
	}
	if _, ok := Ordinal("9.9"); ok {
		t.Error("9.9 has an ordinal")
	}
	if Describe(1<<30) != "HIGHER_VERSION" || Describe(-1) != "V3_0_0_SNAPSHOT" {
		t.Error("numbers outside the table")
	}
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package compat

import (
	"testing"

	"rocketmq-go/compat/mqversion"
)

// A release announces its own ordinal; what is not known counts as the default release.
func TestFor(t *testing.T) {
	for _, release := range []string{Release533, Release497} {
		p := For(release)
		if want, ok := mqversion.Ordinal(release); !ok || p.Version != want || p.Release != release {
			t.Errorf("%s: ordinal %d of %s, want %d", release, p.Version, p.Release, want)
		}
	}
	if p := For(""); p.Release != Release533 {
		t.Errorf("the default is %s", p.Release)
	}
}

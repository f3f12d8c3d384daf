// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

//go:build golden

package ha_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The committed files are the recordings.
func TestGoldenCopies(t *testing.T) {
	for _, rec := range recordings {
		want, err := os.ReadFile(filepath.Join(os.Getenv("ROCKETMQ_GOLDEN"), "ha", rec.name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("testdata", rec.name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs", rec.name)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

//go:build golden

package broker_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"rocketmq-go/internal/replay"
	"rocketmq-go/rocketmqtest"
)

// golden is the folder of the full recordings.
func golden(t *testing.T) string {
	dir := os.Getenv("ROCKETMQ_GOLDEN")
	if dir == "" {
		t.Fatal("ROCKETMQ_GOLDEN names no folder")
	}
	return filepath.Join(dir, "behaviour")
}

// The full recordings over sockets, in real time.
func TestGoldenBehaviour(t *testing.T) {
	mq := rocketmqtest.Start(t, recorded...)
	playAll(t, mq, func() { time.Sleep(10 * time.Millisecond) }, golden(t), ".jsonl")
}

// The committed copies are the recordings.
func TestGoldenCopies(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(golden(t), "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, file := range files {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := replay.Open(filepath.Join("testdata/behaviour", filepath.Base(file)+".gz"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		r.Close()
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: the copy differs (%v)", filepath.Base(file), err)
		}
	}
}

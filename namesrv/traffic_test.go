// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package namesrv_test

import (
	"regexp"
	"testing"
	"time"

	"rocketmq-go/internal/replay"
	"rocketmq-go/namesrv"
)

// TestRegistrationTraffic feeds what real brokers sent to real name servers, from their start to their end, into ours
// and compares every answer.
func TestRegistrationTraffic(t *testing.T) {
	for recording, lines := range map[string]string{
		"registration-4.9.7": "compatVersion=4.9.7", "registration-5.3.3": "", "registration-5.4.0": "",
		"classic-4.9.7": "compatVersion=4.9.7", "classic-5.3.3": "",
	} {
		t.Run(recording, func(t *testing.T) {
			r, err := replay.Open("testdata/" + recording + ".jsonl.gz")
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			frames, err := replay.LoadTapped(r)
			if err != nil {
				t.Fatal(err)
			}
			playTraffic(t, start(t, lines, namesrv.Options{}), frames)
		})
	}
}

type answerKey struct {
	conn   int
	opaque int32
}

func playTraffic(t *testing.T, s *testServer, frames []*replay.Tapped) {
	answers := make(map[answerKey]*replay.Frame)
	for _, f := range frames {
		if f.Kind == "response" {
			a := parse(t, f)
			answers[answerKey{f.Conn, a.Opaque}] = a
		}
	}
	conns := make(map[int]*replay.Conn)
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	compared := 0
	for _, f := range frames {
		switch {
		case f.Event == "close" && conns[f.Conn] != nil:
			conns[f.Conn].Close()
			delete(conns, f.Conn)
			continue
		case f.Kind != "request" || f.Dir != "c2s":
			continue
		case conns[f.Conn] == nil:
			conns[f.Conn] = replay.NewConn(s.Pipe())
		}
		q := parse(t, f)
		if err := conns[f.Conn].WriteRaw(f.Bytes); err != nil {
			t.Fatal(err)
		}
		want := answers[answerKey{f.Conn, q.Opaque}]
		if want == nil {
			continue // one way, or the recording ends
		}
		got, err := conns[f.Conn].Wait(q.Opaque, 5*time.Second)
		if err != nil || got == nil {
			t.Fatalf("request %d: answer %v, %v", q.Code, got, err)
		}
		compareAnswer(t, q.Code, want, got)
		compared++
	}
	t.Logf("%d answers compared", compared)
	if compared < 10 {
		t.Error("that is too few: the recording was not read rightly")
	}
}

func parse(t *testing.T, f *replay.Tapped) *replay.Frame {
	t.Helper()
	p, err := f.Frame()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var version = regexp.MustCompile(`"version":\d+`)

func compareAnswer(t *testing.T, code int32, want, got *replay.Frame) {
	t.Helper()
	if w, g := version.ReplaceAllString(want.HeaderText, ""), version.ReplaceAllString(got.HeaderText, ""); w != g {
		t.Errorf("answer to %d\nwant %s\ngot  %s", code, w, g)
	}
	if sorted(want.Body) != sorted(got.Body) {
		t.Errorf("body of the answer to %d\nwant %s\ngot  %s", code, want.Body, got.Body)
	}
}

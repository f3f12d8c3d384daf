// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

//go:build golden

package namesrv_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"rocketmq-go/internal/replay"
)

// The recordings under testdata are copies of the full ones, or the part of them that a name server saw.

func full(t *testing.T, name string) io.Reader {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(os.Getenv("ROCKETMQ_GOLDEN"), name))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(text)
}

func TestProbesAreCopies(t *testing.T) {
	for _, release := range []string{"4.9.7", "5.3.3"} {
		r, err := replay.Open("testdata/namesrv-probe-" + release + ".jsonl.gz")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		lean, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if want, _ := io.ReadAll(full(t, "ha/namesrv-probe-"+release+".jsonl")); !bytes.Equal(lean, want) {
			t.Errorf("the probe of %s is not a copy", release)
		}
	}
}

func lean(t *testing.T, name string) []*replay.Tapped {
	t.Helper()
	r, err := replay.Open("testdata/" + name + ".jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	frames, err := replay.LoadTapped(r)
	if err != nil {
		t.Fatal(err)
	}
	return frames
}

func TestRegistrationsAreCopies(t *testing.T) {
	for _, release := range []string{"4.9.7", "5.3.3", "5.4.0"} {
		all, err := replay.LoadTapped(full(t, "wire/servers-"+release+"-registration.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		var want []*replay.Tapped
		for _, f := range all {
			if f.Link == "broker-namesrv" {
				f.Link = ""
				want = append(want, f)
			}
		}
		if !reflect.DeepEqual(lean(t, "registration-"+release), want) {
			t.Errorf("the registrations of %s are not a copy", release)
		}
	}
}

// sniffed is one frame of the recordings of whole clusters.
type sniffed struct {
	Srv    int    `json:"srv"`
	Cli    int    `json:"cli"`
	Dir    string `json:"dir"`
	Kind   string `json:"kind"`
	Header string `json:"hdr_text"`
	Body   string `json:"body"`
	Base64 string `json:"body_b64"`
}

func (f *sniffed) frame() []byte {
	body := []byte(f.Body)
	if f.Base64 != "" {
		body, _ = base64.StdEncoding.DecodeString(f.Base64)
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(4+len(f.Header)+len(body)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(f.Header)))
	return append(append(b, f.Header...), body...)
}

func TestClassicClustersAreCopies(t *testing.T) {
	for name, port := range map[string]int{"classic-4.9.7-async": 24100, "classic-5.3.3-sync": 24200} {
		copied := lean(t, name[:len("classic-4.9.7")])
		d := json.NewDecoder(full(t, "ha/"+name+".remoting.jsonl"))
		for {
			f := new(sniffed)
			if err := d.Decode(f); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if f.Srv != port {
				continue
			}
			if len(copied) == 0 {
				t.Fatalf("%s: frames are missing", name)
			}
			if c := copied[0]; c.Conn != f.Cli || c.Kind != f.Kind || (c.Dir == "c2s") != (f.Dir == ">") || !bytes.Equal(c.Bytes, f.frame()) {
				t.Fatalf("%s: frame %+v is not %+v", name, c, f)
			}
			copied = copied[1:]
		}
		if len(copied) > 0 {
			t.Errorf("%s: %d frames too many", name, len(copied))
		}
	}
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package protocol

import (
	"bufio"
	"os"
	"regexp"
	"strings"
	"testing"

	"rocketmq-go/compat/fastjson"
)

type bodySample struct{ class, release, kind, text string }

func readSamples(t *testing.T) (samples []bodySample) {
	f, err := os.Open("testdata/bodies/samples.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		if w := strings.SplitN(in.Text(), "\t", 4); len(w) == 4 {
			samples = append(samples, bodySample{w[0], w[1], w[2], w[3]})
		}
	}
	if len(samples) < 200 {
		t.Fatalf("only %d samples", len(samples))
	}
	return samples
}

// omitFor leaves out the fields that a release does not have.
func omitFor(release string) fastjson.Options {
	if release == "4.9.7" {
		return fastjson.Options{Omit: "v5"}
	}
	return fastjson.Options{}
}

// Fresh objects that we print differently, and why.
var differentDefaults = map[string]string{
	"Connection":      "language: null is not kept, the zero Language is JAVA",
	"TopicRouteData":  "4.9 starts with null lists, which its servers always set",
	"ResetOffsetBody": "4.9 starts with a null table, which its servers always set",
	"QueueTimeSpan":   "the text forms of its times are for the broker to set",
}

// Every text that Java prints for a body comes out the same after decoding and encoding.
func TestBodySamples(t *testing.T) {
	for _, s := range readSamples(t) {
		if bodyNamed[s.class] == nil {
			t.Errorf("no body %s", s.class)
			continue
		}
		body := bodyNamed[s.class]()
		if err := fastjson.Unmarshal([]byte(s.text), body); err != nil {
			t.Errorf("%s %s %s: %v", s.class, s.release, s.kind, err)
			continue
		}
		got := string(omitFor(s.release).Marshal(body))
		if got != s.text && (s.kind != "default" || differentDefaults[s.class] == "") {
			t.Errorf("%s %s %s:\n got %s\nwant %s", s.class, s.release, s.kind, got, s.text)
		}
	}
}

var creationTime = regexp.MustCompile(`("(?:timestamp|timeStamp|subVersion)":)\d+`)

// A fresh body prints what a fresh Java object of 5.3.3 prints.
func TestBodyDefaults(t *testing.T) {
	for _, s := range readSamples(t) {
		if s.kind != "default" || s.release != "5.3.3" || differentDefaults[s.class] != "" {
			continue
		}
		body := bodyNamed[s.class]()
		if d, ok := body.(fastjson.Defaulter); ok {
			d.SetDefaults()
		}
		got := creationTime.ReplaceAllString(string(fastjson.Marshal(body)), "${1}0")
		if want := creationTime.ReplaceAllString(s.text, "${1}0"); got != want {
			t.Errorf("%s:\n got %s\nwant %s", s.class, got, want)
		}
	}
}

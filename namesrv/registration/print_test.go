// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package registration

import (
	"reflect"
	"testing"

	"rocketmq-go/internal/replay"
)

// Real brokers repeat themselves; only bodies that mean something else have another print.
func TestPrintOfRealBrokers(t *testing.T) {
	for _, release := range []string{"4.9.7", "5.3.3", "5.4.0"} {
		r, err := replay.Open("../testdata/registration-" + release + ".jsonl.gz")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		frames, err := replay.LoadTapped(r)
		if err != nil {
			t.Fatal(err)
		}
		printer := NewPrinter()
		meaning := make(map[uint64]any)
		bodies := 0
		for _, f := range frames {
			if f.Kind != "request" || f.Code != 103 {
				continue
			}
			p, err := f.Frame()
			if err != nil {
				t.Fatal(err)
			}
			bodies++
			decoded, err := Decode(p.Body, p.Version, false)
			if err != nil {
				t.Fatal(err)
			}
			sum := printer.Print(p.Body, p.Version, false, false)
			if before, ok := meaning[sum]; ok && !reflect.DeepEqual(before, decoded) {
				t.Errorf("%s: one print for\n%v\n%v", release, before, decoded)
			}
			meaning[sum] = decoded
		}
		t.Logf("%s: %d registrations, %d prints", release, bodies, len(meaning))
		if len(meaning) > bodies*2/3 {
			t.Errorf("%s: repetitions were not recognised: %d registrations have %d prints", release, bodies, len(meaning))
		}
	}
}

func TestPrint(t *testing.T) {
	p := NewPrinter()
	const (
		head = `{"topicConfigSerializeWrapper":{"dataVersion":{"counter":1},"mappingDataVersion":{"timestamp":1},"topicConfigTable":{`
		late = `{"topicConfigSerializeWrapper":{"dataVersion":{"counter":1},"mappingDataVersion":{"timestamp":2},"topicConfigTable":{`
		name = `"mappingDataVersion":{"perm":6}`
	)
	base := p.Print([]byte(head), 479, false, false)
	if p.Print([]byte(late), 479, false, false) != base {
		t.Error("the moment counts")
	}
	for what, sum := range map[string]uint64{
		"version": p.Print([]byte(head), 478, false, false), "form": p.Print([]byte(head), 479, true, false),
		"option": p.Print([]byte(head), 479, false, true), "text": p.Print([]byte(head+name), 479, false, false),
		"other seed": NewPrinter().Print([]byte(head), 479, false, false),
	} {
		if sum == base {
			t.Errorf("the %s does not count", what)
		}
	}
	// A topic of that name, with and without the version before it.
	for _, text := range []string{head + name, `{"topicConfigTable":{` + name} {
		changed := text[:len(text)-2] + "4}"
		if p.Print([]byte(text), 479, false, false) == p.Print([]byte(changed), 479, false, false) {
			t.Errorf("the topic in %s does not count", text)
		}
	}
	for _, odd := range []string{"", `"mappingDataVersion":{`, `"mappingDataVersion":{"topicConfigTable":}`} {
		p.Print([]byte(odd), 479, false, false)
	}
}

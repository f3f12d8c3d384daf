// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package topic

import (
	"log/slog"
	"strings"
	"testing"

	"rocketmq-go/remoting/protocol"
)

// Whatever a request says of attributes: it is refused with a code, or stored without signs and stays as it is when it
// is written and read again.
func FuzzAttributes(f *testing.F) {
	for _, text := range []string{
		"", "+message.type=FIFO", "-message.type", "+reserve.time=9,+cleanup.policy=DELETE", "+message.type=", ",,=", "+=1,-",
	} {
		f.Add(text)
	}
	table, err := New(Options{Dir: f.TempDir(), System: System{ClusterName: "c", BrokerName: "b"}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		table.Delete("T")
		cfg := protocol.NewTopicConfig()
		cfg.TopicName = "T"
		cfg.Attributes, err = ParseAttributes(text)
		if err == nil {
			_, err = table.Update(cfg)
		}
		if err != nil {
			if _, ok := err.(*protocol.Error); !ok {
				t.Errorf("%q: no code in %v", text, err)
			}
			return
		}
		for key := range table.Get("T").Attributes.All() {
			if strings.ContainsAny(key, "+-") {
				t.Errorf("%q: stored key %q", text, key)
			}
		}
		again := &Table{o: Options{Log: slog.New(slog.DiscardHandler)}}
		if err := again.load(table.render()); err != nil || !equal(again.Get("T"), table.Get("T")) {
			t.Errorf("%q: read again: %v", text, err)
		}
	})
}

// Any text of a file is refused or gives a table that can be written and read again.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"dataVersion":{"counter":1,"timestamp":5},"topicConfigTable":{"A":{"perm":6,"attributes":{"a":"b"}},"B":null}}`))
	f.Add([]byte(`{"topicConfigTable":{"A":{"topicName":"B"}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		table := &Table{o: Options{Log: slog.New(slog.DiscardHandler)}}
		if table.load(text) != nil {
			return
		}
		again := &Table{}
		if err := again.load(table.render()); err != nil {
			t.Errorf("%q is written as %q: %v", text, table.render(), err)
		}
	})
}

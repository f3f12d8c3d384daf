// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package topic

import (
	"slices"
	"testing"
	"time"

	"rocketmq-go/remoting/protocol"
)

// A slave's table becomes its master's, in content, version and file.
func TestReplace(t *testing.T) {
	master := newTable(t, Options{})
	for _, name := range []string{"Same", "Other", "New"} {
		if _, err := master.Update(&protocol.TopicConfig{TopicName: name, ReadQueueNums: 4, WriteQueueNums: 4, Perm: 6}); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	slave := newTable(t, Options{Dir: dir, Now: func() time.Time { return time.Now().Add(-time.Hour) }}) // versions are times
	for name, queues := range map[string]int32{"Same": 4, "Other": 2, "Gone": 1} {
		if _, err := slave.Update(&protocol.TopicConfig{TopicName: name, ReadQueueNums: queues, WriteQueueNums: queues, Perm: 6}); err != nil {
			t.Fatal(err)
		}
	}
	var told []string
	slave.OnChange(func(changed []string) { told = append(told, changed...) })
	if gone := slave.Replace(master.Body()); !slices.Equal(gone, []string{"Gone"}) {
		t.Errorf("gone: %q", gone)
	}
	slices.Sort(told)
	if !slices.Equal(told, []string{"Gone", "New", "Other"}) {
		t.Errorf("name servers are told of %q", told)
	}
	if slave.DataVersion() != master.DataVersion() || slave.Get("Other").ReadQueueNums != 4 || slave.Get("Gone") != nil {
		t.Errorf("version %v, %+v, %+v", slave.DataVersion(), slave.Get("Other"), slave.Get("Gone"))
	}
	// The same version brings nothing, whatever comes with it.
	if gone := slave.Replace(&protocol.TopicConfigSerializeWrapper{DataVersion: master.DataVersion()}); gone != nil || slave.Get("Same") == nil {
		t.Errorf("the same version took %q", gone)
	}
	// A master of another release lacks topics of this broker's own, which are none of its topics.
	if gone := slave.Replace(&protocol.TopicConfigSerializeWrapper{}); len(gone) != 3 || slave.Get(TimerTopic) == nil {
		t.Errorf("gone: %q, own %v", gone, slave.Get(TimerTopic))
	}
	slave.Replace(master.Body())
	if err := slave.Close(); err != nil {
		t.Fatal(err)
	}
	again := newTable(t, Options{Dir: dir})
	if again.DataVersion() != master.DataVersion() || again.Get("New") == nil || again.Get("Gone") != nil {
		t.Error("the file is not the master's")
	}
}

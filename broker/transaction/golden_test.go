// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package transaction

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/broker/put"
	"rocketmq-go/message"
	"rocketmq-go/store"
)

// javaRecord is a record of a store that a real broker wrote.
type javaRecord struct {
	Topic      string
	QueueID    int32
	Flag       int32
	SysFlag    int32
	BornHost   string
	StoreHost  string
	Reconsume  int32 `json:"reconsumeTimes"`
	Prepared   int64 `json:"preparedTransactionOffset"`
	Properties string
	Body       []byte
	Expect     struct {
		PhyOffset   int64
		QueueOffset int64
	}
}

func javaRecords(t *testing.T, release string) (list []javaRecord) {
	f, err := os.Open(filepath.Join("testdata/golden", release+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var r javaRecord
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	if lines.Err() != nil || len(list) == 0 {
		t.Fatalf("%d records: %v", len(list), lines.Err())
	}
	return list
}

func address(t *testing.T, text string) netip.AddrPort {
	a, err := netip.ParseAddrPort(strings.Replace(text, "|", ":", 1))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// brokersOwn are the properties that the broker adds to a half message.
var brokersOwn = []string{"MSG_REGION", "TRACE_ON", "CLUSTER", "REAL_TOPIC", "REAL_QID", "__transactionId__"}

// The transactions that a real client had with a real broker give the same records here, byte by byte: half messages, their
// copies, commits, op messages and those that were given up. (Times, of course, are others.)
func TestJavaRecords(t *testing.T) {
	for _, release := range []string{"4.9.7", "5.3.3"} {
		t.Run(release, func(t *testing.T) {
			records := javaRecords(t, release)
			synctest.Test(t, func(t *testing.T) { replayJava(t, release, records) })
		})
	}
}

func replayJava(t *testing.T, release string, records []javaRecord) {
	s := newStory(t)
	s.host = address(t, records[0].StoreHost)
	if err := s.open(map[string]string{
		"compatVersion": release, "brokerClusterName": "GoldCluster", "transactionTimeOut": "3000",
		"transactionCheckInterval": "10000", "transactionCheckMax": "2",
	}); err != nil {
		t.Fatal(err)
	}
	defer s.end(true)
	want := map[string][]string{} // by topic, in order
	halves := map[int64]int64{}   // physical offset of Java's half message → queue offset
	for _, r := range records {
		if r.Topic == halfTopic {
			halves[r.Expect.PhyOffset] = r.Expect.QueueOffset
		}
		prepared := ""
		if r.Prepared != 0 {
			prepared = fmt.Sprint(" of half ", halves[r.Prepared])
		}
		want[r.Topic] = append(want[r.Topic], fmt.Sprintf("%d: flag %d sysFlag %d from %s at %s, retry %d%s %q %q", r.QueueID, r.Flag,
			r.SysFlag, address(t, r.BornHost), address(t, r.StoreHost), r.Reconsume, prepared, r.Properties, r.Body))
	}
	for _, r := range records {
		if _, again := message.Property([]byte(r.Properties), propChecks); r.Topic == halfTopic && !again {
			s.like(r)
			time.Sleep(time.Millisecond)
		}
	}
	time.Sleep(time.Minute)
	synctest.Wait()
	got := map[string][]string{}
	for topic := range want {
		got[topic] = s.stored(topic)
	}
	// What follows notes the copies, which Java does not.
	got[opTopic] = got[opTopic][:min(len(got[opTopic]), len(want[opTopic]))]
	for topic := range want {
		if a, b := strings.Join(got[topic], "\n"), strings.Join(want[topic], "\n"); a != b {
			t.Errorf("%s: got\n%s\nwant\n%s", topic, a, b)
		}
	}
}

// like sends the message that a recorded half message was made of, and ends it as the client did.
func (s *story) like(r javaRecord) {
	var sent []byte
	values := message.PropertyMap([]byte(r.Properties))
	for p := message.ScanProperties([]byte(r.Properties)); p.Next(); {
		own := false
		for _, name := range brokersOwn {
			own = own || string(p.Name) == name
		}
		if !own {
			sent = message.AppendProperty(sent, string(p.Name), string(p.Value))
		}
	}
	queueID, _ := strconv.Atoi(values["REAL_QID"])
	e := &put.Entry{Message: message.Message{
		Topic: values["REAL_TOPIC"], QueueID: int32(queueID), Flag: r.Flag, SysFlag: r.SysFlag | message.SysPrepared,
		BornTimestamp: time.Now().UnixMilli(), BornHost: address(s.t, r.BornHost), StoreHost: address(s.t, r.StoreHost), Body: r.Body,
	}}
	s.pipeline.Open(e, string(sent))
	var at store.PutResult
	if err := s.pipeline.Send(e, put.Retry{}, func(r store.PutResult) { at = r }); err != nil {
		s.t.Fatal(err)
	}
	if values["state"] == "UNKNOW" {
		return
	}
	s.service.End(End{
		Group: values["PGROUP"], QueueOffset: at.QueueOffset, PhyOffset: at.PhyOffset, Commit: values["state"] == "COMMIT_MESSAGE",
	}, func(err error) {
		if err != nil {
			s.t.Error(err)
		}
	})
	synctest.Wait()
}

// stored lists what is stored in all queues of a topic, in the order of the log.
func (s *story) stored(topic string) (list []string) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	halves := map[int64]int64{}
	for _, record := range s.store.records {
		r, err := message.ParseRecord(record)
		if err != nil {
			s.t.Fatal(err)
		}
		if string(r.Topic) == halfTopic {
			halves[r.PhyOffset] = r.QueueOffset
		}
		if string(r.Topic) != topic {
			continue
		}
		prepared := ""
		if r.SysFlag&message.SysTransactionMask == message.SysCommit {
			prepared = fmt.Sprint(" of half ", halves[r.PreparedTransactionOffset])
		}
		list = append(list, fmt.Sprintf("%d: flag %d sysFlag %d from %s at %s, retry %d%s %q %q", r.QueueID, r.Flag, r.SysFlag,
			r.BornHost, r.StoreHost, r.ReconsumeTimes, prepared, r.Properties, r.Body))
	}
	return list
}

// A metrics file that Java wrote is written again with the same bytes.
func TestJavaMetrics(t *testing.T) {
	want, err := os.ReadFile("testdata/golden/transactionMetrics")
	if err != nil {
		t.Fatal(err)
	}
	m := &metrics{}
	if err := m.load(want); err != nil {
		t.Fatal(err)
	}
	if got := m.render(); string(got) != string(want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

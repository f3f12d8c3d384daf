// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"rocketmq-go/admin/client"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
)

func TestMessageTrace(t *testing.T) {
	inCluster(t, func(t tool) {
		t.ok("create", "updateTopic", "-c", "DefaultCluster", "-t", "T", "-r", "1", "-w", "1")
		rows := strings.Fields(t.ok("SEND_OK", "sendMessage", "-t", "T", "-p", "x", "-k", "k", "-m", "true"))
		id := rows[len(rows)-1]
		t.group("G", "T", 1)
		for _, args := range [][]string{{id}, {id, "-t", "T"}} {
			out := t.ok("of topic T, tags null, keys k", append([]string{"message", "trace"}, args...)...)
			for _, want := range []string{"CONSUMED", "Pub        CLIENT_INNER_PRODUCER", "queue 0, offset 0"} {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
			if strings.Contains(out, "#What") {
				t.Errorf("there are no copies\n%s", out)
			}
		}
		t.ok("Pub        CLIENT_INNER_PRODUCER", "queryMsgTraceById", "-i", id)
		for _, args := range [][]string{{strings.Repeat("0", len(id))}, {"x"}, {id, "-t", "NoSuchTopic"}} {
			t.run(exitFailed, "", "CODE: 208", append([]string{"message", "trace"}, args...)...)
		}
		t.run(exitUsage, "usage: mqadmin message trace", "", "message", "trace")
		t.run(exitUsage, "", `what is "y" for?`, "message", "trace", id, "y")
	})
}

// copiesOf are the rows of the table of copies.
func (t tool) copiesOf(args ...string) (rows []string) {
	t.Helper()
	out := t.ok("{", append(append([]string{"message", "trace"}, args...), "-o", "json")...)
	var doc struct {
		Copies []struct{ What, Topic string }
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range doc.Copies {
		rows = append(rows, c.Topic+": "+c.What)
	}
	return rows
}

// Retries, dead letters, and what waits: all copies of a message are found by its unique key and by each place.
func TestTraceOfCopies(t *testing.T) {
	inCluster(t, func(t tool) {
		c := client.New(client.Options{Namesrv: []string{t.c.NamesrvAddr}, Dial: t.c.Dial})
		defer c.Close()
		t.ok("create", "updateTopic", "-c", "DefaultCluster", "-t", "T", "-r", "1", "-w", "1")
		send := func(key string, properties map[string]string) *client.Sent {
			t.Helper()
			all := map[string]string{message.PropUniqKey: key}
			for name, value := range properties {
				all[name] = value
			}
			sent, err := c.Send(t.Context(), &client.Message{Topic: "T", Body: []byte("x"), Properties: all})
			if err != nil {
				t.Fatal(err)
			}
			return sent
		}
		want := func(rows []string, of ...string) {
			t.Helper()
			for range 100 { // until the index has it
				got := strings.Join(t.copiesOf(of...), "\n")
				if got == strings.Join(rows, "\n") {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
			t.Errorf("%v:\n%s\nwant\n%s", of, strings.Join(t.copiesOf(of...), "\n"), strings.Join(rows, "\n"))
		}

		sent := send("CONSUMED", nil)
		t.group("G", "T", 0)
		sendBack := func(level int32) {
			t.Helper()
			_, offset, err := message.ParseOffsetID(sent.OffsetID)
			if err != nil {
				t.Fatal(err)
			}
			h := &protocol.ConsumerSendMsgBackRequestHeader{
				Offset: protocol.Some(offset), Group: protocol.Some("G"), DelayLevel: protocol.Some(level), OriginTopic: protocol.Some("T"),
			}
			if _, err := c.Call(t.Context(), t.c.BrokerAddr, protocol.NewRequest(protocol.ReqConsumerSendMsgBack, h, nil)); err != nil {
				t.Fatal(err)
			}
		}
		sendBack(1)
		retried := []string{"T: message", "SCHEDULE_TOPIC_XXXX: delay (level 1) of retry 1 of G", "%RETRY%G: retry 1 of G"}
		want(retried, "CONSUMED")
		sendBack(-1)
		all := append(retried, "%DLQ%G: dead letter of G")
		want(all, "CONSUMED")
		want(all, "CONSUMED", "-t", "T")
		want(all, sent.OffsetID)

		later := send("LATER", map[string]string{message.PropDelay: "18"})
		want([]string{"SCHEDULE_TOPIC_XXXX: delay (level 18)"}, "LATER")
		want([]string{"SCHEDULE_TOPIC_XXXX: delay (level 18)"}, later.OffsetID, "-t", "T")
		t.ok("LATER of topic T", "message", "trace", "LATER")
		at := time.Now().Add(time.Hour).Truncate(time.Second) // timers have a precision of a second
		send("TIMED", map[string]string{"TIMER_DELIVER_MS": strconv.FormatInt(at.Add(time.Second/2).UnixMilli(), 10)})
		want([]string{"rmq_sys_wheel_timer: delay (" + at.UTC().Format("2006-01-02 15:04:05,000") + ")"}, "TIMED")
		send("PREPARED", map[string]string{"TRAN_MSG": "true", "PGROUP": "P"})
		want([]string{"RMQ_SYS_TRANS_HALF_TOPIC: half message of a transaction"}, "PREPARED")
	})
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package storedbytes

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"rocketmq-go/internal/replay"
)

// delays are messages with a delay level, each waited for until it is delivered.
func delays(p *Player) error {
	for i, c := range []struct{ level, more string }{
		{"1", ""},
		{"2", props("TAGS", "t", "KEYS", "k", "zz", "1", "aa", "2")},
		{"18", ""},
		{"100", ""},
		{"1", props("WAIT", "false")},
		{"1", props("REAL_TOPIC", "Elsewhere", "REAL_QID", "9")},
	} {
		err := p.Storing("BytesDelay", 1, func() error {
			_, err := p.Send("BytesDelay", props("UNIQ_KEY", fmt.Sprint("d", i), "DELAY", c.level)+c.more, []byte("later"), "e", strconv.Itoa(i%4))
			return err
		})
		if err != nil {
			return err
		}
	}
	for i, level := range []string{"0", "-1", "x", "1.0", " 1"} {
		if _, err := p.Send("BytesDelay", props("UNIQ_KEY", fmt.Sprint("n", i), "DELAY", level), []byte("at once, or refused")); err != nil {
			return err
		}
	}
	return nil
}

// sentBack are messages that consumers could not handle: they come again on the retry topic, in the end they are dead.
func sentBack(p *Player) error {
	const group = "BytesGroup"
	retry, dead := "%RETRY%"+group, "%DLQ%"+group
	back := func(offset int64, level, max, topic string, unit string) error {
		_, err := p.Request(36, "offset", strconv.FormatInt(offset, 10), "group", group, "delayLevel", level, "originMsgId", "ORIGIN"+level,
			"originTopic", topic, "unitMode", unit, "maxReconsumeTimes", max)
		return err
	}
	for i, c := range []struct{ level, max, properties, unit string }{
		{"1", "16", props("TAGS", "t", "KEYS", "k", "zz", "1"), "false"},
		{"0", "16", "", "false"},
		{"2", "-", props("MSG_REGION", "x", "Aa", "1", "BB", "2"), "true"},
		{"1", "16", props("RETRY_TOPIC", "Another", "ORIGIN_MESSAGE_ID", "0000"), "false"},
	} {
		a, err := p.Send("BytesBack", props("UNIQ_KEY", fmt.Sprint("s", i))+c.properties, []byte("bad"), "h", "3", "f", "1")
		if err != nil {
			return err
		}
		_, offset, err := id(a)
		if err != nil {
			return err
		}
		if err := p.Storing(retry, 1, func() error { return back(offset, c.level, c.max, "BytesBack", c.unit) }); err != nil {
			return err
		}
		// and again, from the retry topic
		again := p.Log.Last(retry)
		if err := p.Storing(retry, 1, func() error { return back(again.PhyOffset, c.level, c.max, retry, c.unit) }); err != nil {
			return err
		}
		again = p.Log.Last(retry)
		if err := p.Storing(dead, 1, func() error { return back(again.PhyOffset, "-1", c.max, retry, c.unit) }); err != nil {
			return err
		}
		if err := p.Storing(dead, 1, func() error { return back(again.PhyOffset, "1", "2", retry, c.unit) }); err != nil {
			return err
		}
	}
	// consumers of 5.x send to the retry topic instead
	for i, times := range []string{"1", "3", "16", "17"} {
		properties := props("UNIQ_KEY", fmt.Sprint("t", i), "RETRY_TOPIC", "BytesBack", "RECONSUME_TIME", times, "MAX_RECONSUME_TIMES", "16", "ORIGIN_MESSAGE_ID", "00", "DELAY", "1")
		if _, err := p.Send(retry, properties, []byte("again"), "j", times, "l", "16"); err != nil {
			return err
		}
	}
	return back(1<<40, "1", "16", "BytesBack", "false")
}

// transactions are half messages and what ends them.
func transactions(p *Player) error {
	const half, op = "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC"
	for i, c := range []struct {
		end        string
		properties string
		flag       string
		fields     []string
	}{
		{"8", props("TAGS", "t", "KEYS", "k1 k2"), "4", nil},
		{"12", props("KEYS", "k"), "4", nil},
		{"8", props("zz", "1", "aa", "2", "WAIT", "false"), "5", []string{"e", "2", "h", "9"}},
		{"8", props("Aa", "1", "BB", "2", "MSG_REGION", "x"), "0", nil},
		{"8", props("CHECK_IMMUNITY_TIME_IN_SECONDS", "600", "DUP_INFO", "x", "INSTANCE_ID", "i"), "4", []string{"g", strconv.FormatInt(time.Now().UnixMilli(), 10)}},
	} {
		uniq := fmt.Sprintf("7F00000100010000000000000000AA%02d", i)
		a, err := p.Send("BytesTransaction", props("UNIQ_KEY", uniq, "TRAN_MSG", "true", "PGROUP", "PG")+c.properties, []byte("half"),
			append([]string{"f", c.flag}, c.fields...)...)
		if err != nil {
			return err
		}
		_, offset, err := id(a)
		if err != nil {
			return err
		}
		err = p.Storing(op, 1, func() error {
			_, err := p.Request(37, "producerGroup", "PG", "tranStateTableOffset", field(a, "queueOffset"), "commitLogOffset", strconv.FormatInt(offset, 10),
				"commitOrRollback", c.end, "fromTransactionCheck", "false", "msgId", uniq, "transactionId", uniq, "topic", "BytesTransaction")
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lightQueues are messages for several queues.
func lightQueues(p *Player) error {
	for i, c := range []struct {
		topic, names string
		more         string
	}{
		{"BytesLight", "%LMQ%a,%LMQ%b", props("TAGS", "t")},
		{"BytesLight", "%LMQ%a", props("WAIT", "false", "zz", "1", "aa", "2")},
		{"BytesLight", "%LMQ%a,plain,%LMQ%c", ""},
		{"BytesLight", "%LMQ%a,%LMQ%a", ""},
		{"BytesLight", "%LMQ%a,,", ""},
		{"BytesLight", "%LMQ%a,x,", ""},
		{"BytesLight", ",", ""},
		{"BytesLight", "plain", ""},
	} {
		send := func() error {
			_, err := p.Send(c.topic, props("UNIQ_KEY", fmt.Sprint("l", i), "INNER_MULTI_DISPATCH", c.names)+c.more, []byte("light"))
			return err
		}
		if err := p.Storing(c.topic, 1, send); err != nil {
			return err
		}
	}
	return nil
}

// timers are messages for a time.
func timers(p *Player) error {
	at := func(ms int64) string { return strconv.FormatInt(time.Now().UnixMilli()+ms, 10) }
	for i, properties := range []string{
		props("TIMER_DELAY_MS", "1500"), props("TIMER_DELAY_SEC", "1"), props("TIMER_DELIVER_MS", at(2500)), props("TIMER_DELIVER_MS", "1600000000000"),
		props("TIMER_DELAY_MS", "1500", "TAGS", "t", "KEYS", "k", "zz", "1", "aa", "2", "WAIT", "false"), props("TIMER_DELAY_MS", "0"),
	} {
		send := func() error {
			_, err := p.Send("BytesTimer", props("UNIQ_KEY", fmt.Sprintf("7F00000100010000000000000000BB%02d", i))+properties, []byte("on time"), "e", strconv.Itoa(i%4))
			return err
		}
		if err := p.Storing("BytesTimer", 1, send); err != nil {
			return err
		}
	}
	for i, properties := range []string{props("TIMER_DELAY_MS", "x"), props("TIMER_DELAY_SEC", "999999999"), props("TIMER_DELAY_MS", "-5"), props("TIMER_DELIVER_MS", "")} {
		if _, err := p.Send("BytesTimer", props("UNIQ_KEY", fmt.Sprint("w", i))+properties, []byte("no time")); err != nil {
			return err
		}
	}
	// one that is taken back
	a, err := p.Send("BytesTimer", props("UNIQ_KEY", "7F00000100010000000000000000CC00", "TIMER_DELIVER_MS", at(3_600_000)), []byte("recalled"))
	if err != nil {
		return err
	}
	_, err = p.Request(370, "producerGroup", "PG", "topic", "BytesTimer", "recallHandle", field(a, "recallHandle"))
	return err
}

// longTopics are retry topics of more than 127 characters, which need records of the second version.
func longTopics(p *Player) error {
	for _, n := range []int{119, 120, 121, 200, 248, 249} {
		group := strings.Repeat("g", n)
		if _, err := p.Request(200, "groupName", group); err != nil {
			return err
		}
		if _, err := p.Send("%RETRY%"+group, props("UNIQ_KEY", fmt.Sprint("v", n), "a", "b"), []byte("long")); err != nil {
			return err
		}
	}
	return nil
}

// replies are answers of consumers to requests, for requesters that are gone.
func replies(p *Player) error {
	for i, code := range []int32{324, 325} {
		f := sendFrame("DefaultCluster_REPLY_TOPIC", props("UNIQ_KEY", fmt.Sprint("y", i), "CORRELATION_ID", "c", "REPLY_TO_CLIENT", "nobody", "MSG_TYPE", "reply", "TTL", "3000"), []byte("reply"))
		if code == 324 {
			long := map[string]string{"a": "producerGroup", "b": "topic", "c": "defaultTopic", "d": "defaultTopicQueueNums", "e": "queueId", "f": "sysFlag", "g": "bornTimestamp", "h": "flag", "i": "properties", "j": "reconsumeTimes", "k": "unitMode", "m": "batch"}
			fields := map[string]any{}
			for short, value := range f.ExtFields {
				fields[long[short]] = value
			}
			f.ExtFields = fields
		}
		f.Code = code
		if _, err := p.Call(f); err != nil {
			return err
		}
	}
	return nil
}

// stores are the requests that store something.
var stores = map[int32]bool{10: true, 310: true, 320: true, 324: true, 325: true, 36: true, 37: true}

// steps plays recorded steps; what they expect does not matter here, but an answer is waited for.
func (p *Player) steps(steps []*replay.Step) error {
	r := replay.NewRunner(func(string) (net.Conn, error) { return net.DialTimeout("tcp", p.Addr, 5*time.Second) })
	defer r.Close()
	for _, st := range steps {
		// for a queue of -1 a broker chooses one
		if st.To == "namesrv" || st.ExtFields["e"] == "-1" || st.ExtFields["queueId"] == "-1" {
			continue
		}
		ms := int(answerWait.Milliseconds())
		if st.TimeoutMs == nil {
			st.TimeoutMs = &ms
		}
		if _, err := r.Do(st); err != nil {
			return fmt.Errorf("%s: %w", st.ID, err)
		}
		q := Request{Name: st.ID + ": " + strconv.Itoa(int(st.Code)), Code: -1}
		if a := r.Last(); a != nil {
			q.Code = a.Code
			if a.Remark != nil {
				q.Remark = *a.Remark
			}
		}
		if !stores[st.Code] {
			continue
		}
		if err := p.note(q); err != nil {
			return fmt.Errorf("%s: %w", st.ID, err)
		}
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/remoting/protocol"
)

func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

// A slave has what its master has: messages at once, topics, groups and offsets within ten seconds.
func TestSlaveFollowsItsMaster(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := newPair(t)
		slave := p.slave("slaveReadEnable=true") // before there is a master
		p.settle()
		p.master()
		p.topic("T", 2)
		p.doBody(masterHost, protocol.ReqUpdateAndCreateSubscriptiongroup, `{"groupName":"G","consumeEnable":true,"retryQueueNums":3}`)
		for _, body := range []string{"one", "two", "three"} {
			p.send("T", body)
		}
		p.do(masterHost, protocol.ReqUpdateConsumerOffset, "consumerGroup=G", "topic=T", "queueId=0", "commitOffset=2")
		p.do(masterHost, protocol.ReqUpdateAndGetGroupForbidden, "group=G", "topic=T", "readable=false")
		p.settle()

		if got := p.bodies(p.pull(slaveHost, "T", 0)); !slices.Equal(got, []string{"one", "two", "three"}) {
			t.Errorf("the slave has %q", got)
		}
		for _, code := range []int32{
			protocol.ReqGetAllTopicConfig, protocol.ReqGetAllSubscriptiongroupConfig, protocol.ReqGetAllConsumerOffset,
			protocol.ReqGetAllMessageRequestMode, protocol.ReqGetTimerMetrics, protocol.ReqGetAllDelayOffset,
		} {
			if m, s := p.do(masterHost, code), p.do(slaveHost, code); string(m.Body) != string(s.Body) {
				t.Errorf("%s: the slave has\n%s\nand the master\n%s", protocol.RequestName(code), s.Body, m.Body)
			}
		}
		if err := slave.Ready(); err != nil {
			t.Error(err)
		}
		route := string(p.do(pairNamesrv, protocol.ReqGetRouteinfoByTopic, "topic=T").Body)
		if want := `"brokerAddrs":{0:"127.0.0.1:10911",1:"127.0.0.2:10911"}`; !strings.Contains(route, want) {
			t.Errorf("route %s", route)
		}
		// A slave that leaves takes nobody else along.
		p.stop(slaveHost)
		route = string(p.do(pairNamesrv, protocol.ReqGetRouteinfoByTopic, "topic=T").Body)
		if want := `"brokerAddrs":{0:"127.0.0.1:10911"}`; !strings.Contains(route, want) {
			t.Errorf("route without the slave %s", route)
		}
	})
}

// A topic that is deleted and made again before the slave copies the tables the next time: its consumers get the new messages,
// and what they had consumed of the old ones is forgotten.
func TestSlaveOfATopicMadeAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := newPair(t)
		p.master()
		p.slave("slaveReadEnable=true")
		p.topic("T", 1)
		p.doBody(masterHost, protocol.ReqUpdateAndCreateSubscriptiongroup, `{"groupName":"G","consumeEnable":true}`)
		for range 5 {
			p.send("T", "old")
		}
		commit := func(offset string) {
			p.do(masterHost, protocol.ReqUpdateConsumerOffset, "consumerGroup=G", "topic=T", "queueId=0", "commitOffset="+offset)
		}
		commit("5")
		p.settle()
		offsets := func() string {
			return string(p.do(slaveHost, protocol.ReqGetAllConsumerOffset).Body)
		}
		if !strings.Contains(offsets(), `"T@G":{0:5}`) {
			t.Fatalf("offsets %s", offsets())
		}
		p.do(masterHost, protocol.ReqDeleteTopicInBroker, "topic=T")
		p.topic("T", 1)
		p.send("T", "new1")
		p.send("T", "new2")
		synctest.Wait()
		if got := p.bodies(p.pull(slaveHost, "T", 0)); !slices.Equal(got, []string{"new1", "new2"}) {
			t.Errorf("the slave has %q", got)
		}
		if strings.Contains(offsets(), "T@G") {
			t.Errorf("offsets %s", offsets())
		}
		commit("1")
		p.settle()
		if !strings.Contains(offsets(), `"T@G":{0:1}`) {
			t.Errorf("offsets %s", offsets())
		}
	})
}

// What tools and Prometheus are told of replication, on both sides, while it works and when it does not.
func TestReplicationIsShown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := newPair(t)
		p.master()
		p.topic("T", 1)
		slave := p.slave()
		p.send("T", "x")
		p.settle()

		m := decode[protocol.HARuntimeInfo](p, masterHost, protocol.ReqGetBrokerHaStatus)
		s := decode[protocol.HARuntimeInfo](p, slaveHost, protocol.ReqGetBrokerHaStatus)
		end := m.MasterCommitLogMaxOffset
		if !m.Master || end == 0 || m.InSyncSlaveNums != 1 || len(m.HaConnectionInfo) != 1 || m.HaConnectionInfo[0].SlaveAckOffset != end ||
			m.HaConnectionInfo[0].Diff != 0 || !m.HaConnectionInfo[0].InSync || m.HaConnectionInfo[0].TransferFromWhere != end {
			t.Errorf("the master says %+v", m)
		}
		c := s.HaClientRuntimeInfo
		if s.Master || s.MasterCommitLogMaxOffset != 0 || c.MasterAddr != "127.0.0.1:10912" || c.MaxOffset != end || c.MasterFlushOffset != 0 ||
			time.Since(time.UnixMilli(c.LastReadTimestamp)) > 6*time.Second || time.Since(time.UnixMilli(c.LastWriteTimestamp)) > 6*time.Second {
			t.Errorf("the slave says %+v", s)
		}
		p.do(slaveHost, protocol.ReqResetMasterFlushOffset, "masterFlushOffset=7")
		p.do(slaveHost, protocol.ReqResetMasterFlushOffset)
		if got := decode[protocol.HARuntimeInfo](p, slaveHost, protocol.ReqGetBrokerHaStatus).HaClientRuntimeInfo.MasterFlushOffset; got != 7 {
			t.Errorf("masterFlushOffset %d", got)
		}
		active := func(host string) string {
			v, _ := ptr(decode[protocol.KVTable](p, host, protocol.ReqGetBrokerRuntimeInfo)).Table.Get("brokerActive")
			return v
		}
		if active(masterHost) != "true" || active(slaveHost) != "false" {
			t.Errorf("brokerActive %s, of the slave %s", active(masterHost), active(slaveHost))
		}
		p.expectMetrics(masterHost, "rocketmq_broker_slaves{", " 1", "rocketmq_broker_slaves_in_sync{", " 1", "rocketmq_broker_slave_lag_bytes{", " 0")
		p.expectMetrics(slaveHost, "rocketmq_broker_master_connected{", " 1", "rocketmq_broker_master_copy_failures_total{", " 0")

		p.stop(masterHost)
		p.settle()
		p.expectMetrics(slaveHost, "rocketmq_broker_master_connected{", " 0")
		if err := slave.Ready(); err != nil { // there is nothing better
			t.Errorf("without a master: %v", err)
		}
		for _, line := range []string{
			`msg="slave connected"`, `msg="the name server tells the master" at=127.0.0.2`, `msg="the tables of the master have been copied"`,
			`msg="no name server knows the master any more"`,
		} {
			if !strings.Contains(p.said.String(), line) {
				t.Errorf("the log lacks %s", line)
			}
		}
		if t.Failed() {
			t.Log(p.said.String())
		}
	})
}

func ptr[T any](v T) *T { return &v }

// expectMetrics takes pairs: how a line begins and how it ends.
func (p *pair) expectMetrics(host string, want ...string) {
	p.t.Helper()
	text := p.metrics(host)
	for i := 0; i < len(want); i += 2 {
		found := false
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			found = found || strings.HasPrefix(line, want[i]) && strings.HasSuffix(line, want[i+1])
		}
		if !found {
			p.t.Errorf("metrics of %s lack %s…%s:\n%s", host, want[i], want[i+1], grep(text, strings.TrimSuffix(want[i], "{")))
		}
	}
}

func grep(text, part string) (found string) {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			found += line
		}
	}
	return found
}

// Whom a send waits for, how long, and what the producer hears.
func TestWhoWaitsForSlaves(t *testing.T) {
	const ok, notThere, late = protocol.RespSuccess, protocol.RespSlaveNotAvailable, protocol.RespFlushSlaveTimeout
	for _, c := range []struct {
		name       string
		master     []string
		slaves     int
		properties []string
		code       int32
		wait       time.Duration
	}{
		{"asynchronous", nil, 0, nil, ok, 0},
		{"5.x waits for nobody by default", []string{"brokerRole=SYNC_MASTER"}, 0, nil, ok, 0},
		{"one slave of one", []string{"brokerRole=SYNC_MASTER", "inSyncReplicas=2"}, 1, nil, ok, 0},
		{"one slave that is not there", []string{"brokerRole=SYNC_MASTER", "inSyncReplicas=2"}, 0, nil, late, 3 * time.Second},
		{"two slaves of which one is there", []string{"brokerRole=SYNC_MASTER", "inSyncReplicas=3", "slaveTimeout=500"}, 1, nil, late, 500 * time.Millisecond},
		{"asynchronous with inSyncReplicas", []string{"inSyncReplicas=2"}, 0, nil, ok, 0},
		{"a message that does not want to wait", []string{"brokerRole=SYNC_MASTER", "inSyncReplicas=2"}, 0, []string{"WAIT=false"}, ok, 0},
		{"4.9 without slaves", []string{"brokerRole=SYNC_MASTER", "compatVersion=4.9.7"}, 0, nil, notThere, 0},
		{"4.9 with a slave", []string{"brokerRole=SYNC_MASTER", "compatVersion=4.9.7"}, 1, nil, ok, 0},
		{"4.9 without slaves, not waiting", []string{"brokerRole=SYNC_MASTER", "compatVersion=4.9.7"}, 0, []string{"WAIT=false"}, ok, 0},
		{"4.9 with a slave that is far behind", []string{"brokerRole=SYNC_MASTER", "compatVersion=4.9.7", "haSlaveFallbehindMax=1"}, 1, nil, notThere, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				p := newPair(t)
				p.master(c.master...)
				p.topic("T", 1)
				if c.slaves > 0 {
					p.slave(slices.DeleteFunc(slices.Clone(c.master), func(kv string) bool { return strings.HasPrefix(kv, "brokerRole") })...)
				}
				p.settle()
				began := time.Now()
				answer := p.send("T", "x", c.properties...)
				if took := time.Since(began); answer.Code != c.code || took != c.wait {
					t.Errorf("code %d after %v, want %d after %v", answer.Code, took, c.code, c.wait)
				}
				if _, stored := answer.Fields.Get("queueOffset"); !stored {
					t.Errorf("the answer does not say where the message is: %v", answer.Fields.List)
				}
			})
		})
	}
}

// While the master is away its slave serves consumers, and keeps what they commit; a master that comes back goes on with its
// own offsets, and the slave follows, as in Java.
func TestMasterAway(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := newPair(t)
		p.master()
		p.topic("T", 1)
		p.slave("slaveReadEnable=true")
		p.send("T", "one")
		p.send("T", "two")
		p.do(masterHost, protocol.ReqUpdateConsumerOffset, "consumerGroup=TOOLS_CONSUMER", "topic=T", "queueId=0", "commitOffset=1")
		p.settle()
		p.stop(masterHost)
		if got := p.bodies(p.pull(slaveHost, "T", 1)); !slices.Equal(got, []string{"two"}) {
			t.Errorf("without its master the slave has %q", got)
		}
		p.do(slaveHost, protocol.ReqUpdateConsumerOffset, "consumerGroup=TOOLS_CONSUMER", "topic=T", "queueId=0", "commitOffset=2")
		p.settle()
		committed := func(host string) string {
			v, _ := p.do(host, protocol.ReqQueryConsumerOffset, "consumerGroup=TOOLS_CONSUMER", "topic=T", "queueId=0").Fields.Get("offset")
			return v
		}
		if got := committed(slaveHost); got != "2" {
			t.Errorf("committed %s", got)
		}
		p.master()
		p.send("T", "three")
		p.settle()
		if got := p.bodies(p.pull(slaveHost, "T", 0)); !slices.Equal(got, []string{"one", "two", "three"}) {
			t.Errorf("when the master is back the slave has %q", got)
		}
		if m, s := committed(masterHost), committed(slaveHost); m != "1" || s != "1" {
			t.Errorf("committed %s at the master, %s at the slave", m, s)
		}
	})
}

// A topic that is deleted at the master is gone at the slave, with its queues: a new one of that name begins at 0 there too.
func TestTopicDeletedAtTheMaster(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := newPair(t)
		p.master()
		p.topic("T", 1)
		p.slave("slaveReadEnable=true")
		p.send("T", "old")
		p.settle()
		p.do(masterHost, protocol.ReqDeleteTopicInBroker, "topic=T")
		p.settle()
		if a := p.pull(slaveHost, "T", 0); a.Code != protocol.RespTopicNotExist {
			t.Errorf("a deleted topic at the slave: %d %s", a.Code, a.Remark.V)
		}
		p.topic("T", 1)
		p.send("T", "new")
		p.settle()
		if got := p.bodies(p.pull(slaveHost, "T", 0)); !slices.Equal(got, []string{"new"}) {
			t.Errorf("the slave has %q", got)
		}
	})
}

// A slave that is restarted as a master, because that one is gone, delivers what the master has not delivered: delayed
// messages and timers of which the slave has had nothing but their copies.
func TestSlaveBecomesMaster(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := newPair(t)
		p.master()
		p.topic("T", 1)
		p.slave()
		p.settle()
		p.send("T", "delay 10s", "DELAY=3")
		p.send("T", "delay 1m", "DELAY=5")
		p.send("T", "timer 10s", "TIMER_DELAY_SEC=10")
		p.send("T", "timer 60s", "TIMER_DELAY_SEC=60")
		time.Sleep(12 * time.Second) // the first ones are delivered
		p.settle()                   // and the slave knows
		if got := p.bodies(p.pull(masterHost, "T", 0)); len(got) != 2 {
			t.Fatalf("the master has delivered %q", got)
		}
		for line := range strings.Lines(p.said.String()) {
			if strings.Contains(line, "at="+slaveHost) && !strings.Contains(line, "level=INFO") {
				t.Errorf("the slave tries what only a master does: %s", line)
			}
		}
		p.stop(masterHost)
		p.stop(slaveHost)
		p.start(slaveHost)
		time.Sleep(2 * time.Minute)
		got := p.bodies(p.pull(slaveHost, "T", 0))
		slices.Sort(got)
		if !slices.Equal(got, []string{"delay 10s", "delay 1m", "timer 10s", "timer 60s"}) {
			t.Errorf("delivered in all %q", got)
		}
		if a := p.askBody(slaveHost, protocol.ReqSendMessageV2, "x", "a=PG", "b=T", "c=TBW102", "d=4", "e=0", "f=0", "g=1", "h=0", "i=", "j=0", "k=false", "m=false"); a.Code != protocol.RespSuccess {
			t.Errorf("the new master refuses a send: %d %s", a.Code, a.Remark.V)
		}
	})
}

// A slave that begins with nothing has what is in its master's newest file, and all that follows. Consumers that want older
// messages keep their offset, for the master, and the log says so once.
func TestSlaveJoinsLate(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := newPair(t)
		p.master()
		p.topic("T", 1)
		large := strings.Repeat("x", 60<<10)
		for range 20 { // files have 1 MiB
			p.send("T", large)
		}
		p.slave("slaveReadEnable=true")
		p.settle()
		p.send("T", "new")
		time.Sleep(time.Second)
		v, _ := p.do(slaveHost, protocol.ReqGetMinOffset, "topic=T", "queueId=0").Fields.Get("offset")
		least, _ := strconv.ParseInt(v, 10, 64)
		if least < 10 || least > 19 {
			t.Errorf("the slave has messages from %s on", v)
		}
		if got := p.bodies(p.pull(slaveHost, "T", least)); int64(len(got)) != 21-least || got[len(got)-1] != "new" {
			t.Errorf("from %d on the slave has %d messages", least, len(got))
		}
		for range 3 {
			a := p.pull(slaveHost, "T", 0)
			if next, _ := a.Fields.Get("nextBeginOffset"); a.Code != protocol.RespPullRetryImmediately || next != "0" || a.Remark.V != "OFFSET_TOO_SMALL" {
				t.Errorf("pull of what is not there: %d %s, next %s", a.Code, a.Remark.V, next)
			}
		}
		if n := strings.Count(p.said.String(), "a consumer wants messages that this slave does not have"); n != 1 {
			t.Errorf("said %d times", n)
		}
	})
}

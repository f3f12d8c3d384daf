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

	"rocketmq-go/broker"
	"rocketmq-go/remoting/protocol"
)

// The other hosts of a group: a second slave, and the master of another name.
const (
	slave2Host = "127.0.0.3"
	otherHost  = "127.0.0.4"
)

// group is a pair of which the slave acts as master while there is none.
type group struct{ *pair }

func newGroup(t *testing.T, set ...string) group {
	return group{newPair(t, append([]string{
		"namesrv.supportActingMaster=true", "enableSlaveActingMaster=true", "totalReplicas=2", "slaveReadEnable=true",
		"enableRemoteEscape=true", "messageDelayLevel=30s", "transactionTimeOut=30000", "transactionCheckInterval=5000",
	}, set...)...)}
}

// other starts the master of another name.
func (g group) other() *broker.Broker {
	b := g.start(otherHost, "brokerName=broker-b", "enableSlaveActingMaster=false")
	g.make(otherHost, "T")
	return b
}

func (g group) make(host, topic string) {
	g.t.Helper()
	g.do(host, protocol.ReqUpdateAndCreateTopic, "topic="+topic, "defaultTopic=TBW102", "readQueueNums=1", "writeQueueNums=1", "perm=6",
		"topicFilterType=SINGLE_TAG", "topicSysFlag=0", "order=false")
}

func (g group) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// shown is what the route of a topic says of broker-a, and which permission its queues have.
func (g group) shown(topic string) (addrs, perm string) {
	route := string(g.do(pairNamesrv, protocol.ReqGetRouteinfoByTopic, "topic="+topic).Body)
	_, data, _ := strings.Cut(route, `"brokerDatas":[`)
	for part := range strings.SplitSeq(data, `"brokerAddrs":`) {
		if at, rest, _ := strings.Cut(part, "}"); strings.HasPrefix(rest, `,"brokerName":"broker-a"`) {
			addrs = at + "}"
		}
	}
	_, queues, _ := strings.Cut(route, `"queueDatas":[{"brokerName":"broker-a","perm":`)
	perm, _, _ = strings.Cut(queues, ",")
	return addrs, perm
}

func (g group) routed(when, addrs, perm string) {
	g.t.Helper()
	if a, p := g.shown("T"); a != addrs || p != perm {
		g.t.Errorf("%s: route %s perm %s, want %s perm %s", when, a, p, addrs, perm)
	}
}

// active tells whether a broker runs what one of its name runs.
func (g group) active(host string) string {
	text, _ := ptr(decode[protocol.KVTable](g.pair, host, protocol.ReqGetBrokerRuntimeInfo)).Table.Get("brokerActive")
	return text
}

func (g group) offset(host string) string {
	g.t.Helper()
	text, _ := g.do(host, protocol.ReqQueryConsumerOffset, "consumerGroup=G", "topic=T", "queueId=0").Fields.Get("offset")
	return text
}

func (g group) commit(host string, offset int) {
	g.t.Helper()
	g.do(host, protocol.ReqUpdateConsumerOffset, "consumerGroup=G", "topic=T", "queueId=0", "commitOffset="+strconv.Itoa(offset))
}

const (
	both      = `{0:"127.0.0.1:10911",1:"127.0.0.2:10911"}`
	slaveOnly = `{0:"127.0.0.2:10911"}`
)

// A master goes, its slave serves consumers and delivers what is due to the other master, and the master comes back: it goes on
// where the slave was, nothing is delivered twice, and the logs are the same. By each way in which brokers ask who lives.
func TestActingMaster(t *testing.T) {
	for _, keys := range []string{"", "compatibleWithOldNameSrv=false", "namesrv.notifyMinBrokerIdChanged=true syncBrokerMemberGroupPeriod=3600000"} {
		t.Run(keys, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, strings.Fields(keys)...)
				g.other()
				g.master()
				g.slave()
				g.make(masterHost, "T")
				g.doBody(masterHost, protocol.ReqUpdateAndCreateSubscriptiongroup, `{"groupName":"G","consumeEnable":true}`)
				for i := range 5 {
					g.send("T", "m"+strconv.Itoa(i))
				}
				g.commit(masterHost, 2)
				g.settle()
				g.routed("with both", both, "6")
				g.send("T", "delayed", "DELAY=1")
				g.send("T", "timed", "TIMER_DELAY_SEC=40")
				g.send("T", "half", "TRAN_MSG=true", "PGROUP=P")
				g.wait(time.Second)
				if g.active(masterHost) != "true" || g.active(slaveHost) != "false" {
					t.Error("the slave is active while there is a master")
				}
				end := g.logEnd(masterHost)

				g.stop(masterHost)
				g.wait(2 * time.Second)
				g.routed("without the master", slaveOnly, "4")
				if g.active(slaveHost) != "true" {
					t.Error("the slave does not act as master")
				}
				if got := g.bodies(g.pull(slaveHost, "T", 2)); !slices.Equal(got, []string{"m2", "m3", "m4"}) || g.offset(slaveHost) != "2" {
					t.Errorf("the slave gives %q from 2 on, and has offset %s", got, g.offset(slaveHost))
				}
				g.commit(slaveHost, 4)
				if a := g.askBody(slaveHost, protocol.ReqSendMessageV2, "x", "a=PG", "b=T", "c=TBW102", "d=4", "e=0", "f=0", "g=1", "h=0", "i=", "j=0", "k=false"); a.Code != protocol.RespServiceNotAvailable {
					t.Errorf("a send to the slave is answered %d %s", a.Code, a.Remark.V)
				}
				g.wait(time.Minute)
				want := []string{"delayed", "timed"}
				if got := g.bodies(g.pull(otherHost, "T", 0)); !slices.Equal(got, want) {
					t.Errorf("the other master got %q, want %q", got, want)
				}
				if got := g.bodies(g.pull(otherHost, "RMQ_SYS_TRANS_HALF_TOPIC", 0)); len(got) == 0 || got[0] != "half" {
					t.Errorf("the other master asks about %q", got)
				}
				if got := g.logEnd(slaveHost); got != end {
					t.Errorf("the slave's log ends at %s, the master's at %s", got, end)
				}

				g.master()
				g.wait(3 * time.Second)
				g.routed("with the master again", both, "6")
				if g.offset(masterHost) != "4" {
					t.Errorf("the master goes on at %s", g.offset(masterHost))
				}
				if g.active(masterHost) != "true" || g.active(slaveHost) != "false" {
					t.Error("the slave is active although the master is back")
				}
				g.wait(time.Minute)
				g.send("T", "new")
				g.settle()
				if got, want := g.bodies(g.pull(masterHost, "T", 0)), []string{"m0", "m1", "m2", "m3", "m4", "new"}; !slices.Equal(got, want) {
					t.Errorf("the master has %q", got)
				}
				if got := g.bodies(g.pull(otherHost, "T", 0)); !slices.Equal(got, want) {
					t.Errorf("the other master got %q in the end", got)
				}
				if m, s := g.logEnd(masterHost), g.logEnd(slaveHost); m != s || m == end {
					t.Errorf("the logs end at %s and %s", m, s)
				}
			})
		})
	}
}

// Of two slaves the one with the smaller id acts; when it goes too the other one does, and neither when the master is back.
func TestWhichSlaveActs(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "totalReplicas=3")
		g.master()
		g.slave()
		g.start(slave2Host, "brokerRole=SLAVE", "brokerId=2")
		g.make(masterHost, "T")
		g.settle()
		check := func(when string, want ...string) {
			t.Helper()
			var got []string
			for _, host := range []string{masterHost, slaveHost, slave2Host} {
				if g.brokers[host] != nil && g.active(host) == "true" {
					got = append(got, host)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q act, want %q", when, got, want)
			}
		}
		check("with all", masterHost)
		g.stop(masterHost)
		g.wait(3 * time.Second)
		check("without the master", slaveHost)
		g.stop(slaveHost)
		g.wait(3 * time.Second)
		check("without the first slave", slave2Host)
		g.slave()
		g.wait(3 * time.Second)
		check("with the first slave again", slaveHost)
		g.master()
		g.wait(3 * time.Second)
		check("with the master again", masterHost)
		g.routed("with the master again", `{0:"127.0.0.1:10911",1:"127.0.0.2:10911",2:"127.0.0.3:10911"}`, "6")
	})
}

// A master that comes and goes leaves neither two brokers that deliver nor none, and the slave's log is always the beginning of
// its master's.
func TestMasterFlaps(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		g.other()
		g.master()
		g.slave()
		g.make(masterHost, "T")
		g.settle()
		for i := range 6 {
			for _, a := range []*protocol.Command{g.send("T", "m"+strconv.Itoa(i)), g.send("T", "d"+strconv.Itoa(i), "DELAY=1")} {
				if a.Code != protocol.RespSuccess {
					t.Fatalf("round %d: a send is answered %d %s", i, a.Code, a.Remark.V)
				}
			}
			g.wait(time.Second)
			g.stop(masterHost)
			g.wait(time.Duration(i) * 400 * time.Millisecond)
			g.master()
			g.wait(time.Duration(i%3+2) * time.Second)
			g.routed("round "+strconv.Itoa(i), both, "6")
		}
		g.wait(time.Minute)
		m, s := g.logEnd(masterHost), g.logEnd(slaveHost)
		all := append(g.bodies(g.pull(masterHost, "T", 0)), g.bodies(g.pull(otherHost, "T", 0))...)
		slices.Sort(all)
		want := []string{"d0", "d1", "d2", "d3", "d4", "d5", "m0", "m1", "m2", "m3", "m4", "m5"}
		if m != s || !slices.Equal(all, want) {
			t.Errorf("the logs end at %s and %s, and there is %q", m, s, all)
		}
		if got := g.active(masterHost) + g.active(slaveHost); got != "truefalse" {
			t.Errorf("master and slave active: %s", got)
		}
	})
}

// A slave that hears from its master does not act, whatever name servers say: one that was restarted knows nobody.
func TestForgetfulNameServer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		g.master()
		g.slave()
		g.make(masterHost, "T")
		g.settle()
		// As if the master had never been there: its registration comes back with the next one.
		g.do(pairNamesrv, protocol.ReqUnregisterBroker, "brokerName=broker-a", "brokerAddr=127.0.0.1:10911", "clusterName=DefaultCluster", "brokerId=0")
		for range 20 {
			g.wait(time.Second)
			if g.active(slaveHost) == "true" {
				t.Fatal("the slave acts although its master lives")
			}
		}
	})
}

// A master whose slave has more than itself is known to nobody and takes nothing: what it took would be what the slave has other
// messages for.
func TestSlaveAheadOfItsMaster(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		g.master()
		g.slave()
		g.make(masterHost, "T")
		g.send("T", "only the slave will have it")
		g.settle()
		g.stop(masterHost)
		g.wait(3 * time.Second)
		lost := g.master("storePathRootDir=" + t.TempDir())
		g.wait(30 * time.Second)
		if a := g.send("T", "x"); a.Code != protocol.RespServiceNotAvailable && a.Code != protocol.RespTopicNotExist {
			t.Errorf("the master answers a send with %d %s", a.Code, a.Remark.V)
		}
		if lost.Ready() == nil || g.logEnd(masterHost) != "0" {
			t.Errorf("the master is ready, its log ends at %s", g.logEnd(masterHost))
		}
		g.routed("with a master that has lost its log", slaveOnly, "4")
		if said := g.said.String(); !strings.Contains(said, "level=ERROR") || !strings.Contains(said, "the log of a slave is longer") {
			t.Error("nobody says why")
		}
		if g.active(slaveHost) != "true" {
			t.Error("the slave does not act any more")
		}
	})
}

// Where slaves may act as master a SYNC_MASTER stores nothing while less brokers are in sync than it has to wait for, and with
// enableAutoInSyncReplicas waits for those that are there.
func TestGroupInSync(t *testing.T) {
	for _, c := range []struct {
		keys             string
		alone, withSlave int32
	}{
		{"inSyncReplicas=1", protocol.RespSuccess, protocol.RespSuccess},
		{"inSyncReplicas=2", protocol.RespSystemError, protocol.RespSuccess},
		{"inSyncReplicas=3", protocol.RespSystemError, protocol.RespSystemError},
		{"inSyncReplicas=3 enableAutoInSyncReplicas=true", protocol.RespSuccess, protocol.RespSuccess},
		{"inSyncReplicas=3 enableAutoInSyncReplicas=true minInSyncReplicas=2", protocol.RespSystemError, protocol.RespSuccess},
	} {
		t.Run(c.keys, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := newGroup(t, append(strings.Fields(c.keys), "brokerRole=SYNC_MASTER")...)
				g.master()
				g.make(masterHost, "T")
				g.wait(3 * time.Second)
				end := g.logEnd(masterHost)
				if a := g.send("T", "x"); a.Code != c.alone || c.alone != protocol.RespSuccess && (a.Remark.V != "in-sync replicas not enough" || g.logEnd(masterHost) != end) {
					t.Errorf("alone: %d %s, log %s", a.Code, a.Remark.V, g.logEnd(masterHost))
				}
				g.slave()
				g.settle()
				if a := g.send("T", "x"); a.Code != c.withSlave {
					t.Errorf("with a slave: %d %s", a.Code, a.Remark.V)
				} else if m, s := g.logEnd(masterHost), g.logEnd(slaveHost); m != s {
					t.Errorf("the logs end at %s and %s", m, s)
				}
			})
		})
	}
}

// Without another master, or with enableRemoteEscape=false, what is due waits for the master, which delivers it.
func TestDueWithoutEscape(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "enableRemoteEscape=false")
		g.other()
		g.master()
		g.slave()
		g.make(masterHost, "T")
		g.settle()
		g.send("T", "delayed", "DELAY=1")
		g.send("T", "timed", "TIMER_DELAY_SEC=40")
		g.wait(time.Second)
		g.stop(masterHost)
		g.wait(2 * time.Minute)
		if got := g.bodies(g.pull(otherHost, "T", 0)); len(got) != 0 {
			t.Errorf("the other master got %q", got)
		}
		g.master()
		g.wait(20 * time.Second)
		if got := g.bodies(g.pull(masterHost, "T", 0)); !slices.Equal(got, []string{"delayed", "timed"}) && !slices.Equal(got, []string{"timed", "delayed"}) {
			t.Errorf("the master delivers %q", got)
		}
		if got := strings.Count(g.said.String(), "has to wait for the master"); got == 0 || got > 30 {
			t.Errorf("said %d times that messages wait", got)
		}
	})
}

// A half message that was checked often enough goes to the other master too, which discards it, and does not hold up those behind it.
func TestHalfCheckedOftenActing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "transactionCheckInterval=60000")
		g.other()
		g.master()
		g.slave()
		g.make(masterHost, "T")
		g.settle()
		g.send("T", "often", "TRAN_MSG=true", "PGROUP=P", "TRANSACTION_CHECK_TIMES=99")
		g.send("T", "behind", "TRAN_MSG=true", "PGROUP=P")
		g.wait(time.Second)
		g.stop(masterHost)
		g.wait(4 * time.Minute)
		if got := g.bodies(g.pull(otherHost, "RMQ_SYS_TRANS_HALF_TOPIC", 0)); len(got) < 2 || got[0] != "often" || got[1] != "behind" {
			t.Errorf("the other master has the half messages %q", got)
		}
		if got := g.bodies(g.pull(otherHost, "TRANS_CHECK_MAX_TIME_TOPIC", 0)); !slices.Equal(got, []string{"often"}) {
			t.Errorf("the other master has discarded %q", got)
		}
	})
}

// A slave that does not know of slaves that act as master does not keep its master away.
func TestReturnWithASlaveWithoutTheKey(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		g.master()
		g.slave("enableSlaveActingMaster=false")
		g.make(masterHost, "T")
		g.settle()
		g.stop(masterHost)
		g.master()
		g.wait(5 * time.Second)
		if a := g.send("T", "x"); a.Code != protocol.RespSuccess {
			t.Errorf("a send is answered %d %s", a.Code, a.Remark.V)
		}
	})
}

// A name server of 4.9 shows no acting master, and is asked in the way that it knows.
func TestActingAtAnOldNameServer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t, "namesrv.compatVersion=4.9.7")
		g.master()
		g.slave()
		g.make(masterHost, "T")
		g.settle()
		g.stop(masterHost)
		g.wait(3 * time.Second)
		if g.active(slaveHost) != "true" {
			t.Error("the slave does not act as master")
		}
		g.master()
		g.wait(3 * time.Second)
		if got := g.active(masterHost) + g.active(slaveHost); got != "truefalse" {
			t.Errorf("master and slave active: %s", got)
		}
	})
}

// Who pops from a slave that acts as master gets each message once more if it is not acknowledged: from the other master, which
// has the checkpoint and reads the message at the slave.
func TestPopFromActingMaster(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		g := newGroup(t)
		g.other()
		g.master()
		g.slave()
		g.make(masterHost, "T")
		g.doBody(masterHost, protocol.ReqUpdateAndCreateSubscriptiongroup, `{"groupName":"G","consumeEnable":true}`)
		for _, body := range []string{"acknowledged", "again"} {
			g.send("T", body)
		}
		g.settle()
		pop := func(host string) *protocol.Command {
			return g.ask(host, protocol.ReqPopMessage, "consumerGroup=G", "topic=T", "queueId=-1", "maxMsgNums=8", "invisibleTime=20000",
				"pollTime=0", "bornTime="+strconv.FormatInt(time.Now().UnixMilli(), 10), "initMode=0", "expType=TAG", "exp=*", "order=false")
		}
		if a := pop(slaveHost); a.Code != protocol.RespNoPermission {
			t.Errorf("a slave with a master is popped: %d %s", a.Code, a.Remark.V)
		}
		g.stop(masterHost)
		g.wait(3 * time.Second)
		a := pop(slaveHost)
		if got := g.bodies(a); !slices.Equal(got, []string{"acknowledged", "again"}) {
			t.Fatalf("popped %q: %d %s", got, a.Code, a.Remark.V)
		}
		popTime, _ := a.Fields.Get("popTime")
		revive, _ := a.Fields.Get("reviveQid")
		g.do(slaveHost, protocol.ReqAckMessage, "consumerGroup=G", "topic=T", "queueId=0", "offset=0",
			"extraInfo=0 "+popTime+" 20000 "+revive+" 0 broker-a 0 0")
		end := g.logEnd(slaveHost)
		g.wait(40 * time.Second)
		if got := g.bodies(g.pull(otherHost, "%RETRY%G_T", 0)); !slices.Equal(got, []string{"again"}) {
			t.Errorf("the other master gives again %q", got)
		}
		if got := g.logEnd(slaveHost); got != end {
			t.Errorf("the slave's log has grown from %s to %s", end, got)
		}
		g.master()
		g.wait(5 * time.Second)
		if got := g.bodies(pop(masterHost)); len(got) != 0 {
			t.Errorf("the master gives %q once more", got)
		}
	})
}

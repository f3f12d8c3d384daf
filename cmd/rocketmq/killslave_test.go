// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rocketmq-go/admin/client"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

// replicas are a name server, a master and a slave, each a process.
type replicas struct {
	t                 *testing.T
	dir               string
	common            []string // keys of both brokers
	ns, master, slave *server
	tool              *client.Client
}

func startReplicas(t *testing.T, keys ...string) *replicas {
	r := &replicas{t: t, dir: t.TempDir()}
	r.ns = startServer(t, "namesrv", "-c", confFile(t, r.dir, "ns.conf", "listenPort=0", "bindAddress=127.0.0.1"))
	r.common = append(keys, "listenPort=0", "brokerName=b1", "brokerIP1=127.0.0.1", "brokerIP2=127.0.0.1", "bindAddress=127.0.0.1",
		"mappedFileSizeCommitLog=4194304", "mappedFileSizeConsumeQueue=60000", "maxIndexNum=20000", "maxHashSlotNum=5000")
	r.master = r.broker("master", "brokerRole=SYNC_MASTER")
	r.slave = r.broker("slave", "brokerRole=SLAVE", "brokerId=1")
	r.tool = client.New(client.Options{Namesrv: []string{r.ns.at.Namesrv}, Timeout: 20 * time.Second})
	t.Cleanup(func() { r.tool.Close() })
	return r
}

// broker starts a broker whose store is in a folder of that name.
func (r *replicas) broker(folder string, keys ...string) *server {
	conf := append(append([]string{"storePathRootDir=" + filepath.Join(r.dir, folder)}, r.common...), keys...)
	return startServer(r.t, "broker", "-n", r.ns.at.Namesrv, "-c", confFile(r.t, r.dir, folder+".conf", conf...))
}

func (r *replicas) call(s *server, code int32, body string, fields ...string) *protocol.Command {
	r.t.Helper()
	cmd := &protocol.Command{Code: code, Body: []byte(body)}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		cmd.Fields.Add(name, value)
	}
	answer, err := r.tool.Call(r.t.Context(), s.at.Broker, cmd)
	if err != nil {
		r.t.Fatalf("%s: %v", protocol.RequestName(code), err)
	}
	return answer
}

// soon waits until something holds.
func soon(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for begin := time.Now(); !holds(); <-tick.C {
		if time.Since(begin) > time.Minute {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// A slave that is killed while it copies its master's tables has each of them whole, the old one or the new one, and starts
// again.
func TestSlaveKilledWhileItCopiesTables(t *testing.T) {
	r := startReplicas(t)
	tables := []int32{protocol.ReqGetAllTopicConfig, protocol.ReqGetAllSubscriptiongroupConfig, protocol.ReqGetAllConsumerOffset}
	copied := func() bool {
		for _, code := range tables {
			if !bytes.Equal(r.call(r.slave, code, "").Body, r.call(r.master, code, "").Body) {
				return false
			}
		}
		return true
	}
	config := func(name string) string { return filepath.Join(r.dir, "slave", "config", name) }
	rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	const rounds, each = 5, 40
	whole := 0 // rounds of which the files told the last time
	for round := 1; round <= rounds; round++ {
		_ = r.slave.end(syscall.SIGKILL) // so that it knows all topics of a round, or none
		for i := range each {
			name := fmt.Sprintf("n%d-%d", round, i)
			r.call(r.master, protocol.ReqUpdateAndCreateTopic, "", "topic="+name, "defaultTopic=TBW102", "readQueueNums=2",
				"writeQueueNums=2", "perm=6", "topicFilterType=SINGLE_TAG", "topicSysFlag=0", "order=false")
			r.call(r.master, protocol.ReqUpdateAndCreateSubscriptiongroup, fmt.Sprintf(`{"groupName":%q,"consumeEnable":true}`, name))
			r.call(r.master, protocol.ReqUpdateConsumerOffset, "", "consumerGroup="+name, "topic="+name, "queueId=0", "commitOffset=0")
		}
		r.slave.start() // it copies at once, and every ten seconds
		time.Sleep(time.Duration(rnd.IntN(300)) * time.Millisecond)
		_ = r.slave.end(syscall.SIGKILL)

		var topics protocol.TopicConfigSerializeWrapper
		var groups protocol.SubscriptionGroupWrapper
		var offsets protocol.ConsumerOffsetSerializeWrapper
		for name, table := range map[string]any{"topics.json": &topics, "subscriptionGroup.json": &groups, "consumerOffset.json": &offsets} {
			text, err := os.ReadFile(config(name))
			if errors.Is(err, fs.ErrNotExist) { // while a new one takes its place
				text, err = os.ReadFile(config(name + ".bak"))
			}
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err == nil {
				err = fastjson.Unmarshal(text, table)
			}
			if err != nil {
				t.Fatalf("round %d: %s: %v\n%.200s", round, name, err, text)
			}
		}
		now := 0
		for n := range round {
			has := 0
			for i := range each {
				if _, ok := topics.TopicConfigTable.Get(fmt.Sprintf("n%d-%d", n+1, i)); ok {
					has++
				}
			}
			if has != 0 && has != each {
				t.Errorf("round %d: topics.json has %d topics of round %d", round, has, n+1)
			}
			now += has / each
		}
		if now < whole {
			t.Errorf("round %d: topics.json has those of %d rounds, it had those of %d", round, now, whole)
		}
		whole = now
		r.slave.start()
		soon(t, "the slave has the master's tables", copied)
	}
	t.Logf("files of %d rounds at the last kill", whole)
}

// The slave of a master that waits for slave and disk is killed while messages are sent: senders hear in time that the slave
// did not answer, hear that it does when it is back, and what they were told is safe is on the slave when the master is gone.
func TestSlaveOfSyncMasterDies(t *testing.T) {
	const slaveTimeout, margin = time.Second, 4 * time.Second // the machine may be busy
	for _, c := range []struct {
		name   string
		keys   []string
		late   int32 // the answer without a slave
		atOnce bool
	}{
		{"5.x", []string{"inSyncReplicas=2"}, protocol.RespFlushSlaveTimeout, false},
		{"4.9", []string{"compatVersion=4.9.7"}, protocol.RespSlaveNotAvailable, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := startReplicas(t, append(c.keys, "flushDiskType=SYNC_FLUSH", fmt.Sprint("slaveTimeout=", slaveTimeout.Milliseconds()))...)
			l := &ledger{acks: map[place]string{}} // what is safe
			n := 0
			send := func() int32 {
				n++
				body := fmt.Sprint("m", n)
				began := time.Now()
				sent, err := r.tool.Send(t.Context(), &client.Message{Topic: "T", Body: []byte(body)})
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > slaveTimeout+margin {
					t.Errorf("answered %d after %v", sent.Code, took)
				}
				if sent.Code == protocol.RespSuccess {
					l.add(t, place{"T", sent.Queue.ID, sent.QueueOffset}, body)
				}
				return sent.Code
			}
			for range 2 {
				soon(t, "sends wait for the slave", func() bool { return send() == protocol.RespSuccess })
				kill := time.AfterFunc(time.Duration(rand.IntN(200))*time.Millisecond, func() { _ = r.slave.cmd.Process.Kill() })
				codes := map[int32]int{}
				soon(t, "the slave is missed", func() bool {
					code := send()
					codes[code]++
					return code == c.late
				})
				kill.Stop()
				_ = r.slave.cmd.Wait()
				delete(codes, protocol.RespSuccess)
				delete(codes, protocol.RespFlushSlaveTimeout) // the one that was on its way
				delete(codes, c.late)
				if len(codes) != 0 {
					t.Errorf("other answers: %v", codes)
				}
				began := time.Now()
				if code := send(); code != c.late || c.atOnce && time.Since(began) >= slaveTimeout {
					t.Errorf("without a slave: %d after %v", code, time.Since(began))
				}
				r.slave.start()
			}
			soon(t, "sends wait for the slave", func() bool { return send() == protocol.RespSuccess })
			_ = r.master.end(syscall.SIGKILL) // for good
			_ = r.slave.end(syscall.SIGKILL)
			r.broker("slave", "brokerRole=ASYNC_MASTER", "brokerId=0")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			soon(t, "the slave's store is the master's", func() bool {
				_, err := r.tool.Send(ctx, &client.Message{Topic: "T", Body: []byte("last")})
				return err == nil
			})
			l.check(t, r.ns.at.Namesrv)
		})
	}
}

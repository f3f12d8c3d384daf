// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/admin/client"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

// Topics and groups are deleted, and made again, while clients use them: nobody hangs, and what is gone stays gone (U046).
func TestDeleteWhileConsuming(t *testing.T) {
	t.Parallel()
	mq := rocketmqtest.Start(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var clients sync.WaitGroup
	var sent, pulled atomic.Int64
	for i := range 3 {
		clients.Go(func() {
			c := client.New(client.Options{Namesrv: []string{mq.NamesrvAddr}})
			defer c.Close()
			for ctx.Err() == nil {
				// What was sent is answered: nothing that is under way brings the topic back at the end.
				if _, err := c.Send(context.Background(), &client.Message{Topic: "T", Body: []byte("x"), Queue: queue(mq, 0)}); err == nil {
					sent.Add(1)
				}
			}
		})
		clients.Go(func() {
			c := client.New(client.Options{Namesrv: []string{mq.NamesrvAddr}})
			defer c.Close()
			group := fmt.Sprint("G", i)
			for offset := int64(0); ctx.Err() == nil; {
				got, err := c.Pull(ctx, client.PullRequest{Topic: "T", Queue: *queue(mq, 0), Group: group, Offset: offset, Suspend: time.Second})
				if err != nil {
					time.Sleep(time.Millisecond)
					continue
				}
				pulled.Add(int64(len(got.Messages)))
				offset = got.Next
				_ = c.Commit(ctx, group, "T", *queue(mq, 0), offset)
			}
		})
	}
	admin := socketClient(t, mq)
	// Between two deletions there is some traffic.
	for deleted := range 40 {
		wasSent, wasPulled := sent.Load(), pulled.Load()
		for begin := time.Now(); sent.Load() < wasSent+20 || pulled.Load() < wasPulled+10; time.Sleep(time.Millisecond) {
			if time.Since(begin) > time.Minute {
				t.Fatalf("deletion %d: no traffic after the one before: %d sent, %d pulled", deleted, sent.Load(), pulled.Load())
			}
		}
		call(t, admin, mq, request(protocol.ReqDeleteTopicInBroker, &protocol.DeleteTopicRequestHeader{Topic: protocol.Some("T")}, nil))
		call(t, admin, mq, request(protocol.ReqDeleteSubscriptiongroup, &protocol.DeleteSubscriptionGroupRequestHeader{
			GroupName: protocol.Some(fmt.Sprint("G", deleted%3)), CleanOffset: true,
		}, nil))
	}
	cancel()
	clients.Wait()
	t.Logf("%d messages sent, %d pulled", sent.Load(), pulled.Load())
	call(t, admin, mq, request(protocol.ReqDeleteTopicInBroker, &protocol.DeleteTopicRequestHeader{Topic: protocol.Some("T")}, nil))
	staysGone(t, mq, "T")
}

// A held pull wakes up after its topic is gone, and many ask for what is not there: nothing comes into being.
func TestDeleteWhilePullsAreHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mq := rocketmqtest.Start(t, rocketmqtest.WithPipe())
		admin := goodClient(t, mq)
		if _, err := admin.Send(context.Background(), &client.Message{Topic: "Held", Body: []byte("x"), Queue: queue(mq, 0)}); err != nil {
			t.Fatal(err)
		}
		visible(t, admin, mq, "Held", 1)
		answer := make(chan error, 1)
		go func() {
			_, err := admin.Pull(context.Background(), client.PullRequest{Topic: "Held", Queue: *queue(mq, 0), Group: "G", Offset: 1, Suspend: 500 * time.Millisecond})
			answer <- err
		}()
		synctest.Wait()
		call(t, admin, mq, request(protocol.ReqDeleteTopicInBroker, &protocol.DeleteTopicRequestHeader{Topic: protocol.Some("Held")}, nil))
		for _, topic := range []string{"Held", "Never"} {
			for _, code := range []int32{protocol.ReqGetMaxOffset, protocol.ReqGetMinOffset, protocol.ReqSearchOffsetByTimestamp, protocol.ReqGetEarliestMsgStoretime, protocol.ReqPullMessage} {
				cmd := request(code, pullOf("G", topic, 0, 4, "*"), nil)
				cmd.Fields.Add("timestamp", "0")
				call(t, admin, mq, cmd)
			}
		}
		var refusal *protocol.Error
		if err := <-answer; !errors.As(err, &refusal) || refusal.Code != protocol.RespTopicNotExist {
			t.Errorf("the held pull: %v", err)
		}
		staysGone(t, mq, "Held", "Never")
	})
}

// staysGone looks for queues of topics that are deleted, now and after a restart.
func staysGone(t *testing.T, mq *rocketmqtest.Cluster, topics ...string) {
	t.Helper()
	for _, when := range []string{"now", "after a restart"} {
		for _, topic := range topics {
			if _, err := os.Stat(filepath.Join(mq.Dir, "store", "consumequeue", topic)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: queues of %s: %v", when, topic, err)
			}
		}
		mq.RestartBroker()
	}
}

// Values that make no sense are refused, all of a request or none, and the broker goes on as before (U093).
func TestNonsenseAsConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mq := rocketmqtest.Start(t, rocketmqtest.WithPipe())
		c := goodClient(t, mq)
		before := string(call(t, c, mq, &protocol.Command{Code: protocol.ReqGetBrokerConfig}).Body)
		for _, text := range []string{
			"maxMessageSize=x", "maxMessageSize=99999999999", "flushDiskType=SOMETIMES", "brokerRole=KING", "listenPort=abc",
			"autoCreateTopicEnable=perhaps", "brokerPermission=rw", "brokerName=other\nmaxMessageSize=-", "=", "a\\u00zz=1",
			"messageDelayLevel=1 2 3\nlistenPort=1e3", "transactionTimeOut=", "flushConsumerOffsetInterval=5s", "\x00", "\xff\xfe=1",
		} {
			a := call(t, c, mq, &protocol.Command{Code: protocol.ReqUpdateBrokerConfig, Body: []byte(text)})
			after := string(call(t, c, mq, &protocol.Command{Code: protocol.ReqGetBrokerConfig}).Body)
			if after != before {
				t.Errorf("%q: code %d, and the configuration changed: %s", text, a.Code, difference(before, after))
				before = after
			}
			if _, err := c.Send(context.Background(), &client.Message{Topic: "T", Body: []byte("x"), Queue: queue(mq, 0)}); err != nil {
				t.Fatalf("after %q: %v", text, err)
			}
		}
		// These are numbers, and odd ones: whatever the broker makes of them, it lives, and takes sensible values again.
		for _, odd := range []string{
			"maxMessageSize=0", "maxMessageSize=-1", "maxMessageSize=2147483647", "defaultTopicQueueNums=0", "defaultTopicQueueNums=-5",
			"defaultTopicQueueNums=2147483647", "brokerPermission=0", "brokerPermission=-1", "shortPollingTimeMills=-1",
			"longPollingEnable=false", "registerNameServerPeriod=-1", "flushConsumerOffsetInterval=0", "channelExpiredTimeout=-1",
			"transactionTimeOut=-1", "transactionCheckInterval=0", "transactionCheckMax=-1", "cleanResourceInterval=-1",
			"diskMaxUsedSpaceRatio=-1", "diskMaxUsedSpaceRatio=1000", "fileReservedTime=-1", "deleteWhen=99;x;", "deleteWhen=",
			"flushIntervalCommitLog=0", "syncFlushTimeout=0", "osPageCacheBusyTimeOutMills=0", "waitTimeMillsInSendQueue=0",
			"defaultQueryMaxNum=-1", "replyThreadPoolQueueCapacity=0", "regionId=", "subscriptionExpiredTimeout=-1",
			"filterDataCleanTimeSpan=-1", "timerPrecisionMs=0", "maxTransferCountOnMessageInMemory=0", "startAcceptSendRequestTimeStamp=-1",
		} {
			call(t, c, mq, &protocol.Command{Code: protocol.ReqUpdateBrokerConfig, Body: []byte(odd)})
			for _, cmd := range []*protocol.Command{
				request(protocol.ReqPullMessage, pullOf("G", "T", math.MaxInt64, 4, "*"), nil),
				request(protocol.ReqHeartBeat, nil, fastjson.Marshal(&protocol.HeartbeatData{ClientID: "c"})),
				{Code: protocol.ReqGetBrokerRuntimeInfo},
				{Code: protocol.ReqGetAllTopicConfig},
			} {
				if a := call(t, c, mq, cmd); strings.Contains(a.Remark.V, "panic") {
					t.Errorf("%s: request %d: %s", odd, cmd.Code, a.Remark.V)
				}
			}
			sendAs(t, c, mq, protocol.ReqSendMessageV2, "New"+strings.ReplaceAll(strings.ReplaceAll(odd, "=", "-"), ";", "-"), []byte("x"), "")
		}
		sane := "maxMessageSize=4194304\ndefaultTopicQueueNums=8\nbrokerPermission=6\nlongPollingEnable=true\ncleanResourceInterval=10000\n" +
			"diskMaxUsedSpaceRatio=75\nfileReservedTime=72\ndeleteWhen=04\nwaitTimeMillsInSendQueue=200\nosPageCacheBusyTimeOutMills=1000\n" +
			"startAcceptSendRequestTimeStamp=0"
		if a := call(t, c, mq, &protocol.Command{Code: protocol.ReqUpdateBrokerConfig, Body: []byte(sane)}); a.Code != protocol.RespSuccess {
			t.Fatalf("code %d %q", a.Code, a.Remark.V)
		}
		if _, err := c.Send(context.Background(), &client.Message{Topic: "T", Body: []byte("x"), Queue: queue(mq, 0)}); err != nil {
			t.Error("at the end:", err)
		}
		mq.RestartBroker()
	})
}

func difference(before, after string) string {
	old := map[string]bool{}
	for line := range strings.Lines(before) {
		old[line] = true
	}
	var out strings.Builder
	for line := range strings.Lines(after) {
		if !old[line] {
			out.WriteString(line)
		}
	}
	return out.String()
}

// Each of the files with metadata may be damaged: then the copy before it is used, and kept (U057).
func TestDamagedMetadata(t *testing.T) {
	for _, damage := range []string{"", "{", "\x00\x00\x00\x00", "missing", `{"dataVersion":7}`, "[]", "null"} {
		t.Run(fmt.Sprintf("%q", damage), virtual(func(t *testing.T) {
			mq := rocketmqtest.Start(t, rocketmqtest.WithPipe())
			c := goodClient(t, mq)
			for i := range 2 { // so that each file has a copy before it
				call(t, c, mq, newTopic("T"+strconv.Itoa(i), 3))
				call(t, c, mq, request(protocol.ReqUpdateAndCreateSubscriptiongroup, nil, fastjson.Marshal(&protocol.SubscriptionGroupConfig{
					GroupName: "G" + strconv.Itoa(i), ConsumeEnable: true, RetryQueueNums: 1,
				})))
				if err := c.Commit(context.Background(), "G0", "T0", *queue(mq, 1), int64(5+i)); err != nil {
					t.Fatal(err)
				}
				q := queue(mq, 0)
				if _, err := c.Send(context.Background(), &client.Message{Topic: "T0", Body: []byte("x"), Queue: q, DelayLevel: "1"}); err != nil {
					t.Fatal(err)
				}
				mq.RestartBroker()
			}
			mq.StopBroker()
			dir := filepath.Join(mq.Dir, "store", "config")
			files, err := filepath.Glob(filepath.Join(dir, "*.json"))
			if err != nil || len(files) < 4 {
				t.Fatal(files, err)
			}
			backups := 0
			for _, file := range files {
				if _, err := os.Stat(file + ".bak"); err != nil {
					continue
				}
				backups++
				if damage == "missing" {
					err = os.Remove(file)
				} else {
					err = os.WriteFile(file, []byte(damage), 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if backups < 3 {
				t.Fatalf("%d files have a copy", backups)
			}
			mq.RestartBroker()
			if a := call(t, c, mq, request(protocol.ReqGetTopicConfig, &protocol.GetTopicConfigRequestHeader{Topic: protocol.Some("T0")}, nil)); a.Code != protocol.RespSuccess {
				t.Errorf("topic: code %d %q", a.Code, a.Remark.V)
			}
			if offset, ok, err := c.Offset(context.Background(), "G0", "T0", *queue(mq, 1)); err != nil || !ok || offset < 5 {
				t.Errorf("offset %d %v %v", offset, ok, err)
			}
			groups := string(call(t, c, mq, &protocol.Command{Code: protocol.ReqGetAllSubscriptiongroupConfig}).Body)
			if !strings.Contains(groups, `"G0"`) {
				t.Errorf("groups: %s", groups)
			}
		}))
	}
}

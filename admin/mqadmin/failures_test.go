// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Two masters, of which the first one cannot be reached.
const (
	deadBroker = "10.0.0.1:10911"
	twoBrokers = "\n" + `{"brokerAddrTable":{"a":{"brokerAddrs":{0:"10.0.0.1:10911"},"brokerName":"a","cluster":"C"},` +
		`"b":{"brokerAddrs":{0:"10.0.0.2:10911"},"brokerName":"b","cluster":"C"}},"clusterAddrTable":{"C":["a","b"]}}`
	onTwoBrokers = "\n" + `{"brokerDatas":[{"brokerAddrs":{"0":"10.0.0.1:10911"},"brokerName":"a","cluster":"C"},` +
		`{"brokerAddrs":{"0":"10.0.0.2:10911"},"brokerName":"b","cluster":"C"}],"queueDatas":[` +
		`{"brokerName":"a","perm":6,"readQueueNums":1,"writeQueueNums":1},{"brokerName":"b","perm":6,"readQueueNums":1,"writeQueueNums":1}]}`
)

// without makes one address unreachable.
func without(e Env, addr string) Env {
	dial := e.Dial
	e.Dial = func(ctx context.Context, to string) (net.Conn, error) {
		if to == addr {
			return nil, errors.New("refused")
		}
		return dial(ctx, to)
	}
	return e
}

// One broker of two is gone: the other one is served all the same, the gone one is named once, and the exit code tells.
func TestOneBrokerIsGone(t *testing.T) {
	queues := "\n" + `{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:{"lastUpdateTimestamp":0,"maxOffset":7,"minOffset":0}}}`
	groups := "\n" + `{"consumeTps":0,"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:{"brokerOffset":7,"consumerOffset":3,"lastTimestamp":0}}}`
	answers := canned{
		106: twoBrokers, 105: onTwoBrokers, 206: "\n" + `{"topicList":["T","%RETRY%G"]}`, 12: "\n" + record("T", "ID"), 17: "", 200: "", 25: "",
		26: "\nk=v\n", 28: "\n" + `{"table":{"brokerVersionDesc":"V5_3_3"}}`, 202: queues, 208: groups, 215: "", 300: "\n" + `{"groupList":[]}`,
		306: "", 315: "\n" + `{}`, 907: "\n" + `{"master":true}`,
	}
	for _, c := range []struct {
		args, stdout string // what the broker that is there is good for
		request      string // to it
	}{
		{"updateTopic -c C -t T", "create topic to 10.0.0.2:10911 success.", " 17 0"},
		{"updateSubGroup -c C -g G", "create subscription group to 10.0.0.2:10911 success.", " 200 0"},
		{"updateBrokerConfig -c C -k k -v v", "update broker config success, 10.0.0.2:10911", " 25 0"},
		{"updateTopicPerm -c C -t T -p 4", "update topic perm from 6 to 4 in 10.0.0.2:10911 success.", " 17 0"},
		{"deleteTopic -c C -t T", "", " 215 0"},
		{"getBrokerConfig -c C", "k                                                 =  v", " 26 0"},
		{"brokerStatus -c C", "brokerVersion", " 28 0"},
		{"clusterList", "10.0.0.2:10911         V5_3_3", " 28 0"},
		{"cleanExpiredCQ -c C", "false", " 306 0"},
		{"haStatus -c C", "#MasterAddr\t10.0.0.2:10911", " 907 0"},
		{"topicStatus -t T", "b                                 0     0                     7", " 202 0"},
		{"queryMsgByUniqueKey -t T -i ID", "Message Body", " 12 0"},
		{"message trace ID", "ID of topic T", " 12 0"},
		{"consumerProgress -g G", "Consume Diff Total: 4", " 208 0"},
		{"consumerProgress", "OFFLINE                                         0        4", " 208 0"},
		{"statsAll", "T ", " 300 0"},
	} {
		e := without(answers.server(t), deadBroker)
		var trace bytes.Buffer
		e.Trace = &trace
		code, stdout, stderr := runIn(t, e, strings.Fields(c.args)...)
		if code != exitFailed || !strings.Contains(stdout, c.stdout) || strings.Count(stderr, "connect to "+deadBroker) != 1 {
			t.Errorf("%s: exit %d\n%s\n%s", c.args, code, stdout, stderr)
		}
		if !strings.Contains(trace.String(), "10.0.0.2:10911"+c.request) {
			t.Errorf("%s: 10.0.0.2 was not asked\n%s", c.args, &trace)
		}
	}
}

// A broker that is gone is not waited for with each of many topics, nor a name server.
func TestSilentServersAreAskedOnce(t *testing.T) {
	names := make([]string, 100)
	for i := range names {
		names[i] = `"T` + string(rune('a'+i%26)) + string(rune('a'+i/26)) + `"`
	}
	answers := canned{
		106: twoBrokers, 105: onTwoBrokers, 206: "\n" + `{"topicList":[` + strings.Join(names, ",") + `]}`, 300: "\n" + `{"groupList":["G"]}`,
		315: "\n{}", 208: "\n{}",
	}
	for _, silent := range []string{deadBroker, "10.0.0.8:9876"} {
		synctest.Test(t, func(t *testing.T) {
			e := answers.server(t)
			dial := e.Dial
			e.Dial = func(ctx context.Context, to string) (net.Conn, error) {
				if to != silent {
					return dial(ctx, to)
				}
				here, there := net.Pipe()
				go func() { _, _ = io.Copy(io.Discard, there) }()
				return here, nil
			}
			begin := time.Now()
			_, stdout, _ := runIn(t, e, "statsAll", "-n", "10.0.0.8:9876;10.0.0.9:9876")
			if took := time.Since(begin); took < defaultTimeout || took > 3*defaultTimeout || strings.Count(stdout, "\nT") != len(names) {
				t.Errorf("%s, which is silent: %v, %d topics shown", silent, took, strings.Count(stdout, "\nT"))
			}
		})
	}
}

// With json and yaml the document tells of what failed, too.
func TestErrorsInDocuments(t *testing.T) {
	answers := canned{106: twoBrokers, 17: ""}
	e := without(answers.server(t), deadBroker)
	_, stdout, _ := runIn(t, e, "updateTopic", "-c", "C", "-t", "T", "--output", "json")
	var doc struct {
		Messages []string
		Errors   []struct {
			Message, Remark, BrokerAddr string
			Code                        *int
		}
	}
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil || len(doc.Messages) != 1 || len(doc.Errors) != 1 ||
		!strings.Contains(doc.Errors[0].Message, "connect to "+deadBroker) || doc.Errors[0].Code != nil {
		t.Errorf("%v\n%s", err, stdout)
	}
	doc.Errors = nil
	_, stdout, _ = runIn(t, answers.server(t), "brokerStatus", "-b", "10.0.0.2:10911", "-o", "json")
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil || len(doc.Errors) != 1 || doc.Errors[0].BrokerAddr != "10.0.0.2:10911" ||
		*doc.Errors[0].Code != 3 || !strings.Contains(doc.Errors[0].Remark, "not supported") {
		t.Errorf("%v\n%s", err, stdout)
	}
	code, stdout, stderr := runIn(t, answers.server(t), "brokerStatus", "-b", "10.0.0.2:10911", "-o", "yaml")
	if !strings.HasPrefix(stdout, "errors:\n  - message: ") || !strings.Contains(stderr, "CODE: 3") || code != exitFailed {
		t.Errorf("exit %d\n%s\n%s", code, stdout, stderr)
	}
	if code, stdout, _ := runIn(t, answers.server(t), "getBrokerConfig", "-o", "json"); code != exitUsage || stdout != "" {
		t.Errorf("wrong usage: exit %d %s", code, stdout)
	}
}

// Java's servers answer success whatever key they are told to set.
func TestUpdatesThatChangeNothing(t *testing.T) {
	for _, c := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"-k flushInterval -v 0500", exitOK, "update broker config success", ""},
		{"-k transientStorePoolEnable -v TRUE", exitOK, "update broker config success", ""},
		{"-k initAuthenticationUser -v x", exitOK, "update broker config success", ""}, // never shown
		{"-k flushIntervall -v 500", exitFailed, "", "does not know the key flushIntervall, did you mean flushInterval?"},
		{"-k flushInterval -v abc", exitFailed, "", "has not taken it: flushInterval is 500"},
	} {
		answers := canned{25: "", 26: "\nflushInterval=500\ntransientStorePoolEnable=true\n"}
		code, stdout, stderr := runIn(t, answers.server(t), strings.Fields("updateBrokerConfig -b 10.0.0.1:10911 "+c.args)...)
		if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) || c.stdout == "" && stdout != "" {
			t.Errorf("%s: exit %d\n%s\n%s", c.args, code, stdout, stderr)
		}
	}
	inCluster(t, func(t tool) {
		t.run(exitOK, "success", "note: "+t.c.BrokerAddr+": listenPort: without effect: it is read at the start, and this process was started without -c", "updateBrokerConfig", "-b", t.c.BrokerAddr, "-k", "listenPort", "-v", "10955")
		t.run(exitOK, `"notes": [`, "", "updateBrokerConfig", "-b", t.c.BrokerAddr, "-k", "listenPort", "-v", "10956", "-o", "json")
		t.run(exitFailed, "", "did you mean flushDiskType?", "updateBrokerConfig", "-b", t.c.BrokerAddr, "-k", "flushDiskTyp", "-v", "SYNC_FLUSH")
		t.run(exitFailed, "", "did you mean scanNotActiveBrokerInterval?", "updateNamesrvConfig", "-k", "scanNotActiveBrokerIntervall", "-v", "5000")
		t.run(exitFailed, "OK, 0", "no name server knows a topic of broker nobody", "wipeWritePerm", "-b", "nobody")
	})
}

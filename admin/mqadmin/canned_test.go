// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// canned are answers by request code: a body, or fields in "name=value name=value" behind a blank.
type canned map[int32]string

// server answers every address.
func (a canned) server(t *testing.T) Env {
	t.Helper()
	var routes []remoting.Route
	for code, text := range a {
		routes = append(routes, remoting.Route{Code: code, Handle: func(context.Context, *remoting.Request) (*protocol.Response, error) {
			fields, body, _ := strings.Cut(text, "\n")
			r := &protocol.Response{Body: []byte(body)}
			for word := range strings.FieldsSeq(fields) {
				name, value, _ := strings.Cut(word, "=")
				r.Extra = append(r.Extra, protocol.Field{Key: name, Value: value})
			}
			return r, nil
		}})
	}
	s := remoting.NewServer(remoting.ServerConfig{Dispatcher: remoting.NewRoutes(remoting.RoutesConfig{}, routes...)})
	t.Cleanup(func() { _ = s.Close() })
	return Env{
		Dial:     func(context.Context, string) (net.Conn, error) { return s.Pipe(), nil },
		Getenv:   func(key string) string { return map[string]string{"NAMESRV_ADDR": "127.0.0.1:9876"}[key] },
		Location: time.UTC,
	}
}

const oneBroker = "\n" + `{"brokerAddrTable":{"a":{"brokerAddrs":{0:"10.0.0.1:10911",1:"10.0.0.2:10911"},"brokerName":"a","cluster":"C"}},"clusterAddrTable":{"C":["a"]}}`

// TestCanned runs what the recorded servers cannot show: slaves, controllers with brokers, access control of 4.9.
func TestCanned(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers canned
		args    string
		want    string
	}{
		{"a slave", canned{907: "\n" + `{"master":false,"haClientRuntimeInfo":{"masterAddr":"10.0.0.1:10912","transferredByteInSecond":2048,"maxOffset":7,"lastReadTimestamp":1000,"lastWriteTimestamp":2000,"masterFlushOffset":5}}`}, "haStatus -b 10.0.0.2:10911", `
#MasterAddr	10.0.0.1:10912
#CommitLogMaxOffset	7
#TransferSpeed(KB/s)	2.00
#LastReadTime	1970-01-01 00:00:01,000
#LastWriteTime	1970-01-01 00:00:02,000
#MasterFlushOffset	5
`},
		{"a master with slaves", canned{907: "\n" + `{"master":true,"masterCommitLogMaxOffset":9,"inSyncSlaveNums":1,"haConnectionInfo":[{"addr":"10.0.0.2:1","slaveAckOffset":8,"diff":1,"inSync":true,"transferredByteInSecond":1024,"transferFromWhere":3},{"addr":"10.0.0.3:1","slaveAckOffset":2,"diff":7}]}`}, "haStatus -b 10.0.0.1:10911", `
#MasterAddr	10.0.0.1:10911
#MasterCommitLogMaxOffset	9
#SlaveNum	2
#InSyncSlaveNum	1
#SlaveAddr                        #SlaveAckOffset             #Diff #TransferSpeed(KB/s)          #Status #TransferFromWhere
10.0.0.2:1                        8                               1             1.00               OK                3
10.0.0.3:1                        2                               7             0.00      Fall Behind                0
`},
		{
			"sync-state sets", canned{
				1005: "group=g controllerLeaderId=n0 controllerLeaderAddress=10.0.0.9:9878 isLeader=true peers=n0:10.0.0.9:9878;",
				1006: "\n" + `{"replicasInfoTable":{"a":{"masterBrokerId":1,"masterAddress":"10.0.0.1:10911","masterEpoch":2,"syncStateSetEpoch":3,"inSyncReplicas":[{"brokerName":"a","brokerId":1,"brokerAddress":"10.0.0.1:10911","alive":true}],"notInSyncReplicas":[{"brokerName":"a","brokerId":2,"brokerAddress":"10.0.0.2:10911"}]}}}`,
			}, "getSyncStateSet -a 10.0.0.9:9878 -b a", `
#brokerName	a
#MasterBrokerId	1
#MasterAddr	10.0.0.1:10911
#MasterEpoch	2
#SyncStateSetEpoch	3
#SyncStateSetNums	1

InSyncReplica:	ReplicaIdentity{brokerName='a', brokerId=1, brokerAddress='10.0.0.1:10911', alive=true}

NotInSyncReplica:	ReplicaIdentity{brokerName='a', brokerId=2, brokerAddress='10.0.0.2:10911', alive=null}
`,
		},
		{
			"epochs", canned{
				106:  strings.Replace(oneBroker, `,1:"10.0.0.2:10911"`, "", 1),
				1007: "\n" + `{"clusterName":"C","brokerName":"a","brokerId":1,"epochList":[{"epoch":1,"startOffset":0,"endOffset":5},{"epoch":2,"startOffset":5,"endOffset":0}],"maxOffset":9}`,
			}, "getBrokerEpoch -b a", `
#clusterName	C
#brokerName	a
#brokerAddr	10.0.0.1:10911
#brokerId	1
#Epoch: EpochEntry{epoch=1, startOffset=0, endOffset=5}
#Epoch: EpochEntry{epoch=2, startOffset=5, endOffset=9}
`,
		},
		{
			"an election", canned{
				1005: "controllerLeaderAddress=10.0.0.9:9878",
				1002: "masterBrokerId=2 masterAddress=10.0.0.2:10911 masterEpoch=4 syncStateSetEpoch=5\n" + `{"brokerMemberGroup":{"brokerAddrs":{1:"10.0.0.1:10911",2:"10.0.0.2:10911"},"brokerName":"a","cluster":"C"}}`,
			}, "electMaster -a 10.0.0.9:9878 -b 2 -bn a -c C", `
#ClusterName	C
#BrokerName	a
#BrokerMasterAddr	10.0.0.2:10911
#MasterEpoch	4
#SyncStateSetEpoch	5
	#Broker	1	10.0.0.1:10911
	#Broker	2	10.0.0.2:10911
`,
		},
		{"files of access control", canned{106: oneBroker, 52: `clusterName=C brokerName=a brokerAddr=10.0.0.1:10911 version=x allAclFileVersion={"/plain_acl.yml":{"counter":3,"timestamp":1000}}`}, "clusterAclConfigVersion -c C", `
#Cluster Name     #Broker Name            #Broker Addr            #AclFilePath          #AclConfigVersionNum    #AclLastUpdateTime
C                 a                       10.0.0.1:10911          /plain_acl.yml        3                       1970-01-01 00:00:01
get cluster's plain access config version success.
`},
		{"accounts", canned{50: "", 51: ""}, "updateAclConfig -b 10.0.0.1:10911 -a key -s secret -t T=PUB,U=SUB -i DENY", `
create or update plain access config to 10.0.0.1:10911 success.
PlainAccessConfig{accessKey='key', whiteRemoteAddress='null', admin=false, defaultTopicPerm='DENY', defaultGroupPerm='null', topicPerms=[T=PUB, U=SUB], groupPerms=null}
`},
		{"a message is pushed", canned{
			105: "\n" + `{"brokerDatas":[{"brokerAddrs":{"0":"10.0.0.1:10911"},"brokerName":"a","cluster":"C"}],"queueDatas":[]}`,
			106: oneBroker, 12: "\n" + record("T", "ID"), 307: "\n" + `{"properties":{"PROP_CONSUME_TYPE":"CONSUME_PASSIVELY"}}`,
			309: "\n" + `{"order":false,"autoCommit":true,"consumeResult":"CR_SUCCESS","spentTimeMills":3}`,
		}, "queryMsgByUniqueKey -t T -i ID -g G -d client", `
ConsumeMessageDirectlyResult [order=false, autoCommit=true, consumeResult=CR_SUCCESS, remark=null, spentTimeMills=3]
`},
	} {
		code, stdout, stderr := runIn(t, c.answers.server(t), strings.Fields(c.args)...)
		if code != exitOK || strings.TrimSpace(trimLines(stdout)) != strings.TrimSpace(c.want) {
			t.Errorf("%s: exit %d %s\n%s\n--- want\n%s", c.name, code, stderr, stdout, c.want)
		}
	}
}

// Brokers of 4.9 heed no queue when they reset a group that is connected: they must not be asked to.
func TestResetOfOneQueue(t *testing.T) {
	const release49, release5 = "\n" + `{"table":{"brokerVersion":"407"}}`, "\n" + `{"table":{"brokerVersion":"493"}}`
	const connected = "\n" + `{"connectionSet":[{"clientId":"c","clientAddr":"10.0.0.7:1","language":"JAVA","version":407}]}`
	for _, c := range []struct {
		name           string
		answers        canned
		code           int
		stdout, stderr string
	}{
		{"4.9, connected", canned{28: release49, 203: connected, 15: "", 222: ""}, exitFailed, "", "stop G first"},
		{"4.9, offline", canned{28: release49, 15: ""}, exitOK, "reset consumer offset to 7", ""},
		{"5.x", canned{28: release5, 203: connected, 15: "", 222: ""}, exitOK, "reset consumer offset to 7", ""},
		{"5.x, the reset fails", canned{28: release5, 203: connected, 15: ""}, exitFailed, "start reset", "CODE: 3"},
	} {
		code, stdout, stderr := runIn(t, c.answers.server(t), strings.Fields("resetOffsetByTime -g G -t T -s now -b 10.0.0.1:10911 -q 0 -o 7")...)
		if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
			t.Errorf("%s: exit %d\n%s%s", c.name, code, stdout, stderr)
		}
	}
}

// Some brokers fail: the others are shown, and the exit code tells.
func TestPartialFailure(t *testing.T) {
	code, stdout, stderr := runIn(t, canned{106: oneBroker}.server(t), "clusterList")
	if code != exitFailed || strings.Count(stdout, "10.0.0.") != 2 || strings.Count(stderr, "CODE: 3") != 2 {
		t.Errorf("exit %d\n%s\n%s", code, stdout, stderr)
	}
}

// A name server that does not answer is passed over; a refusal is not.
func TestSecondNamesrv(t *testing.T) {
	e := canned{206: "\n" + `{"topicList":["T"]}`}.server(t)
	dial := e.Dial
	e.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
		if addr == "10.0.0.1:9876" {
			return nil, net.ErrClosed
		}
		return dial(ctx, addr)
	}
	if code, stdout, stderr := runIn(t, e, "topicList", "-n", "10.0.0.1:9876;10.0.0.2:9876"); code != exitOK || stdout != "T\n" {
		t.Errorf("exit %d\n%s\n%s", code, stdout, stderr)
	}
}

func TestNoAnswer(t *testing.T) {
	e := Env{Dial: func(context.Context, string) (net.Conn, error) {
		near, far := remoting.NewPipe()
		t.Cleanup(func() { _ = far.Close() })
		return near, nil
	}}
	code, _, stderr := runIn(t, e, "brokerStatus", "-b", "10.0.0.1:10911", "--timeout", "20ms")
	if code != exitFailed || !strings.Contains(stderr, "10.0.0.1:10911 does not answer request 28 within 20ms") {
		t.Errorf("exit %d %s", code, stderr)
	}
}

func TestCharset(t *testing.T) {
	answers := canned{
		105: "\n" + `{"brokerDatas":[{"brokerAddrs":{"0":"10.0.0.1:10911"},"brokerName":"a","cluster":"C"}],"queueDatas":[]}`,
		106: oneBroker, 12: "\n" + record("T", "ID"), 300: "\n" + `{"groupList":[]}`,
	}
	for charset, want := range map[string]int{"utf-8": exitOK, "ISO-8859-1": exitOK, "GBK": exitUsage} {
		if code, stdout, stderr := runIn(t, answers.server(t), "queryMsgById", "-t", "T", "-i", "ID", "-f", charset); code != want ||
			want == exitOK && !strings.Contains(stdout, "Message Body:        x") {
			t.Errorf("%s: exit %d %s\n%s", charset, code, stderr, stdout)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// invocation runs a sub-command once as text, and then with -o json and -o yaml.
type invocation struct {
	args string
	code int
	want string // words that text and documents have; of a failure: that standard error and errors have
}

// everyCommand has one invocation, or more, of each sub-command. BROKER is the broker's address, DIR a directory, ID and UNIQ
// the ids of a message, which is the first one of queue 0 of topic T; EACH is another word in each run.
var everyCommand = []invocation{
	{args: "updateTopic -c DefaultCluster -t U -r 3 -w 3", want: "U"},
	{args: "updateTopicList -b BROKER -f DIR/topics.json", want: "BROKER"},
	{args: "updateTopicPerm -t U -b BROKER -p 4", want: "perm"},
	{args: "topicRoute -t T", want: "broker-a BROKER"},
	{args: "topicRoute -t Nothing", code: exitFailed, want: "No topic route info"},
	{args: "topicStatus -t T", want: "broker-a"},
	{args: "topicClusterList -t T", want: "DefaultCluster"},
	{args: "topicList", want: "T U"},
	{args: "topicList -c", want: "DefaultCluster T"},
	{args: "updateOrderConf -t T -m put -v broker-a:1", want: "broker-a:1"},
	{args: "updateOrderConf -t T -m get", want: "broker-a:1"},
	{args: "allocateMQ -t T -i 10.0.0.1,10.0.0.2", want: "10.0.0.1 broker-a"},
	{args: "updateStaticTopic -t S -qn 2 -c DefaultCluster"},
	{args: "remappingStaticTopic -t S -c DefaultCluster"},
	{args: "deleteTopic -c DefaultCluster -t U", want: "U"},

	{args: "updateSubGroup -c DefaultCluster -g H", want: "H"},
	{args: "updateSubGroupList -b BROKER -f DIR/groups.json", want: "BROKER"},
	{args: "setConsumeMode -b BROKER -t T -g G -m PULL", want: "PULL"},
	{args: "getConsumerConfig -g G", want: "G 16"},
	{args: "consumerProgress", want: "G"},
	{args: "consumerProgress -g G", want: "T broker-a"},
	{args: "consumerStatus -g G", code: exitFailed, want: "307"},
	{args: "consumerConnection -g G", want: "client@1 CONSUME_PASSIVELY"},
	{args: "producerConnection -g P -t T", code: exitFailed, want: "not exist"},
	{args: "producer -b BROKER"},
	{args: "cloneGroupOffset -s G -d H -t T", want: "G H"},
	{args: "resetOffsetByTime -g H -t T -s 0", want: "broker-a"},
	{args: "skipAccumulatedMessage -g H -t T", want: "broker-a"},
	{args: "deleteSubGroup -c DefaultCluster -g H", want: "H"},
	{args: "startMonitoring"},

	{args: "sendMessage -t T -p x", want: "broker-a SEND_OK"},
	{args: "queryMsgById -t T -i ID", want: "T UNIQ"},
	{args: "queryMsgByKey -t T -k key", want: "UNIQ"},
	{args: "queryMsgByUniqueKey -t T -i UNIQ", want: "T UNIQ"},
	{args: "queryMsgByOffset -t T -b broker-a -i 0 -o 0", want: "UNIQ"},
	{args: "queryMsgTraceById -i UNIQ", code: exitFailed, want: "no message"},
	{args: "printMsg -t T", want: "UNIQ"},
	{args: "printMsgByQueue -t T -a broker-a -i 0 -p true", want: "UNIQ"},
	{args: "consumeMessage -t T -g C -c 1", want: "UNIQ"},
	{args: "queryCq -t T -q 0 -i 0 -b BROKER"},
	{args: "dumpCompactionLog -f DIR/nothing", code: exitFailed},
	{args: "message trace UNIQ -t T", want: "UNIQ NOT_ONLINE"},

	{args: "updateBrokerConfig -b BROKER -k maxMessageSize -v 4000000", want: "BROKER"},
	{args: "updateBrokerConfig -b BROKER -k noSuchKey -v 1", code: exitFailed, want: "noSuchKey"},
	{args: "getBrokerConfig -b BROKER", want: "maxMessageSize 4000000"},
	{args: "brokerStatus -b BROKER", want: "brokerVersionDesc"},
	{args: "brokerConsumeStats -b BROKER -l 0", want: "T G"},
	{args: "sendMsgStatus -b broker-a -c 2"},
	{args: "cleanExpiredCQ -b BROKER"},
	{args: "deleteExpiredCommitLog -b BROKER"},
	{args: "cleanUnusedTopic -b BROKER"},
	{args: "resetMasterFlushOffset -b BROKER -o 0"},
	{args: "getColdDataFlowCtrInfo -b BROKER"},
	{args: "updateColdDataFlowCtrGroupConfig -b BROKER -g G -v 1000"},
	{args: "removeColdDataFlowCtrGroupConfig -b BROKER -g G"},
	{args: "setCommitLogReadAheadMode -b BROKER -m 1"},
	{args: "addBroker -c BROKER -b DIR/broker.conf", code: exitFailed},
	{args: "removeBroker -c BROKER -b DefaultCluster:broker-a:0", code: exitFailed},

	{args: "clusterList", want: "DefaultCluster broker-a BROKER"},
	{args: "clusterList -m", want: "broker-a"},
	{args: "clusterRT -a 2 -s 10 -i 1", want: "DefaultCluster"},
	{args: "checkMsgSendRT -t T -a 2 -s 10", want: "broker-a"},
	{args: "statsAll", want: "T"},
	{args: "updateKvConfig -s N -k a -v b"},
	{args: "deleteKvConfig -s N -k a"},
	{args: "wipeWritePerm -b broker-a", want: "broker-a"},
	{args: "addWritePerm -b broker-a", want: "broker-a"},
	{args: "getNamesrvConfig", want: "scanNotActiveBrokerInterval"},
	{args: "updateNamesrvConfig -k enableTopicList -v true", want: "enableTopicList"},
	{args: "haStatus -b BROKER", want: "BROKER"},
	{args: "getSyncStateSet -a 127.0.0.1:1 -b broker-a", code: exitFailed},
	{args: "getBrokerEpoch -b broker-a", code: exitFailed},
	{args: "getControllerMetaData -a 127.0.0.1:1", code: exitFailed},
	{args: "getControllerConfig -a 127.0.0.1:1", code: exitFailed},
	{args: "updateControllerConfig -a 127.0.0.1:1 -k a -v b", code: exitFailed},
	{args: "electMaster -a 127.0.0.1:1 -b 1 -bn broker-a -c DefaultCluster", code: exitFailed},
	{args: "cleanBrokerMetadata -a 127.0.0.1:1 -bn broker-a -c DefaultCluster", code: exitFailed},

	{args: "exportMetadata -c DefaultCluster -f DIR/metadata", want: "DIR"},
	{args: "exportConfigs -c DefaultCluster -f DIR/configs", want: "DIR"},
	{args: "exportMetrics -c DefaultCluster -f DIR/metrics", want: "DIR"},
	{args: "exportMetadataInRocksDB -p DIR -t topics", code: exitFailed},
	{args: "exportPopRecord -b BROKER"},
	{args: "rocksDBConfigToJson -p DIR -t topics", code: exitFailed},
	{args: "checkRocksdbCqWriteProgress -n NAMESRV -c DefaultCluster", want: "broker-a"},

	{args: "createUser -b BROKER -u uEACH -p secret", want: "BROKER"},
	{args: "updateUser -b BROKER -u uEACH -s disable", want: "BROKER"},
	{args: "getUser -b BROKER -u uEACH", want: "u"},
	{args: "listUser -b BROKER", want: "u"},
	{args: "copyUser -f BROKER -t BROKER -u uEACH"},
	{args: "createAcl -b BROKER -s User:uEACH -r Topic:T -a Pub -d Allow"},
	{args: "updateAcl -b BROKER -s User:uEACH -r Topic:T -a Sub -d Allow"},
	{args: "getAcl -b BROKER -s User:uEACH", want: "u T"},
	{args: "listAcl -b BROKER", want: "u T"},
	{args: "copyAcl -f BROKER -t BROKER -s User:uEACH"},
	{args: "deleteAcl -b BROKER -s User:uEACH"},
	{args: "deleteUser -b BROKER -u uEACH", want: "BROKER"},
	{args: "updateAclConfig -b BROKER -a admin1 -s secret12", code: exitFailed},
	{args: "deleteAclConfig -b BROKER -a admin1", code: exitFailed},
	{args: "clusterAclConfigVersion -b BROKER", code: exitFailed},
	{args: "updateGlobalWhiteAddr -b BROKER -g 10.0.0.*", code: exitFailed},
	{args: "getAclConfig -b BROKER", code: exitFailed},

	{args: "wait -b broker-a", want: "ready"},
	{args: "config diff -b BROKER,BROKER", want: "same"},
	{args: "drain -b broker-a --quiet 1s --ignore G,H,C", want: "broker-a"},
	{args: "completion bash", want: "mqadmin"},
}

// Each sub-command prints one document with -o json and -o yaml, and nothing else: what the text says, or why it failed.
func TestEveryCommandAsDocument(t *testing.T) {
	inCluster(t, func(t tool) {
		replace := t.everything()
		missing := map[string]bool{}
		for _, c := range Commands() {
			missing[c.Name] = true
		}
		for _, i := range everyCommand {
			args := strings.Fields(replace.Replace(i.args))
			name := args[0]
			if !missing[name] && len(args) > 1 && slices.ContainsFunc(Commands(), func(c Command) bool { return c.Name == name+" "+args[1] }) {
				name += " " + args[1]
			}
			delete(missing, name)
			i.want = replace.Replace(i.want)
			t.asDocument(name, i, args)
		}
		for name := range missing {
			t.Errorf("no invocation of %s", name)
		}
	})
}

// everything makes what the invocations are about.
func (t tool) everything() *strings.Replacer {
	t.ok("create", "updateTopic", "-c", "DefaultCluster", "-t", "T", "-r", "1", "-w", "1")
	t.ok("SEND_OK", "sendMessage", "-t", "T", "-p", "x", "-k", "key", "-c", "TagA", "-b", "broker-a", "-i", "0")
	time.Sleep(time.Second)
	t.group("G", "T", 0)
	t.ok("", "updateBrokerConfig", "-b", t.c.BrokerAddr, "-k", "authenticationMetadataProvider", "-v", "x")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"topics.json": `[{"topicName":"U1","readQueueNums":1,"writeQueueNums":1,"perm":6}]`,
		"groups.json": `[{"groupName":"H1"}]`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var sent struct {
		Messages []struct{ MsgID, OffsetMsgID string }
	}
	if err := json.Unmarshal([]byte(t.ok("", "printMsg", "-t", "T", "-o", "json")), &sent); err != nil || len(sent.Messages) != 1 {
		t.Fatal(err, sent)
	}
	return strings.NewReplacer("BROKER", t.c.BrokerAddr, "NAMESRV", t.c.NamesrvAddr, "DIR", dir, "UNIQ", sent.Messages[0].MsgID, "ID", sent.Messages[0].OffsetMsgID)
}

// briefly runs a sub-command, which an operator ends after five minutes.
func (t tool) briefly(args []string, format string) (code int, stdout, stderr string) {
	args = append(slices.Clone(args), "--output", format)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "EACH", format)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	e := t.env()
	e.Stdout, e.Stderr = &out, &errs
	code = Run(ctx, e, args)
	return code, out.String(), errs.String()
}

func (t tool) asDocument(name string, i invocation, args []string) {
	t.Helper()
	code, text, errs := t.briefly(args, "text")
	if code != i.code {
		t.Errorf("%s: exit %d, want %d\n%s\n%s", i.args, code, i.code, text, errs)
		return
	}
	said := text
	if code != exitOK {
		said = errs
	}
	var documents []map[string]any
	for _, format := range []string{"json", "yaml"} {
		code, out, errs := t.briefly(args, format)
		if code != i.code {
			t.Errorf("%s as %s: exit %d, want %d\n%s\n%s", i.args, format, code, i.code, out, errs)
			continue
		}
		doc, err := oneDocument(format, out)
		if err != nil {
			t.Errorf("%s as %s: %v\n%s", i.args, format, err, out)
			continue
		}
		documents = append(documents, doc)
		failed, _ := doc["errors"].([]any)
		if (len(failed) > 0) != (code == exitFailed) {
			t.Errorf("%s as %s: exit %d, and errors are %v", i.args, format, code, failed)
		}
		if len(doc) == 0 && strings.TrimSpace(text) != "" {
			t.Errorf("%s as %s: an empty document, and the text is\n%s", i.args, format, text)
		}
		for _, word := range strings.Fields(i.want) {
			if !strings.Contains(said, word) || !strings.Contains(out, word) {
				t.Errorf("%s: no %s\n%s\n%s", i.args, word, said, out)
			}
		}
	}
	if len(documents) == 2 && !slices.Equal(slices.Sorted(maps.Keys(documents[0])), slices.Sorted(maps.Keys(documents[1]))) {
		t.Errorf("%s: members of JSON %v, of YAML %v", i.args, documents[0], documents[1])
	}
}

// oneDocument parses a text that has one document and nothing else.
func oneDocument(format, text string) (doc map[string]any, err error) {
	if format == "json" {
		d := json.NewDecoder(strings.NewReader(text))
		if err = d.Decode(&doc); err == nil && d.Decode(&doc) != io.EOF {
			err = errors.New("more than one document")
		}
		return doc, err
	}
	d := yaml.NewDecoder(strings.NewReader(text))
	if err = d.Decode(&doc); err == nil && d.Decode(&doc) != io.EOF {
		err = errors.New("more than one document")
	}
	return doc, err
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/broker"
	"rocketmq-go/config"
	"rocketmq-go/message"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
	"rocketmq-go/telemetry/metric"
)

// hotKey proves that a key takes effect while the broker runs: what see tells is before at first, and after once the key was
// set by the request.
type hotKey struct {
	with          string // configuration that the broker starts with, key=value;…
	set           string
	before, after string
	see           func(h *hot) string
}

// elsewhere names the tests of this module that set a key by the request and look at its effect.
var elsewhere = map[string]string{
	"aclEnable":                          "api/plain_test.go TestPlainSwitch",
	"allowRecallWhenBrokerNotWriteable":  "timers_test.go TestRecall",
	"autoDeleteUnusedStats":              "api/keys_test.go TestFiguresOfDeletedTopics",
	"clearRetryTopicWhenDeleteTopic":     "api/keys_test.go TestPopRetryTopicsGoWithTheirTopic",
	"deleteWhen":                         "cleaning_test.go TestCleaning",
	"diskFallRecorded":                   "testdata/scenarios/slow.txt",
	"disableConsumeIfConsumerReadSlowly": "testdata/scenarios/slow.txt",
	"enableBroadcastOffsetStore":         "testdata/scenarios/broadcast.txt",
	"fileReservedTime":                   "cleaning_test.go TestCleaning",
	"logLevel":                           "../cmd/rocketmq/watch_test.go TestMetricsHealthAndLogs",
	"accessMessageInMemoryMaxRatio":      "api/keys_test.go TestPullLimits",
	"maxFilterMessageSize":               "api/keys_test.go TestPullLimits",
	"maxMsgsNumBatch":                    "api/keys_test.go TestQueryLimit",
	"maxTransferBytesOnMessageInDisk":    "api/keys_test.go TestPullLimits",
	"maxTransferBytesOnMessageInMemory":  "api/keys_test.go TestPullLimits",
	"maxTransferCountOnMessageInDisk":    "api/keys_test.go TestPullLimits",
	"maxTransferCountOnMessageInMemory":  "api/keys_test.go TestPullLimits",
}

// needNeighbours are keys that show only while a name server or another master is silent at the right moment. Each is asked of
// the configuration in the one place that uses it.
var needNeighbours = map[string]bool{"enableRemoteEscape": true, "sendHeartbeatTimeoutMillis": true}

// TestHotKeys goes through the keys of a broker that conf/KEYS.md says to work at once. There is none without a proof: an
// entry of hotKeys, or a test elsewhere. Where a test cannot bring about what the key is about, such as a full disk, the entry
// looks at what those are told who ask the broker for it whenever they need it.
func TestHotKeys(t *testing.T) {
	all := map[string]hotKey{}
	for _, table := range []map[string]hotKey{hotOfRequests, hotOfMessages, hotOfPops, hotOfStore, hotOfTold} {
		maps.Copy(all, table)
	}
	cfg, _, err := config.LoadBroker(config.Options{Env: noEnv})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range cfg.Keys() {
		if !k.Hot() {
			continue
		}
		proof, ok := all[k.Name]
		delete(all, k.Name)
		switch where := elsewhere[k.Name]; {
		case ok:
			t.Run(k.Name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { proof.check(t, k.Name) }) })
		case where != "":
			if err := namesKey(where, k.Name); err != nil {
				t.Errorf("%s: %v", k.Name, err)
			}
		case needNeighbours[k.Name]:
		default:
			t.Errorf("%s is said to take effect while the broker runs, and no test proves it", k.Name)
		}
	}
	for name := range all {
		t.Errorf("%s is no hot key", name)
	}
}

// namesKey checks that there is such a test, and that it sets the key.
func namesKey(where, key string) error {
	path, test, _ := strings.Cut(where, " ")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	body := string(text)
	if test != "" {
		_, rest, ok := strings.Cut(body, "\nfunc "+test+"(")
		if !ok {
			return fmt.Errorf("there is no %s", where)
		}
		body, _, _ = strings.Cut(rest, "\n}\n")
	}
	if !strings.Contains(body, key+"=") {
		return fmt.Errorf("%s does not set it", where)
	}
	return nil
}

func (k *hotKey) check(t *testing.T, name string) {
	var opts []rocketmqtest.Option
	for kv := range strings.SplitSeq(k.with, ";") {
		if key, value, ok := strings.Cut(kv, "="); ok {
			opts = append(opts, rocketmqtest.WithConfig(key, value))
		}
	}
	h := &hot{outside: &outside{}}
	h.server = remoting.NewServer(remoting.ServerConfig{Dispatcher: h.outside})
	t.Cleanup(func() { h.server.Close() })
	h.timerRig = newTimerRig(t, append(opts, rocketmqtest.WithDial(h.dial))...)
	h.told = h.mq.Broker.Told()
	if got := k.see(h); got != k.before {
		t.Errorf("at first: %q, want %q", got, k.before)
	}
	h.set(name + "=" + k.set)
	if got := k.see(h); got != k.after {
		t.Errorf("with %s: %q, want %q", k.set, got, k.after)
	}
}

// hot is a broker whose keys are set.
type hot struct {
	*timerRig
	*outside
	told  broker.Told
	names int // used up
}

func (h *hot) set(text string) {
	h.t.Helper()
	if answer := h.body(protocol.ReqUpdateBrokerConfig, text); answer.Code != 0 || answer.Remark.V != "" {
		h.t.Fatalf("%s: %d %s", text, answer.Code, answer.Remark.V)
	}
}

// once tells whether it is the first call.
func (h *hot) once() bool {
	h.names++
	return h.names == 1
}

// fresh is a name that was not used before.
func (h *hot) fresh() string {
	h.names++
	return "N" + strconv.Itoa(h.names)
}

// body sends a request with a body and name=value fields.
func (h *hot) body(code int32, body string, fields ...string) *protocol.Command {
	h.t.Helper()
	return h.from(h.c, code, body, fields...)
}

func (h *hot) from(c *remoting.Client, code int32, body string, fields ...string) *protocol.Command {
	h.t.Helper()
	cmd := &protocol.Command{Code: code, Body: []byte(body)}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		cmd.Fields.Add(name, value)
	}
	answer, err := c.Call(h.t.Context(), h.mq.BrokerAddr, cmd)
	if err != nil {
		h.t.Fatalf("%s: %v", protocol.RequestName(code), err)
	}
	return answer
}

// client is another client, which hears what the broker asks of it.
func (h *hot) client(hear func(*remoting.Request)) *remoting.Client {
	c := remoting.NewClient(remoting.ClientConfig{Version: 479, Dial: h.mq.Dial, Dispatcher: hearer(hear)})
	h.t.Cleanup(func() { c.Close() })
	return c
}

type hearer func(*remoting.Request)

func (f hearer) Dispatch(r *remoting.Request) { f(r) }

// topic makes a topic of one queue, or more.
func (h *hot) topic(name string, more ...string) *protocol.Command {
	h.t.Helper()
	fields := map[string]string{
		"topic": name, "defaultTopic": "TBW102", "readQueueNums": "1", "writeQueueNums": "1", "perm": "6",
		"topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
	}
	for _, f := range more {
		key, value, _ := strings.Cut(f, "=")
		fields[key] = value
	}
	return h.call(protocol.ReqUpdateAndCreateTopic, fields)
}

func (h *hot) group(name string) {
	h.t.Helper()
	h.body(protocol.ReqUpdateAndCreateSubscriptiongroup, `{"groupName":"`+name+`","consumeEnable":true,"consumeBroadcastEnable":true,"retryQueueNums":1,"retryMaxTimes":16}`)
}

// put sends a message to queue 0, with properties NAME=VALUE.
func (h *hot) put(topic, body string, properties ...string) *protocol.Command {
	h.t.Helper()
	var text []byte
	flag := "0"
	for _, p := range properties {
		name, value, _ := strings.Cut(p, "=")
		text = message.AppendProperty(text, name, value)
		if name == "TRAN_MSG" {
			flag = "4"
		}
	}
	return h.body(protocol.ReqSendMessageV2, body, "a=P", "b="+topic, "c=TBW102", "d=4", "e=0", "f="+flag,
		"g="+strconv.FormatInt(time.Now().UnixMilli(), 10), "h=0",
		"i="+string(text), "m=false")
}

// pulling asks for messages of queue 0; fields change what is asked.
func (h *hot) pulling(topic string, fields ...string) *protocol.Command {
	h.t.Helper()
	code := int32(protocol.ReqPullMessage)
	all := map[string]string{
		"consumerGroup": "G", "topic": topic, "queueId": "0", "queueOffset": "0", "maxMsgNums": "32", "sysFlag": "4",
		"commitOffset": "0", "suspendTimeoutMillis": "0", "subVersion": "0", "subscription": "*", "expressionType": "TAG",
	}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		if name == "code" {
			n, _ := strconv.Atoi(value)
			code = int32(n)
			continue
		}
		all[name] = value
	}
	return h.call(code, all)
}

func codeOf(answer *protocol.Command) string { return strconv.Itoa(int(answer.Code)) }

func fieldOf(answer *protocol.Command, name string) string {
	value, _ := answer.Fields.Get(name)
	return value
}

// end is the next offset of a queue.
func (h *hot) end(topic string) string {
	time.Sleep(10 * time.Millisecond)
	return fieldOf(h.body(protocol.ReqGetMaxOffset, "", "topic="+topic, "queueId=0"), "offset")
}

// beat is a heartbeat of one consumer.
func (h *hot) beat(c *remoting.Client, id, group, topic string) {
	h.t.Helper()
	h.from(c, protocol.ReqHeartBeat, `{"clientID":"`+id+`","producerDataSet":[],"consumerDataSet":[{"groupName":"`+group+
		`","consumeType":"CONSUME_PASSIVELY","messageModel":"CLUSTERING","consumeFromWhere":"CONSUME_FROM_LAST_OFFSET",`+
		`"subscriptionDataSet":[{"topic":"`+topic+`","subString":"*","subVersion":1,"tagsSet":[],"codeSet":[],"expressionType":"TAG"}]}]}`)
}

// recordsOf counts the messages of a body.
func recordsOf(t *testing.T, body []byte) (n int) {
	t.Helper()
	for ; len(body) > 0; n++ {
		m, err := message.ParseRecord(body)
		if err != nil {
			t.Fatal(err)
		}
		body = body[m.Size:]
	}
	return n
}

// file is a file of the store, empty if it is not there.
func (h *hot) file(name string) string {
	text, _ := os.ReadFile(filepath.Join(h.mq.Dir, "store", name))
	return string(text)
}

// metrics are the broker's, as text.
func (h *hot) metrics() string {
	text := metric.NewText(0)
	h.mq.Broker.Collect(metric.NewWriter(text))
	return string(text.Bytes())
}

// took is how long something took, in whole seconds.
func took(what func()) string {
	began := time.Now()
	what()
	return time.Since(began).Round(time.Second).String()
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/admin/client"
	"rocketmq-go/message"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

// tool runs sub-commands against a cluster.
type tool struct {
	*testing.T
	c *rocketmqtest.Cluster
}

func (t tool) env() Env {
	return Env{Dial: t.c.Dial, Location: time.UTC, Getenv: func(key string) string {
		return map[string]string{"NAMESRV_ADDR": t.c.NamesrvAddr}[key]
	}}
}

// run wants an exit code, and what stdout and stderr contain.
func (t tool) run(code int, stdout, stderr string, args ...string) string {
	t.Helper()
	got, out, errs := runIn(t.T, t.env(), args...)
	if got != code || !strings.Contains(out, stdout) || !strings.Contains(errs, stderr) {
		t.Fatalf("%s: exit %d\n%s\n%s", strings.Join(args, " "), got, out, errs)
	}
	return out
}

func (t tool) ok(stdout string, args ...string) string {
	t.Helper()
	return t.run(exitOK, stdout, "", args...)
}

// inCluster runs a test in virtual time with a cluster of its own.
func inCluster(t *testing.T, do func(tool)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		do(tool{t, rocketmqtest.Start(t, rocketmqtest.WithPipe(), rocketmqtest.WithDir(dir),
			rocketmqtest.WithConfig("traceTopicEnable", "true"))})
	})
}

func TestDocuments(t *testing.T) {
	inCluster(t, func(t tool) {
		t.ok("create topic to", "updateTopic", "-c", "DefaultCluster", "-t", "T", "-r", "2", "-w", "2")
		for _, args := range []string{
			"clusterList", "clusterList -m", "topicList", "topicList -c", "topicRoute -t T", "topicStatus -t T", "topicClusterList -t T",
			"statsAll", "consumerProgress", "getBrokerConfig -c DefaultCluster", "brokerStatus -c DefaultCluster", "haStatus -c DefaultCluster",
			"getNamesrvConfig", "printMsg -t T", "allocateMQ -t T -i 10.0.0.1,10.0.0.2", "sendMessage -t T -p x --output json",
		} {
			words := strings.Fields(args)
			if !strings.Contains(args, "--output") {
				words = append(words, "-o", "json")
			}
			var doc map[string]any
			if err := json.Unmarshal([]byte(t.ok("{", words...)), &doc); err != nil || len(doc) == 0 && words[0] != "printMsg" {
				t.Errorf("%s: %v, %v", args, doc, err)
			}
		}
		status := t.ok("", "topicStatus", "-t", "T", "-o", "json")
		for _, want := range []string{`"brokerName": "broker-a"`, `"qid": 1`, `"maxOffset": 0`, `"topicPutTps": 0`} {
			if !strings.Contains(status, want) {
				t.Errorf("no %s in %s", want, status)
			}
		}
		t.ok("brokerDatas:\n  - brokerAddrs:\n      \"0\": \"127.0.0.1:10911\"\n", "topicRoute", "-t", "T", "-o", "yaml")
		t.ok("#Broker Name  #QID  #Min Offset  #Max Offset  #Last Updated\nbroker-a      0     0            1", "topicStatus", "-t", "T", "-o", "wide")
		// -o is Java's own option here.
		t.ok("order=true", "updateTopic", "-c", "DefaultCluster", "-t", "T", "-o", "true")
		t.ok(`"messages": [`, "updateTopic", "-c", "DefaultCluster", "-t", "T", "-o", "true", "--output", "json")
	})
}

func TestYAML(t *testing.T) {
	var b strings.Builder
	doc := object{
		{"a", "plain"},
		{"b", "with: colon"},
		{"c", "yes"},
		{"d", 1.5},
		{"e", true},
		{"f", nil},
		{"g", []any{}},
		{"h", object{}},
		{"i", []any{"x", object{{"k", "v"}, {"l", []any{1}}}}},
		{"j", "line\nbreak"},
		{"k", ""},
	}
	if err := writeYAML(&b, doc); err != nil {
		t.Fatal(err)
	}
	want := `a: plain
b: "with: colon"
c: "yes"
d: 1.5
e: true
f: null
g: []
h: {}
i:
  - x
  - k: v
    l:
      - 1
j: "line\nbreak"
k: ""
`
	if b.String() != want {
		t.Errorf("%s", b.String())
	}
}

func TestWait(t *testing.T) {
	inCluster(t, func(t tool) {
		t.ok("ready after", "wait")
		t.ok("ready after", "wait", "-b", "broker-a")
		t.run(exitFailed, "", "not within 2s: no master of broker broker-x is registered", "wait", "-b", "broker-x", "--for", "2s")
		t.run(exitFailed, "", "No topic route info", "wait", "-t", "Later", "--for", "1s")
		made := make(chan struct{})
		go func() {
			time.Sleep(5 * time.Second)
			runIn(t.T, t.env(), "updateTopic", "-c", "DefaultCluster", "-t", "Later")
			close(made)
		}()
		t.ok("ready after 5.", "wait", "-t", "Later")
		<-made
		t.run(exitUsage, "", "", "wait", "-x")
		t.run(exitUsage, "", "--for x", "wait", "--for", "x")
	})
}

// group makes a group known to the broker, with an offset in queue 0 of a topic.
func (t tool) group(name, topic string, offset int64) {
	t.Helper()
	c := client.New(client.Options{Namesrv: []string{t.c.NamesrvAddr}, Dial: t.c.Dial})
	t.Cleanup(func() { c.Close() })
	hb := &protocol.HeartbeatData{ClientID: "client@1", ConsumerDataSet: []protocol.ConsumerData{{
		GroupName: name, ConsumeType: protocol.ConsumePassively, MessageModel: "CLUSTERING", ConsumeFromWhere: "CONSUME_FROM_FIRST_OFFSET",
		SubscriptionDataSet: []protocol.SubscriptionData{{Topic: topic, SubString: "*", ExpressionType: "TAG"}},
	}}}
	if err := c.Heartbeat(t.Context(), t.c.BrokerAddr, hb); err != nil {
		t.Fatal(err)
	}
	if err := c.Commit(t.Context(), name, topic, client.Queue{Addr: t.c.BrokerAddr}, offset); err != nil {
		t.Fatal(err)
	}
}

func TestDrain(t *testing.T) {
	inCluster(t, func(t tool) {
		file := filepath.Join(t.c.Dir, "drained")
		t.ok("create", "updateTopic", "-c", "DefaultCluster", "-t", "T", "-r", "1", "-w", "1")
		t.ok("SEND_OK", "sendMessage", "-t", "T", "-p", "x")
		t.group("G", "T", 0)
		t.run(exitFailed, "add write perm of broker[broker-a]", "not within 1m0s: group G is 1 messages behind on topic T, queue 0",
			"drain", "-b", "broker-a", "--for", "1m", "--exec", "touch "+file)
		t.ok(`"perm":6`, "topicRoute", "-t", "T")
		if _, err := os.Stat(file); err == nil {
			t.Error("the command was run")
		}
		t.run(exitFailed, "", "messages came until", "drain", "-b", "broker-a", "--for", "10s", "--ignore", "G")
		began := time.Now()
		t.ok("is drained", "drain", "-b", "broker-a", "--ignore", "G", "--quiet", "20s")
		if took := time.Since(began); took < 20*time.Second || took > time.Minute {
			t.Errorf("took %v", took)
		}
		t.ok(`"perm":4`, "topicRoute", "-t", "T")
		t.group("G", "T", 1)
		t.ok("touch "+file, "drain", "-b", "broker-a", "--quiet", "0s", "--exec", "touch "+file)
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
		t.run(exitFailed, "", "exit status 3", "drain", "-b", "broker-a", "--quiet", "0s", "--exec", "exit 3")
		t.run(exitFailed, "", "no master of broker x", "drain", "-b", "x")
	})
}

// What is not due, or not committed, stays on the broker; drain says how much.
func TestDrainTellsWhatStays(t *testing.T) {
	inCluster(t, func(t tool) {
		t.ok("create", "updateTopic", "-c", "DefaultCluster", "-t", "T", "-r", "1", "-w", "1")
		c := remoting.NewClient(remoting.ClientConfig{Dial: t.c.Dial})
		defer c.Close()
		send := func(sysFlag int32, name, value string) {
			properties := message.AppendProperty(message.AppendProperty(nil, name, value), "PGROUP", "P")
			cmd := &protocol.Command{Code: protocol.ReqSendMessageV2, Body: []byte("x")}
			h := protocol.SendMessageRequestHeaderV2{
				A: protocol.Some("P"), B: protocol.Some("T"), C: protocol.Some("TBW102"), D: protocol.Some(int32(1)), E: protocol.Some(int32(0)),
				F: protocol.Some(sysFlag), G: protocol.Some(time.Now().UnixMilli()), H: protocol.Some(int32(0)), I: protocol.Some(string(properties)),
			}
			h.AppendFields(&cmd.Fields)
			if answer, err := c.Call(t.Context(), t.c.BrokerAddr, cmd); err != nil || answer.Code != 0 {
				t.Fatal(answer, err)
			}
		}
		for range 3 {
			send(0, "DELAY", "18")
		}
		for range 2 {
			send(0, "TIMER_DELAY_SEC", "86400")
		}
		send(4, "TRAN_MSG", "true")
		time.Sleep(10 * time.Second)
		t.ok("3 delayed messages, 2 timer messages, up to 1 half messages", "drain", "-b", "broker-a", "--quiet", "1s")
		t.ok(`"delayedMessages": 3,
  "timerMessages": 2,
  "halfMessages": 1`, "drain", "-b", "broker-a", "--quiet", "1s", "-o", "json")
	})
}

// A topic that is made meanwhile can be written, until its messages are seen; and a broker that ends is not waited for.
func TestDrainOfBrokerThatChanges(t *testing.T) {
	inCluster(t, func(t tool) {
		t.ok("create", "updateTopic", "-c", "DefaultCluster", "-t", "T", "-r", "1", "-w", "1")
		drained := make(chan string)
		go func() {
			_, out, errs := runIn(t.T, t.env(), "drain", "-b", "broker-a", "--quiet", "20s")
			drained <- out + errs
		}()
		time.Sleep(5 * time.Second)
		t.ok("create", "updateTopic", "-c", "DefaultCluster", "-t", "New", "-r", "1", "-w", "1")
		t.ok("SEND_OK", "sendMessage", "-t", "New", "-p", "x")
		if said := <-drained; !strings.Contains(said, "is drained") {
			t.Error(said)
		}
		t.ok(`"perm":4`, "topicRoute", "-t", "New")

		go func() {
			_, out, errs := runIn(t.T, t.env(), "drain", "-b", "broker-a", "--quiet", "1h")
			drained <- out + errs
		}()
		time.Sleep(5 * time.Second)
		began := time.Now()
		t.c.StopBroker()
		if said := <-drained; !strings.Contains(said, "was stopped before it was drained") || time.Since(began) > 30*time.Second {
			t.Errorf("after %v: %s", time.Since(began), said)
		}
	})
}

func TestConfigDiff(t *testing.T) {
	a, b := rocketmqtest.Start(t), rocketmqtest.Start(t, rocketmqtest.WithConfig("fileReservedTime", "5"), rocketmqtest.WithConfig("logDir", "elsewhere"))
	both := a.BrokerAddr + "," + b.BrokerAddr
	x := tool{t, a}
	out := x.run(exitFailed, "fileReservedTime", "2 keys differ", "config", "diff", "-b", both)
	if strings.Contains(out, "storePath") || strings.Contains(out, "listenPort") || strings.Contains(out, "logDir") {
		t.Errorf("%s", out)
	}
	x.run(exitFailed, "listenPort", "keys differ", "config", "diff", "-b", both, "-a")
	x.run(exitFailed, "\""+b.BrokerAddr+"\": \"5\"", "2 keys differ", "config", "diff", "-b", both, "-o", "json")
	x.ok("2 brokers have the same configuration", "config", "diff", "-b", a.BrokerAddr+","+a.BrokerAddr)
	x.run(exitFailed, "", "only one broker", "config", "diff", "-c", "DefaultCluster")
	x.run(exitUsage, "", "", "config", "diff")
}

// A Java broker, as recorded, beside ones of another release or with keys of ours: numbers are numbers, a key that a broker
// does not have is not an empty one, and such keys come last.
func TestConfigDiffWithJava(t *testing.T) {
	java, err := os.ReadFile("../../config/testdata/broker-5.3.3.txt")
	if err != nil {
		t.Fatal(err)
	}
	ours := strings.NewReplacer("\ndeleteWhen=04\n", "\ndeleteWhen=4\n", "\nregionId=DefaultRegion\n", "\nregionId=\n", "\naclEnable=false\n", "\n",
		"\nenablePropertyFilter=true\n", "\nenablePropertyFilter=false\n").Replace(string(java)) + "httpPprof=true\n"
	a, b := canned{26: "\n" + string(java)}.server(t), canned{26: "\n" + ours}.server(t)
	both := a
	both.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
		if strings.HasPrefix(addr, "10.0.0.1:") {
			return a.Dial(ctx, addr)
		}
		return b.Dial(ctx, addr)
	}
	code, stdout, stderr := runIn(t, both, "config", "diff", "-b", "10.0.0.1:1,10.0.0.2:1")
	var got []string
	for line := range strings.Lines(stdout) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"#Key 10.0.0.1:1 10.0.0.2:1", "enablePropertyFilter true false", "regionId DefaultRegion", "aclEnable false (no such key)",
		"httpPprof (no such key) true",
	}
	if !slices.Equal(got, want) || code != exitFailed || !strings.Contains(stderr, "2 keys differ, and 2 are not shown by all brokers") {
		t.Errorf("exit %d %q\n%q", code, stderr, got)
	}
	if _, stdout, _ = runIn(t, both, "config", "diff", "-b", "10.0.0.1:1,10.0.0.2:1", "-o", "json"); !strings.Contains(stdout, `"10.0.0.2:1": null`) {
		t.Error(stdout)
	}
}

func TestSign(t *testing.T) {
	home := t.TempDir()
	getenv := func(string) string { return home }
	write := func(text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(home, "conf"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, "conf", "tools.yml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := credentials(Env{Getenv: getenv}); s != nil || err != nil {
		t.Errorf("without the file: %v", err)
	}
	for text, want := range map[string]string{
		"# of the tools\naccessKey: ak\nsecretKey: \"secret\" # not so secret\n": "henhmmfv9X7aCpzl6f+4e/lxhE4=",
		"accessKey: ak\nsecretKey: secret\nsecurityToken: tok\n":                 "iZwpt2hoKaT1QySx0SapV4u2HrM=",
	} {
		write(text)
		s, err := credentials(Env{Getenv: getenv})
		if err != nil || s == nil {
			t.Fatal(err)
		}
		cmd := &protocol.Command{Body: []byte("body")}
		cmd.Fields.Add("topic", "T")
		s(cmd)
		if got, _ := cmd.Fields.Get("Signature"); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	write("accessKey: ak\n")
	if _, err := credentials(Env{Getenv: getenv}); err == nil {
		t.Error("no secretKey")
	}
}

func TestProgress(t *testing.T) {
	inCluster(t, func(t tool) {
		e := t.env()
		e.Terminal = true
		code, out, errs := runIn(t.T, e, "statsAll")
		if code != exitOK || !strings.Contains(errs, "topics: 0 of ") || strings.Contains(out, "topics: ") || !strings.HasSuffix(errs, "\r") {
			t.Errorf("%d %q", code, errs)
		}
		if _, _, errs := runIn(t.T, t.env(), "statsAll"); errs != "" {
			t.Errorf("without a terminal: %q", errs)
		}
	})
}

// manyTopics makes topics on a cluster.
func manyTopics(b *testing.B, c *rocketmqtest.Cluster, n int) {
	b.Helper()
	var list strings.Builder
	for i := range n {
		if i > 0 {
			list.WriteString(",")
		}
		list.WriteString(`{"topicName":"Topic` + strconv.Itoa(i) + `","readQueueNums":1,"writeQueueNums":1,"perm":6}`)
	}
	file := filepath.Join(b.TempDir(), "topics.json")
	if err := os.WriteFile(file, []byte("["+list.String()+"]"), 0o644); err != nil {
		b.Fatal(err)
	}
	runTool(b, c, "updateTopicList", "-b", c.BrokerAddr, "-f", file, "--timeout", "60s")
	runTool(b, c, "wait", "-t", "Topic"+strconv.Itoa(n-1))
}

func runTool(b *testing.B, c *rocketmqtest.Cluster, args ...string) {
	b.Helper()
	var out, errs strings.Builder
	e := Env{Stdout: &out, Stderr: &errs, Getenv: func(key string) string { return map[string]string{"NAMESRV_ADDR": c.NamesrvAddr}[key] }}
	if code := Run(b.Context(), e, args); code != exitOK {
		b.Fatalf("%v: exit %d, %s", args, code, &errs)
	}
}

func BenchmarkClusterList(b *testing.B) {
	c := rocketmqtest.Start(b)
	for b.Loop() {
		runTool(b, c, "clusterList")
	}
}

func BenchmarkTopicList(b *testing.B) {
	c := rocketmqtest.Start(b)
	manyTopics(b, c, 10_000)
	for _, args := range [][]string{{"topicList"}, {"topicList", "-c"}, {"statsAll"}} {
		b.Run(strings.Join(args, ""), func(b *testing.B) {
			for b.Loop() {
				runTool(b, c, args...)
			}
		})
	}
}

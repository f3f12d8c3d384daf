// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package namesrv_test

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/internal/replay"
	"rocketmq-go/namesrv"
	"rocketmq-go/remoting/protocol"
)

// peer is a client or broker at the other end of a connection.
type peer struct {
	*replay.Conn
	t       *testing.T
	version int32
}

func (s *testServer) connect(t *testing.T) *peer {
	p := &peer{replay.NewConn(s.Pipe()), t, 479}
	t.Cleanup(p.Close)
	return p
}

type fields map[string]any

// ask sends a request and returns its answer.
func (p *peer) ask(code int32, f fields, body string) *replay.Frame {
	p.t.Helper()
	opaque, err := p.Write(&replay.Frame{Code: code, Language: "JAVA", Version: p.version, ExtFields: f, Body: []byte(body)})
	if err != nil {
		p.t.Fatal(err)
	}
	a, err := p.Wait(opaque, 5*time.Second)
	if err != nil || a == nil {
		p.t.Fatalf("request %d: answer %v, %v", code, a, err)
	}
	return a
}

// succeed asks and expects code 0.
func (p *peer) succeed(code int32, f fields, body string) *replay.Frame {
	p.t.Helper()
	a := p.ask(code, f, body)
	if a.Code != 0 {
		p.t.Fatalf("request %d %v: code %d, %s", code, f, a.Code, remark(a))
	}
	return a
}

// refused asks and expects a code and a remark.
func (p *peer) refused(code int32, f fields, body string, want int32, text string) {
	p.t.Helper()
	if a := p.ask(code, f, body); a.Code != want || remark(a) != text {
		p.t.Errorf("request %d %v: code %d %q, want %d %q", code, f, a.Code, remark(a), want, text)
	}
}

func remark(f *replay.Frame) string {
	if f.Remark == nil {
		return "<none>"
	}
	return *f.Remark
}

// register registers a process of a broker name with the given topics; change edits its fields.
func (p *peer) register(name string, id int, version int, topics []string, change fields) *replay.Frame {
	p.t.Helper()
	return p.ask(protocol.ReqRegisterBroker, registration(name, id, change), body(version, topics))
}

func registration(name string, id int, change fields) fields {
	f := fields{
		"brokerName": name, "brokerAddr": addr(name, id), "brokerId": fmt.Sprint(id), "clusterName": "C",
		"haServerAddr": addr(name, id) + "0", "enableActingMaster": "false",
	}
	for k, v := range change {
		f[k] = v
	}
	return f
}

func addr(name string, id int) string { return fmt.Sprintf("10.0.0.%d:1000%d", len(name), id) }

func body(version int, topics []string) string {
	var table []string
	for _, t := range topics {
		table = append(table, fmt.Sprintf(`%q:{"topicName":%q,"readQueueNums":4,"writeQueueNums":4,"perm":6}`, t, t))
	}
	return fmt.Sprintf(`{"filterServerList":[],"topicConfigSerializeWrapper":{"dataVersion":{"counter":%d,"stateVersion":0,"timestamp":1},"topicConfigTable":{%s}}}`,
		version, strings.Join(table, ","))
}

// route is the body of the route of a topic, or the code of the refusal.
func (p *peer) route(topic string) string {
	p.t.Helper()
	a := p.ask(protocol.ReqGetRouteinfoByTopic, fields{"topic": topic}, "")
	if a.Code != 0 {
		return fmt.Sprint(a.Code)
	}
	return string(a.Body)
}

var twoTopics = []string{"T1", "T2"}

// U001: clients before 4.9.4 take the text apart by hand and need bare numbers.
func TestRouteFlavour(t *testing.T) {
	s := start(t, "", namesrv.Options{})
	p := s.connect(t)
	p.register("b", 0, 1, []string{"T/ü", "T2"}, nil)
	for _, c := range []struct {
		version int32
		accept  any
		keys    string
	}{{317, nil, `{0:"10.`}, {400, nil, `{0:"10.`}, {401, nil, `{"0":"10.`}, {317, "true", `{"0":"10.`}, {317, "false", `{0:"10.`}} {
		p.version = c.version
		f := fields{"topic": "T/ü"}
		if c.accept != nil {
			f["acceptStandardJsonOnly"] = c.accept
		}
		if a := p.succeed(protocol.ReqGetRouteinfoByTopic, f, ""); !strings.Contains(string(a.Body), `"brokerAddrs":`+c.keys) {
			t.Errorf("version %d, acceptStandardJsonOnly %v: %s", c.version, c.accept, a.Body)
		}
	}
}

// U013: the name server was restarted; an increment must not stand for the whole.
func TestIncrementBeforeTheFirstRegistration(t *testing.T) {
	p := start(t, "", namesrv.Options{}).connect(t)
	if a := p.register("b", 0, 1, []string{"One"}, nil); a.Code != 1 || remark(a) != "register broker failed" {
		t.Fatalf("code %d %s", a.Code, remark(a))
	}
	if got := p.route("One"); got != "17" {
		t.Errorf("route %s", got)
	}
	var all []string
	for i := range 50 {
		all = append(all, fmt.Sprintf("T%02d", i))
	}
	p.register("b", 0, 1, all, nil)
	p.register("b", 0, 2, []string{"One"}, nil)
	if a := p.succeed(protocol.ReqGetAllTopicListFromNameserver, nil, ""); strings.Count(string(a.Body), `"`)/2 != 1+51 {
		t.Errorf("topics %s", a.Body)
	}
}

// U014: the close of an old connection is seen after the broker registered over a new one.
func TestReconnectedBrokerStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, "", namesrv.Options{})
		old, now, client := s.connect(t), s.connect(t), s.connect(t)
		old.register("b", 0, 1, twoTopics, nil)
		now.register("b", 0, 1, twoTopics, nil)
		old.Close()
		synctest.Wait()
		if got := client.route("T1"); got == "17" {
			t.Fatal("the route disappeared")
		}
		now.Close()
		synctest.Wait()
		if got := client.route("T1"); got != "17" {
			t.Fatal("the route outlived the broker's connection")
		}
	})
}

// U018: a null key must never reach the brokers.
func TestKVRefusesNull(t *testing.T) {
	s := start(t, "", namesrv.Options{})
	p := s.connect(t)
	for _, f := range []fields{{"namespace": "N", "value": "v"}, {"key": "k", "value": "v"}, {"namespace": "N", "key": "", "value": "v"}, nil} {
		p.refused(protocol.ReqPutKvConfig, f, "", 1, "namespace or key is null")
		p.refused(protocol.ReqDeleteKvConfig, f, "", 1, "namespace or key is null")
	}
	p.refused(protocol.ReqPutKvConfig, fields{"namespace": "N", "key": "k"}, "", 1, "value is null")
	if _, err := os.Stat(filepath.Join(s.dir, "kvConfig.json")); !os.IsNotExist(err) {
		t.Error("kvConfig.json was written")
	}
	p.refused(protocol.ReqGetKvConfig, nil, "", 22, "No config item, Namespace: null Key: null")
	p.refused(protocol.ReqGetKvlistByNamespace, nil, "", 22, "No config item, Namespace: null")
}

// U019: addresses are texts; those of IPv6 have brackets.
func TestIPv6Addresses(t *testing.T) {
	p := start(t, "", namesrv.Options{}).connect(t)
	const v6 = "[0:0:0:0:0:0:0:1]:10911"
	p.register("b", 0, 1, twoTopics, fields{"brokerAddr": v6})
	if got := p.route("T1"); !strings.Contains(got, `{"0":"`+v6+`"}`) {
		t.Errorf("route %s", got)
	}
}

// TestAnyAddress shows that a broker which registered the wildcard address is named to each client by the address that
// this client has reached.
func TestAnyAddress(t *testing.T) {
	s := start(t, "", namesrv.Options{})
	p := s.connect(t)
	p.register("b", 0, 479, []string{"T", "U"}, fields{"brokerAddr": "0.0.0.0:10911"})
	host := "127.0.0.1"
	if !strings.Contains(p.route("T"), `"brokerAddrs":{"0":"`+host+`:10911"}`) {
		t.Errorf("route names %s", p.route("T"))
	}
	for code, f := range map[int32]fields{
		protocol.ReqGetBrokerClusterInfo:     nil,
		protocol.ReqGetSystemTopicListFromNs: nil,
		protocol.ReqGetBrokerMemberGroup:     {"clusterName": "C", "brokerName": "b"},
	} {
		body := string(p.succeed(code, f, "").Body)
		if strings.Contains(body, "0.0.0.0") {
			t.Errorf("code %d names the wildcard address: %s", code, body)
		}
	}
	// So is a slave told where its master is.
	p.register("b", 0, 479, []string{"T", "U"}, fields{"brokerAddr": "0.0.0.0:10911", "haServerAddr": "0.0.0.0:10912"})
	slave := s.connect(t).register("b", 1, 479, []string{"T", "U"}, nil)
	if got := slave.ExtFields; got["masterAddr"] != host+":10911" || got["haServerAddr"] != host+":10912" {
		t.Errorf("a slave is told %v: %d %s", got, slave.Code, remark(slave))
	}
}

func TestStaticTopic(t *testing.T) {
	p := start(t, "", namesrv.Options{}).connect(t)
	// As recorded from Java: two brokers that share the static topic ST.
	const recorded = `{"brokerDatas":[{"brokerAddrs":{"0":"127.0.0.1:24810"},"brokerName":"b1","cluster":"C1","enableActingMaster":false},{"brokerAddrs":{"0":"127.0.0.1:24820"},"brokerName":"b2","cluster":"C1","enableActingMaster":false}],"filterServerTable":{},"queueDatas":[{"brokerName":"b1","perm":6,"readQueueNums":2,"topicSysFlag":0,"writeQueueNums":2},{"brokerName":"b2","perm":6,"readQueueNums":2,"topicSysFlag":0,"writeQueueNums":2}],"topicQueueMappingByBroker":{"b1":{"bname":"b1","currIdMap":{"0":0,"1":1},"dirty":false,"epoch":1795986085795,"scope":"__global__","topic":"ST","totalQueues":4},"b2":{"bname":"b2","currIdMap":{"2":0,"3":1},"dirty":false,"epoch":1795986085795,"scope":"__global__","topic":"ST","totalQueues":4}}}`
	for i, ids := range []string{"0:0,1:1", "2:0,3:1"} {
		name := fmt.Sprintf("b%d", i+1)
		p.succeed(protocol.ReqRegisterBroker, registration(name, 0, fields{
			"brokerAddr": fmt.Sprintf("127.0.0.1:248%d0", i+1), "clusterName": "C1",
		}), `{"topicConfigSerializeWrapper":{"topicConfigTable":{"ST":{"perm":6,"readQueueNums":2,"topicName":"ST","writeQueueNums":2},"X":{"topicName":"X"}},`+
			`"topicQueueMappingInfoMap":{"ST":{"bname":"`+name+`","currIdMap":{`+ids+`},"epoch":1795986085795,"scope":"__global__","topic":"ST","totalQueues":4}}}}`)
	}
	if got := p.route("ST"); got != recorded {
		t.Errorf("route\nwant %s\ngot  %s", recorded, got)
	}
}

func TestListsCanBeSwitchedOff(t *testing.T) {
	p := start(t, "enableAllTopicList=false\nenableTopicList=false", namesrv.Options{}).connect(t)
	for _, code := range []int32{
		protocol.ReqGetAllTopicListFromNameserver, protocol.ReqGetTopicsByCluster, protocol.ReqGetUnitTopicList,
		protocol.ReqGetHasUnitSubTopicList, protocol.ReqGetHasUnitSubUnunitTopicList,
	} {
		p.refused(code, fields{"cluster": "C"}, "", 1, "disable")
	}
	p.succeed(protocol.ReqGetSystemTopicListFromNs, nil, "")
}

func TestConfigUpdate(t *testing.T) {
	s := start(t, "", namesrv.Options{})
	p := s.connect(t)
	p.register("b", 0, 1, twoTopics, nil)
	p.succeed(protocol.ReqPutKvConfig, fields{"namespace": "ORDER_TOPIC_CONFIG", "key": "T1", "value": "b:4"}, "")
	if a := p.register("b", 0, 1, twoTopics, nil); string(a.Body) != `{"table":{"T1":"b:4"}}` {
		t.Errorf("answer to a registration: %s", a.Body)
	}
	p.succeed(protocol.ReqUpdateNamesrvConfig, nil, "orderMessageEnable=true\nnoSuchKey=1\nreturnOrderTopicConfigToBroker=false\n")
	if got := p.route("T1"); !strings.Contains(got, `"orderTopicConf":"b:4"`) {
		t.Errorf("route %s", got)
	}
	if a := p.register("b", 0, 1, twoTopics, nil); len(a.Body) != 0 {
		t.Errorf("answer to a registration: %s", a.Body)
	}
	if a := p.succeed(protocol.ReqGetNamesrvConfig, nil, ""); !strings.Contains(string(a.Body), "\norderMessageEnable=true\n") {
		t.Errorf("configuration %s", a.Body)
	}
	file, err := os.ReadFile(filepath.Join(s.dir, "namesrv.conf"))
	if err != nil || !strings.Contains(string(file), "orderMessageEnable=true") {
		t.Errorf("file %s, %v", file, err)
	}
	for _, key := range []string{"kvConfigPath", "configStorePath", "rocketmqHome", "configBlackList"} {
		p.refused(protocol.ReqUpdateNamesrvConfig, nil, key+"=/x\nenableTopicList=false", 16, "Can not update config in black list.")
	}
	p.refused(protocol.ReqUpdateNamesrvConfig, nil, `bad=\u12`, 1, "string2Properties error")
	if a := p.ask(protocol.ReqUpdateNamesrvConfig, nil, "waitSecondsForService=soon"); a.Code != 1 {
		t.Errorf("a value that is no number: code %d", a.Code)
	}
	p.succeed(protocol.ReqUpdateNamesrvConfig, nil, "")
	p.succeed(protocol.ReqGetTopicsByCluster, fields{"cluster": "C"}, "") // the black list refused the whole
}

// deleteTopicWithBrokerRegistration must act on a repeated body too, once it is switched on.
func TestDeleteMissingSwitchedOn(t *testing.T) {
	p := start(t, "", namesrv.Options{}).connect(t)
	p.register("b", 0, 1, twoTopics, nil)
	for range 2 {
		p.register("b", 0, 2, []string{"T1"}, nil)
	}
	if p.route("T2") == "17" {
		t.Fatal("T2 is gone too early")
	}
	p.succeed(protocol.ReqUpdateNamesrvConfig, nil, "deleteTopicWithBrokerRegistration=true")
	p.register("b", 0, 2, []string{"T1"}, nil)
	if got := p.route("T2"); got != "17" {
		t.Errorf("route %s", got)
	}
}

func TestZone(t *testing.T) {
	p := start(t, "supportActingMaster=true", namesrv.Options{}).connect(t)
	filters := strings.Replace(body(1, twoTopics), `"filterServerList":[]`, `"filterServerList":["f:1"]`, 1)
	p.succeed(protocol.ReqRegisterBroker, registration("near", 0, fields{"__ZONE_NAME": "Z1"}), filters)
	p.succeed(protocol.ReqRegisterBroker, registration("remote", 0, fields{"__ZONE_NAME": "Z2"}), filters)
	p.register("slaves", 0, 1, twoTopics, nil)
	p.register("slaves", 1, 1, nil, nil)
	p.succeed(protocol.ReqUnregisterBroker, registration("slaves", 0, nil), "")
	ask := func(mode, zone string) string {
		return string(p.succeed(protocol.ReqGetRouteinfoByTopic, fields{"topic": "T1", "__ZONE_MODE": mode, "__ZONE_NAME": zone}, "").Body)
	}
	const want = `{"brokerDatas":[{"brokerAddrs":{0:"10.0.0.4:10000"},"brokerName":"near","cluster":"C","enableActingMaster":false,"zoneName":"Z1"},` +
		`{"brokerAddrs":{1:"10.0.0.6:10001"},"brokerName":"slaves","cluster":"C","enableActingMaster":false}],"filterServerTable":{"10.0.0.4:10000":["f:1"]},"queueDatas":[` +
		`{"brokerName":"near","perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4},{"brokerName":"slaves","perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}]}`
	if got := ask("true", "z1"); got != want {
		t.Errorf("zone z1\nwant %s\ngot  %s", want, got)
	}
	for _, c := range [][2]string{{"false", "z1"}, {"true", " "}, {"", "z1"}} {
		if got := ask(c[0], c[1]); !strings.Contains(got, "remote") {
			t.Errorf("mode %q zone %q: %s", c[0], c[1], got)
		}
	}
	p.refused(protocol.ReqGetRouteinfoByTopic, fields{"topic": "None", "__ZONE_MODE": "true", "__ZONE_NAME": "z"}, "", 17,
		"No topic route info in name server for the topic: None\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details.")
}

func TestOverTCP(t *testing.T) {
	s := start(t, "listenPort=0\nbindAddress=127.0.0.1", namesrv.Options{})
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{replay.NewConn(c), t, 479}
	defer p.Close()
	p.register("b", 0, 1, twoTopics, nil)
	if got := p.route("T1"); got == "17" {
		t.Error("no route")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if c, err := net.DialTimeout("tcp", s.Addr().String(), time.Second); err == nil {
		c.Close()
		t.Error("it still listens")
	}
}

func TestStartFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s, err := namesrv.New(load(t, fmt.Sprintf("bindAddress=127.0.0.1\nlistenPort=%d", l.Addr().(*net.TCPAddr).Port)), namesrv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err == nil {
		t.Error("two servers on one port")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error("second Close:", err)
	}
	if _, err := namesrv.New(load(t, "clusterTest=true"), namesrv.Options{}); err == nil || !strings.Contains(err.Error(), "clusterTest") {
		t.Errorf("clusterTest=true: %v", err)
	}
	damaged := load(t, "")
	if err := os.WriteFile(damaged.Load().KvConfigPath, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := namesrv.New(damaged, namesrv.Options{}); err == nil {
		t.Error("a damaged key-value file was accepted")
	}
	if err := os.WriteFile(damaged.Load().KvConfigPath+".bak", []byte(`{"configTable":{}}`), fs.ModePerm); err != nil {
		t.Fatal(err)
	}
	if _, err := namesrv.New(damaged, namesrv.Options{}); err != nil {
		t.Error("with a whole .bak:", err)
	}
}

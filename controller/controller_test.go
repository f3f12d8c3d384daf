// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package controller

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// group are controllers of one group.
type group struct {
	t       *testing.T
	members []*Controller
	files   []string
	addrs   []string
	client  *remoting.Client
}

// newGroup starts n controllers with further lines of configuration.
func newGroup(t *testing.T, n int, lines string) *group {
	t.Helper()
	g := &group{t: t, client: remoting.NewClient(remoting.ClientConfig{})}
	t.Cleanup(func() { g.client.Close() })
	var listeners []net.Listener
	var peers []string
	for i := range n {
		l := listen(t)
		listeners, g.addrs = append(listeners, l), append(g.addrs, l.Addr().String())
		peers = append(peers, fmt.Sprintf("n%d-%s", i, l.Addr()))
	}
	for i, l := range listeners {
		dir := t.TempDir()
		file := filepath.Join(dir, "controller.conf")
		text := fmt.Sprintf("controllerDLegerGroup=g1\ncontrollerDLegerPeers=%s\ncontrollerDLegerSelfId=n%d\ncontrollerStorePath=%s/state\n%s\n",
			strings.Join(peers, ";"), i, dir, lines)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		g.files = append(g.files, file)
		g.members = append(g.members, nil)
		g.start(i, l)
	}
	t.Cleanup(func() {
		for i := range g.members {
			g.stop(i)
		}
	})
	return g
}

// listen opens a port below those that the system gives to outgoing connections, so that it can be opened again.
func listen(t *testing.T) net.Listener {
	t.Helper()
	for range 100 {
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 12000+rand.IntN(20000))); err == nil {
			return l
		}
	}
	t.Fatal("no free port")
	return nil
}

func (g *group) start(i int, l net.Listener) {
	g.t.Helper()
	cfg, warnings, err := config.LoadController(config.Options{File: g.files[i], Env: func(string) string { return "" }})
	if err != nil || len(warnings) > 0 {
		g.t.Fatal(warnings, err)
	}
	c, err := New(cfg, Options{Listener: l, Poison: true, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		g.t.Fatal(err)
	}
	g.members[i] = c
}

func (g *group) stop(i int) {
	if c := g.members[i]; c != nil {
		if err := c.Close(); err != nil {
			g.t.Error(err)
		}
		g.members[i] = nil
	}
}

// leader waits for one.
func (g *group) leader() int {
	g.t.Helper()
	found := -1
	until(g.t, "a controller leads", func() bool {
		found = slices.IndexFunc(g.members, func(c *Controller) bool { return c != nil && c.Leading() })
		return found >= 0
	})
	return found
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for began := time.Now(); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("never: " + what)
		}
	}
}

// fields are those of a header.
type fields map[string]string

// ask sends a request to a controller.
func (g *group) ask(to int, code int32, f fields, body string) *protocol.Command {
	g.t.Helper()
	cmd := &protocol.Command{Code: code, Body: []byte(body)}
	for k, v := range f {
		cmd.Fields.Add(k, v)
	}
	ctx, cancel := context.WithTimeout(g.t.Context(), 20*time.Second)
	defer cancel()
	answer, err := g.client.Call(ctx, g.addrs[to], cmd)
	if err != nil {
		g.t.Fatal(err)
	}
	return answer
}

func (g *group) expect(to int, code int32, f fields, body string, want int32, remark string) *protocol.Command {
	g.t.Helper()
	answer := g.ask(to, code, f, body)
	if answer.Code != want || !strings.Contains(answer.Remark.V, remark) {
		g.t.Fatalf("%d %v %s: code %d, %q; want %d, %q", code, f, body, answer.Code, answer.Remark.V, want, remark)
	}
	return answer
}

// broker is what a broker says to its controllers.
type broker struct {
	g    *group
	id   int64
	addr string
	conn *remoting.Client
	told net.Listener // where it is told of masters
}

// join makes a broker known as the next one of "b".
func (g *group) join(to int, epoch, maxOffset int) *broker {
	g.t.Helper()
	b := &broker{g: g}
	b.told = listen(g.t)
	g.t.Cleanup(func() { b.told.Close() })
	b.addr = b.told.Addr().String()
	answer := g.ask(to, protocol.ReqControllerGetNextBrokerID, fields{"clusterName": "C", "brokerName": "b"}, "")
	id, _ := answer.Fields.Get("nextBrokerId")
	fmt.Sscan(id, &b.id)
	set := fields{"clusterName": "C", "brokerName": "b", "appliedBrokerId": id, "registerCheckCode": b.addr + ";17"}
	g.expect(to, protocol.ReqControllerApplyBrokerID, set, "", 0, "")
	g.expect(to, protocol.ReqControllerApplyBrokerID, set, "", 0, "") // it may ask again
	b.live(epoch, maxOffset)
	return b
}

// live sends heartbeats to all controllers, over connections of its own.
func (b *broker) live(epoch, maxOffset int) {
	b.g.t.Helper()
	if b.conn == nil {
		conn := remoting.NewClient(remoting.ClientConfig{})
		b.g.t.Cleanup(func() { conn.Close() })
		b.conn = conn
	}
	for i, c := range b.g.members {
		if c == nil {
			continue
		}
		cmd := &protocol.Command{Code: protocol.ReqBrokerHeartbeat}
		for k, v := range (fields{
			"clusterName": "C", "brokerName": "b", "brokerAddr": b.addr, "brokerId": fmt.Sprint(b.id), "epoch": fmt.Sprint(epoch),
			"maxOffset": fmt.Sprint(maxOffset), "heartbeatTimeoutMills": "60000",
		}) {
			cmd.Fields.Add(k, v)
		}
		answer, err := b.conn.Call(b.g.t.Context(), b.g.addrs[i], cmd)
		if err != nil || answer.Code != 0 || answer.Remark.V != "Heart beat success" {
			b.g.t.Fatal(answer, err)
		}
	}
}

// die ends the connections.
func (b *broker) die() {
	b.conn.Close()
	b.conn = nil
}

// notice waits for the broker to be told of a master.
func (b *broker) notice() string {
	b.g.t.Helper()
	conn, err := b.told.Accept()
	if err != nil {
		b.g.t.Fatal(err)
	}
	defer conn.Close()
	head := make([]byte, 4096)
	n, err := conn.Read(head)
	if err != nil {
		b.g.t.Fatal(err)
	}
	return string(head[:n])
}

func (g *group) elect(to int, b *broker, more fields) *protocol.Command {
	f := fields{"clusterName": "C", "brokerName": "b", "brokerId": fmt.Sprint(b.id), "designateElect": "false"}
	for k, v := range more {
		f[k] = v
	}
	return g.ask(to, protocol.ReqControllerElectMaster, f, "")
}

func (g *group) master(to int) string {
	answer := g.expect(to, protocol.ReqControllerGetReplicaInfo, fields{"brokerName": "b"}, "", 0, "")
	id, _ := answer.Fields.Get("masterBrokerId")
	epoch, _ := answer.Fields.Get("masterEpoch")
	return id + " epoch " + epoch + " " + string(answer.Body)
}

// What Java's brokers asked Java's controller, and what it answered.
func TestRecorded(t *testing.T) {
	g := newGroup(t, 1, "")
	g.leader()
	file, err := os.Open(filepath.Join("testdata", "controller-5.3.3.rpc.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	type line struct {
		Mark string `json:"mark"`
		Cli  int    `json:"cli"`
		Dir  string `json:"dir"`
		Code int32  `json:"req_code"`
		Head string `json:"hdr_text"`
		Body string `json:"body"`
	}
	conns := map[int]*remoting.Client{} // each connection of the recording
	brokers := map[string][]int{}       // connections by the address of the broker that sends heartbeats over them
	waiting := map[int]*protocol.Command{}
	compared := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		if l.Mark == "process KILL cb sig=15" {
			for _, cli := range brokers["127.0.0.1:24420"] {
				conns[cli].Close()
				delete(conns, cli)
			}
			until(t, "its connection is closed here, too", func() bool { return !g.members[0].live.alive("C1", "bc", 2) })
		}
		if l.Mark != "" {
			continue
		}
		var head struct {
			Code   int32             `json:"code"`
			Flag   int32             `json:"flag"`
			Remark string            `json:"remark"`
			Fields map[string]string `json:"extFields"`
		}
		if err := json.Unmarshal([]byte(l.Head), &head); err != nil {
			t.Fatal(err)
		}
		if l.Dir == ">" {
			if conns[l.Cli] == nil {
				conns[l.Cli] = remoting.NewClient(remoting.ClientConfig{})
				defer conns[l.Cli].Close()
			}
			cmd := &protocol.Command{Code: head.Code, Body: []byte(l.Body)}
			for k, v := range head.Fields {
				cmd.Fields.Add(k, v)
			}
			answer, err := conns[l.Cli].Call(t.Context(), g.addrs[0], cmd)
			if err != nil {
				t.Fatal(err)
			}
			waiting[l.Cli*10000+int(l.Code)] = answer
			if head.Code == protocol.ReqBrokerHeartbeat {
				if addr := head.Fields["brokerAddr"]; !slices.Contains(brokers[addr], l.Cli) {
					brokers[addr] = append(brokers[addr], l.Cli)
				}
			}
			continue
		}
		answer := waiting[l.Cli*10000+int(l.Code)]
		compared++
		if answer.Code != head.Code || answer.Remark.V != head.Remark || string(answer.Body) != l.Body {
			t.Errorf("%d: code %d %q %s\nJava's: code %d %q %s", l.Code, answer.Code, answer.Remark.V, answer.Body, head.Code, head.Remark, l.Body)
		}
		got := map[string]string{}
		for _, f := range answer.Fields.List {
			got[f.Key] = strings.ReplaceAll(f.Value, g.addrs[0], "127.0.0.1:24450")
		}
		if len(got) != len(head.Fields) {
			t.Errorf("%d: fields %v, Java's %v", l.Code, got, head.Fields)
		}
		for k, v := range head.Fields {
			if got[k] != v {
				t.Errorf("%d: %s is %q, Java's %q", l.Code, k, got[k], v)
			}
		}
	}
	if compared < 35 {
		t.Errorf("%d answers compared", compared)
	}
}

func TestFailover(t *testing.T) {
	g := newGroup(t, 1, "scanInactiveMasterInterval=50\nscanNotActiveBrokerInterval=50")
	g.leader()
	a, b, c := g.join(0, 1, 100), g.join(0, 1, 300), g.join(0, 1, 200)
	if a.id != 1 || b.id != 2 || c.id != 3 {
		t.Fatalf("ids %d %d %d", a.id, b.id, c.id)
	}
	if answer := g.elect(0, a, nil); answer.Code != 0 {
		t.Fatal(answer.Code, answer.Remark.V)
	}
	for _, x := range []*broker{a, b, c} {
		if text := x.notice(); !strings.Contains(text, `"masterAddress":"`+a.addr) || !strings.Contains(text, `{"syncStateSet":[1],"syncStateSetEpoch":1}`) {
			t.Errorf("told %q", text)
		}
	}
	alter := fields{"brokerName": "b", "masterBrokerId": "1", "masterEpoch": "1"}
	with := func(more fields) fields {
		f := fields{}
		for k, v := range alter {
			f[k] = v
		}
		for k, v := range more {
			f[k] = v
		}
		return f
	}
	const alterCode = protocol.ReqControllerAlterSyncStateSet
	set := func(ids string, epoch int) string {
		return fmt.Sprintf(`{"syncStateSet":[%s],"syncStateSetEpoch":%d}`, ids, epoch)
	}
	g.expect(0, alterCode, with(fields{"brokerName": "x"}), set("1", 1), 2013, "Broker metadata is not existed")
	g.expect(0, alterCode, alter, set("1", 1), 2013, "equal")
	g.expect(0, alterCode, with(fields{"masterBrokerId": "2"}), set("1,2", 1), 2002, "the current leader is:{1}, not {2}")
	g.expect(0, alterCode, with(fields{"masterEpoch": "2"}), set("1,2", 1), 2000, "")
	g.expect(0, alterCode, alter, set("1,2", 7), 2001, "")
	g.expect(0, alterCode, alter, set("1,9", 1), 2003, "{9}")
	g.expect(0, alterCode, alter, set("2", 1), 2013, "{1}")
	g.expect(0, alterCode, alter, "[", 1, "syncStateSet")
	g.expect(0, alterCode, alter, set("3,1,2", 1), 0, "")
	if got := g.master(0); got != `1 epoch 1 {"syncStateSet":[1,2,3],"syncStateSetEpoch":2}` {
		t.Error(got)
	}
	// The master is there: he stays.
	if answer := g.elect(0, b, nil); answer.Code != protocol.RespControllerMasterStillExist || len(answer.Body) == 0 {
		t.Error(answer.Code, answer.Remark.V, string(answer.Body))
	}
	// He goes: of those in sync the one with the longest log is next, and everybody hears of it.
	a.die()
	until(t, "b is the master", func() bool { return strings.HasPrefix(g.master(0), "2 epoch 2 ") })
	for _, x := range []*broker{b, c} {
		if text := x.notice(); !strings.Contains(text, `"masterAddress":"`+b.addr) || !strings.Contains(text, `{"syncStateSet":[2],"syncStateSetEpoch":3}`) {
			t.Errorf("told %q", text)
		}
	}
	// He comes back as one of the others.
	answer := g.expect(0, protocol.ReqControllerRegisterBroker, fields{"clusterName": "C", "brokerName": "b", "brokerId": "1", "brokerAddress": "127.0.0.1:7"}, "", 0, "")
	if addr, _ := answer.Fields.Get("masterAddress"); addr != b.addr {
		t.Errorf("the master is %s", addr)
	}
	a.live(1, 100)
	// Nobody else is in sync: no master until an operator names one.
	b.die()
	until(t, "nobody is the master", func() bool { return strings.HasPrefix(g.master(0), " epoch 3 ") })
	if answer := g.elect(0, c, nil); answer.Code != protocol.RespControllerElectMasterFailed {
		t.Error(answer.Code, answer.Remark.V)
	}
	data := g.expect(0, protocol.ReqControllerGetSyncStateData, nil, `["b","x"]`, 0, "")
	for _, part := range []string{
		`"masterEpoch":3`, `"inSyncReplicas":[{"alive":false,"brokerAddress":"` + b.addr + `","brokerId":2`,
		`{"alive":true,"brokerAddress":"127.0.0.1:7","brokerId":1,"brokerName":"b"}`,
	} {
		if !bytes.Contains(data.Body, []byte(part)) {
			t.Errorf("%s is not in %s", part, data.Body)
		}
	}
	g.expect(0, protocol.ReqUpdateControllerConfig, nil, "enableElectUncleanMaster=true", 0, "")
	if answer := g.elect(0, c, fields{"designateElect": "true"}); answer.Code != 0 {
		t.Error(answer.Code, answer.Remark.V)
	}
	if got := g.master(0); !strings.HasPrefix(got, "3 epoch 4 ") {
		t.Error(got)
	}
}

// What was agreed on is there after a restart.
func TestRestart(t *testing.T) {
	g := newGroup(t, 1, "")
	g.leader()
	a := g.join(0, 1, 100)
	g.elect(0, a, nil)
	want := g.master(0)
	g.stop(0)
	l, err := net.Listen("tcp", g.addrs[0])
	if err != nil {
		t.Fatal(err)
	}
	g.start(0, l)
	g.leader()
	if got := g.master(0); got != want {
		t.Errorf("%s, was %s", got, want)
	}
	g.expect(0, protocol.ReqControllerGetNextBrokerID, fields{"clusterName": "C", "brokerName": "b"}, "", 0, "")
}

// Three controllers: one leads, the others know it and say so; when it goes another one does, and knows all.
func TestGroup(t *testing.T) {
	g := newGroup(t, 3, "processReadEvent=true")
	leader := g.leader()
	a, b := g.join(leader, 1, 100), g.join(leader, 1, 100)
	if answer := g.elect(leader, b, nil); answer.Code != 0 {
		t.Fatal(answer.Code, answer.Remark.V)
	}
	want := g.master(leader)
	for i := range g.members {
		if i != leader {
			g.expect(i, protocol.ReqControllerGetReplicaInfo, fields{"brokerName": "b"}, "", protocol.RespControllerNotLeader, "not in leader state")
		}
		meta := g.expect(i, protocol.ReqControllerGetMetadataInfo, nil, "", 0, "")
		addr, _ := meta.Fields.Get("controllerLeaderAddress")
		leads, _ := meta.Fields.Get("isLeader")
		if addr != g.addrs[leader] || leads != fmt.Sprint(i == leader) {
			t.Errorf("controller %d: leader %s, isLeader %s", i, addr, leads)
		}
	}
	g.stop(leader)
	next := g.leader()
	if got := g.master(next); got != want {
		t.Errorf("%s, was %s", got, want)
	}
	// It knows who is alive, too: heartbeats come to all.
	b.die()
	alive := fmt.Sprintf(`"alive":true,"brokerAddress":"%s"`, a.addr)
	until(t, "b is gone", func() bool {
		data := g.ask(next, protocol.ReqControllerGetSyncStateData, nil, `["b"]`)
		return bytes.Contains(data.Body, []byte(alive)) && bytes.Contains(data.Body, []byte(`"alive":false`))
	})
	l, err := net.Listen("tcp", g.addrs[leader])
	if err != nil {
		t.Fatal(err)
	}
	g.start(leader, l)
	until(t, "the one that was gone follows", func() bool {
		_, ok := g.members[leader].state.get("b")
		return ok
	})
}

func TestClean(t *testing.T) {
	g := newGroup(t, 1, "")
	g.leader()
	a, b := g.join(0, 1, 100), g.join(0, 1, 100)
	g.elect(0, a, nil)
	clean := func(f fields) *protocol.Command { return g.ask(0, protocol.ReqCleanBrokerData, f, "") }
	for _, c := range []struct {
		f      fields
		remark string
	}{
		{fields{"brokerName": "x"}, "Broker x is not existed,clean broker data failure."},
		{fields{"brokerName": "b"}, "still alive"},
		{fields{"brokerName": "b", "brokerControllerIdsToClean": "2"}, "still alive"},
		{fields{"brokerName": "b", "brokerControllerIdsToClean": "2;y"}, "y"},
	} {
		if answer := clean(c.f); answer.Code != protocol.RespControllerInvalidCleanBrokerMetadata || !strings.Contains(answer.Remark.V, c.remark) {
			t.Errorf("%v: %d %q", c.f, answer.Code, answer.Remark.V)
		}
	}
	b.die()
	until(t, "b is gone", func() bool { return !g.members[0].live.alive("C", "b", b.id) })
	if answer := clean(fields{"brokerName": "b", "brokerControllerIdsToClean": "2"}); answer.Code != 0 {
		t.Error(answer.Remark.V)
	}
	if r, _ := g.members[0].state.get("b"); len(r.Brokers) != 1 || r.NextID != 3 || r.Master != 1 {
		t.Errorf("%+v", r)
	}
	if answer := clean(fields{"brokerName": "b", "isCleanLivingBroker": "true"}); answer.Code != 0 {
		t.Error(answer.Remark.V)
	}
	if names := g.members[0].state.names(); len(names) != 0 {
		t.Error(names)
	}
}

func TestRefusals(t *testing.T) {
	g := newGroup(t, 1, "")
	g.leader()
	for _, c := range []struct {
		code   int32
		f      fields
		want   int32
		remark string
	}{
		{protocol.ReqControllerApplyBrokerID, fields{"clusterName": "C", "brokerName": "b", "appliedBrokerId": "2", "registerCheckCode": "a:1;1"}, 2014, "hasn't been registered"},
		{protocol.ReqControllerApplyBrokerID, fields{"clusterName": "C", "brokerName": "b"}, 1, "appliedBrokerId"},
		{protocol.ReqControllerApplyBrokerID, fields{"clusterName": "C", "brokerName": "b", "appliedBrokerId": "1", "registerCheckCode": "a:1;1"}, 0, ""},
		{protocol.ReqControllerApplyBrokerID, fields{"clusterName": "C", "brokerName": "b", "appliedBrokerId": "1", "registerCheckCode": "b:1;1"}, 2014, "brokerId: 1"},
		{protocol.ReqControllerRegisterBroker, fields{"clusterName": "C", "brokerName": "x", "brokerId": "1"}, 2010, "Broker-set: x"},
		{protocol.ReqControllerRegisterBroker, fields{"clusterName": "C", "brokerName": "b", "brokerId": "2"}, 2010, "BrokerId: 2"},
		{protocol.ReqControllerElectMaster, fields{"clusterName": "C", "brokerName": "x", "brokerId": "1"}, 2010, "Broker hasn't been registered"},
		{protocol.ReqControllerElectMaster, fields{"clusterName": "C", "brokerName": "b", "brokerId": "7"}, 2010, ""},
		{protocol.ReqControllerElectMaster, fields{"clusterName": "C", "brokerName": "b"}, 2004, ""},
		{protocol.ReqControllerGetReplicaInfo, fields{"brokerName": "x"}, 2008, "Broker metadata is not existed"},
		{protocol.ReqBrokerHeartbeat, fields{"clusterName": "C", "brokerName": "b", "brokerAddr": "a:1"}, 2005, "brokerId"},
		{protocol.ReqUpdateControllerConfig, nil, 0, ""},
		{4711, nil, 3, " request type 4711 not supported"},
	} {
		g.expect(0, c.code, c.f, "", c.want, c.remark)
	}
	g.expect(0, protocol.ReqUpdateControllerConfig, nil, "rocketmqHome=/tmp", 16, "")
	g.expect(0, protocol.ReqUpdateControllerConfig, nil, "enableElectUncleanMastr=true", 0, "did you mean enableElectUncleanMaster?")
	g.expect(0, protocol.ReqUpdateControllerConfig, nil, "controllerDLegerGroup=g2", 0, "controllerDLegerGroup: holds from the next start on")
	g.expect(0, protocol.ReqUpdateControllerConfig, nil, "scanInactiveMasterInterval=x", 1, "scanInactiveMasterInterval")
	g.expect(0, protocol.ReqControllerGetSyncStateData, nil, "{", 1, "broker names")
	for text, want := range map[string]string{
		"":              "is missing",
		"n0-a":          `"n0-a"`,
		"n0":            `"n0"`,
		"-a:1":          `"-a:1"`,
		"n0-a:1;n1":     `"n1"`,
		" n0-a:1 ; ; ;": "",
	} {
		if _, err := parsePeers(text); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

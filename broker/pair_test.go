// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/auth"
	"rocketmq-go/broker"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/config"
	"rocketmq-go/message"
	"rocketmq-go/namesrv"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/telemetry/metric"
)

// pair is a name server, a master and a slave of it in memory; it belongs into a bubble with its own clock.
type pair struct {
	t       *testing.T
	dir     string
	set     map[string]string // of both brokers
	log     *slog.Logger
	said    logText // in the log, at info and above
	ns      *namesrv.Server
	clients []*remoting.Client
	signer  *auth.Credentials // of all requests; nil: they are not signed

	mu      sync.Mutex
	brokers map[string]*broker.Broker // by the host of their addresses
}

// logText is what brokers say while a test may read it.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// The addresses of a pair, which only its Dial knows.
const (
	pairNamesrv = "127.0.0.9:9876"
	masterHost  = "127.0.0.1"
	slaveHost   = "127.0.0.2"
)

// newPair starts the name server only. set are keys of both brokers, those that begin with "namesrv." of the name server.
func newPair(t *testing.T, set ...string) *pair {
	p := &pair{t: t, dir: t.TempDir(), set: map[string]string{}, brokers: map[string]*broker.Broker{}}
	p.log = slog.New(slog.NewTextHandler(&p.said, nil))
	namesrvKeys := map[string]string{
		"kvConfigPath": filepath.Join(p.dir, "kv.json"), "configStorePath": filepath.Join(p.dir, "ns.properties"),
	}
	for _, kv := range set {
		key, value, _ := strings.Cut(kv, "=")
		if name, ok := strings.CutPrefix(key, "namesrv."); ok {
			namesrvKeys[name] = value
		} else {
			p.set[key] = value
		}
	}
	cfg, _, err := config.LoadNamesrv(config.Options{Set: namesrvKeys, Env: noEnv})
	if err == nil {
		p.ns, err = namesrv.New(cfg, namesrv.Options{NoListen: true, Dial: p.Dial})
	}
	if err == nil {
		err = p.ns.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, host := range slices.Backward(slices.Sorted(maps.Keys(p.brokers))) { // slaves first
			p.stop(host)
		}
		for _, c := range p.clients {
			c.Close()
		}
		p.ns.Close()
	})
	return p
}

func noEnv(string) string { return "" }

// start starts a broker. Its store outlives it.
func (p *pair) start(host string, set ...string) *broker.Broker {
	p.t.Helper()
	all := map[string]string{
		"brokerName": "broker-a", "brokerIP1": host, "brokerIP2": host, "listenPort": "10911", "namesrvAddr": pairNamesrv,
		"storePathRootDir": filepath.Join(p.dir, host), "mappedFileSizeCommitLog": "1048576", "mappedFileSizeConsumeQueue": "60000",
		"maxIndexNum": "2000", "maxHashSlotNum": "500", "rocketmqHome": p.dir,
	}
	maps.Copy(all, p.set)
	for _, kv := range set {
		key, value, _ := strings.Cut(kv, "=")
		all[key] = value
	}
	cfg, _, err := config.LoadBroker(config.Options{Set: all, Env: noEnv})
	if err != nil {
		p.t.Fatal(err)
	}
	b, err := broker.New(broker.Options{Config: cfg, NoListen: true, Dial: p.Dial, Poison: true, Log: p.log.With("at", host)})
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	p.brokers[host] = b
	p.mu.Unlock()
	if err := b.Start(context.Background()); err != nil {
		p.t.Fatal(err)
	}
	return b
}

func (p *pair) master(set ...string) *broker.Broker { return p.start(masterHost, set...) }

func (p *pair) slave(set ...string) *broker.Broker {
	return p.start(slaveHost, append([]string{"brokerRole=SLAVE", "brokerId=1"}, set...)...)
}

// stop stops the broker at a host, if there is one.
func (p *pair) stop(host string) {
	p.mu.Lock()
	b := p.brokers[host]
	delete(p.brokers, host)
	p.mu.Unlock()
	if b == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		p.t.Error(err)
	}
}

// Dial connects to the servers of the pair.
func (p *pair) Dial(_ context.Context, addr string) (net.Conn, error) {
	if addr == pairNamesrv {
		return p.ns.Pipe(), nil
	}
	host, port, _ := net.SplitHostPort(addr)
	p.mu.Lock()
	b := p.brokers[host]
	p.mu.Unlock()
	switch {
	case b == nil:
		return nil, errors.New("nobody listens at " + addr)
	case port == "10912":
		return b.HAPipe(), nil
	}
	return b.Pipe(), nil
}

// settle lets both do what they have to, and the slave copy the master's tables.
func (p *pair) settle() {
	time.Sleep(11 * time.Second)
	synctest.Wait()
}

// ask sends a request; fields are name=value.
func (p *pair) ask(host string, code int32, fields ...string) *protocol.Command {
	p.t.Helper()
	return p.askBody(host, code, "", fields...)
}

func (p *pair) askBody(host string, code int32, body string, fields ...string) *protocol.Command {
	p.t.Helper()
	if p.clients == nil {
		p.clients = append(p.clients, remoting.NewClient(remoting.ClientConfig{Dial: p.Dial}))
	}
	cmd := &protocol.Command{Code: code, Body: []byte(body)}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		cmd.Fields.Add(name, value)
	}
	if p.signer != nil {
		p.signer.Sign(cmd)
	}
	addr := host + ":10911"
	if host == pairNamesrv {
		addr = host
	}
	answer, err := p.clients[0].Call(context.Background(), addr, cmd)
	if err != nil {
		p.t.Fatalf("%s at %s: %v", protocol.RequestName(code), host, err)
	}
	return answer
}

// do is ask for what must succeed.
func (p *pair) do(host string, code int32, fields ...string) *protocol.Command {
	p.t.Helper()
	return p.doBody(host, code, "", fields...)
}

func (p *pair) doBody(host string, code int32, body string, fields ...string) *protocol.Command {
	p.t.Helper()
	a := p.askBody(host, code, body, fields...)
	if a.Code != protocol.RespSuccess {
		p.t.Fatalf("%s at %s %v: %d %s", protocol.RequestName(code), host, fields, a.Code, a.Remark.V)
	}
	return a
}

func (p *pair) topic(name string, queues int) {
	p.t.Helper()
	p.do(masterHost, protocol.ReqUpdateAndCreateTopic, "topic="+name, "defaultTopic=TBW102", "readQueueNums="+strconv.Itoa(queues),
		"writeQueueNums="+strconv.Itoa(queues), "perm=6", "topicFilterType=SINGLE_TAG", "topicSysFlag=0", "order=false")
}

// send sends to queue 0 of a topic of the master and returns the answer. properties are name=value.
func (p *pair) send(topic, body string, properties ...string) *protocol.Command {
	p.t.Helper()
	var text string
	for _, kv := range properties {
		name, value, _ := strings.Cut(kv, "=")
		text = string(message.AppendProperty([]byte(text), name, value))
	}
	return p.askBody(masterHost, protocol.ReqSendMessageV2, body, "a=PG", "b="+topic, "c=TBW102", "d=4", "e=0", "f=0",
		"g="+strconv.FormatInt(time.Now().UnixMilli(), 10), "h=0", "i="+text, "j=0", "k=false", "m=false")
}

// pull reads from a queue.
func (p *pair) pull(host, topic string, offset int64) *protocol.Command {
	p.t.Helper()
	return p.ask(host, protocol.ReqPullMessage, "consumerGroup=G", "topic="+topic, "queueId=0", "queueOffset="+strconv.FormatInt(offset, 10),
		"maxMsgNums=32", "sysFlag=4", "commitOffset=0", "suspendTimeoutMillis=0", "subscription=*", "subVersion=1", "expressionType=TAG")
}

// bodies are those of the messages in the answer to a pull.
func (p *pair) bodies(answer *protocol.Command) (list []string) {
	p.t.Helper()
	for rest := answer.Body; len(rest) > 0; {
		r, err := message.ParseRecord(rest)
		if err != nil {
			p.t.Fatal(err)
		}
		list = append(list, string(r.Body))
		rest = rest[r.Size:]
	}
	return list
}

// json is the body of an answer that must succeed.
func decode[T any](p *pair, host string, code int32, fields ...string) (v T) {
	p.t.Helper()
	if err := fastjson.Unmarshal(p.do(host, code, fields...).Body, &v); err != nil {
		p.t.Fatal(err)
	}
	return v
}

// logEnd is where the log of a broker ends.
func (p *pair) logEnd(host string) string {
	p.t.Helper()
	end, _ := ptr(decode[protocol.KVTable](p, host, protocol.ReqGetBrokerRuntimeInfo)).Table.Get("commitLogMaxOffset")
	return end
}

// metrics is what Prometheus reads of a broker.
func (p *pair) metrics(host string) string {
	var text metric.Text
	p.brokers[host].Collect(metric.NewWriter(&text))
	return string(text.Bytes())
}

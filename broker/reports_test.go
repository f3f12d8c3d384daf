// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/admin/client"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

// Reports from the field against brokers, one test each. The numbers are those of the public reports.

var releases = []string{"5.3.3", "4.9.7"}

// sendAs sends with one of the three codes.
func sendAs(t *testing.T, c *client.Client, mq *rocketmqtest.Cluster, code int32, topic string, body []byte, properties string) *protocol.Command {
	t.Helper()
	var h protocol.Header
	if code == protocol.ReqSendMessage {
		h = &protocol.SendMessageRequestHeader{
			ProducerGroup: protocol.Some("P"), Topic: protocol.Some(topic), DefaultTopic: protocol.Some("TBW102"),
			DefaultTopicQueueNums: protocol.Some(int32(4)), QueueID: protocol.Some(int32(0)), SysFlag: protocol.Some(int32(0)),
			BornTimestamp: protocol.Some(int64(1)), Flag: protocol.Some(int32(0)), Properties: protocol.Some(properties),
		}
	} else {
		h = &protocol.SendMessageRequestHeaderV2{
			A: protocol.Some("P"), B: protocol.Some(topic), C: protocol.Some("TBW102"), D: protocol.Some(int32(4)),
			E: protocol.Some(int32(0)), F: protocol.Some(int32(0)), G: protocol.Some(int64(1)), H: protocol.Some(int32(0)),
			I: protocol.Some(properties), M: protocol.Some(code == protocol.ReqSendBatchMessage),
		}
	}
	return call(t, c, mq, request(code, h, body))
}

// logEnd is where the commit log ends.
func logEnd(t *testing.T, c *client.Client, mq *rocketmqtest.Cluster) string {
	t.Helper()
	var b protocol.KVTable
	if err := fastjson.Unmarshal(call(t, c, mq, &protocol.Command{Code: protocol.ReqGetBrokerRuntimeInfo}).Body, &b); err != nil {
		t.Fatal(err)
	}
	end, ok := b.Table.Get("commitLogMaxOffset")
	if !ok {
		t.Fatal("the runtime table has no commitLogMaxOffset")
	}
	return end
}

// U006 (R#3786): properties longer than 32,767 bytes made records that could not be read.
func TestLongestProperties(t *testing.T) {
	for _, release := range releases {
		t.Run(release, virtual(func(t *testing.T) {
			mq := rocketmqtest.Start(t, rocketmqtest.WithPipe(), rocketmqtest.WithConfig("compatVersion", release))
			c := goodClient(t, mq)
			stored := 0
			for _, code := range []int32{protocol.ReqSendMessage, protocol.ReqSendMessageV2, protocol.ReqSendBatchMessage} {
				send := func(size int) *protocol.Command {
					text := "K\x01" + strings.Repeat("v", size-3) + "\x02"
					if code == protocol.ReqSendBatchMessage {
						return sendAs(t, c, mq, code, "T", message.AppendBatchEntry(nil, 0, []byte("body"), []byte(text)), "")
					}
					return sendAs(t, c, mq, code, "T", []byte("body"), text)
				}
				if a := send(32768); a.Code != protocol.RespMessageIllegal {
					t.Errorf("request %d with 32,768 bytes: code %d %q", code, a.Code, a.Remark.V)
				}
				// The broker adds its own: what is stored must not be longer than that.
				longest := 0
				for size := 32767; size > 32000 && longest == 0; size-- {
					before := logEnd(t, c, mq)
					switch a := send(size); {
					case a.Code == protocol.RespSuccess:
						longest = size
						stored++
					case a.Code != protocol.RespMessageIllegal:
						t.Fatalf("request %d with %d bytes: code %d %q", code, size, a.Code, a.Remark.V)
					case logEnd(t, c, mq) != before:
						t.Fatalf("request %d with %d bytes was refused and stored", code, size)
					}
				}
				visible(t, c, mq, "T", int64(stored))
				got, err := c.Pull(context.Background(), client.PullRequest{Topic: "T", Queue: *queue(mq, 0), Group: "G", Offset: int64(stored) - 1})
				if err != nil || len(got.Messages) != 1 {
					t.Fatal(got, err)
				}
				properties := got.Messages[0].Properties
				if v, _ := message.Property(properties, "K"); len(v) != longest-3 || len(properties) != 32767 {
					t.Errorf("request %d: %d bytes of properties stored, value of %d, sent %d", code, len(properties), len(v), longest-3)
				}
			}
			// The properties of a batch itself are put behind those of each message.
			one := message.AppendBatchEntry(nil, 0, []byte("body"), nil)
			if a := sendAs(t, c, mq, protocol.ReqSendBatchMessage, "T", one, "K\x01"+strings.Repeat("v", 32768)+"\x02"); a.Code != protocol.RespMessageIllegal {
				t.Errorf("batch: code %d %q", a.Code, a.Remark.V)
			}
			mq.RestartBroker()
			visible(t, c, mq, "T", int64(stored))
		}))
	}
}

// U011 (RS#9106): the body may have exactly maxMessageSize bytes, in each of the three requests; frames have a limit of
// their own.
func TestLongestBody(t *testing.T) {
	for _, release := range releases {
		for _, limit := range []int{1, 1024} {
			t.Run(fmt.Sprint(release, "/", limit), virtual(func(t *testing.T) {
				mq := rocketmqtest.Start(t, rocketmqtest.WithPipe(), rocketmqtest.WithConfig("compatVersion", release), rocketmqtest.WithConfig("maxMessageSize", strconv.Itoa(limit)))
				c := goodClient(t, mq)
				for _, code := range []int32{protocol.ReqSendMessage, protocol.ReqSendMessageV2, protocol.ReqSendBatchMessage} {
					for _, extra := range []int{0, 1, 1 << 20} {
						body := make([]byte, limit+extra)
						if code == protocol.ReqSendBatchMessage {
							if limit == 1 {
								continue // no entry is so small
							}
							body = message.AppendBatchEntry(nil, 0, make([]byte, limit+extra-22), nil)
						}
						want := int32(protocol.RespSuccess)
						if extra > 0 {
							want = protocol.RespMessageIllegal
						}
						if a := sendAs(t, c, mq, code, "T", body, ""); a.Code != want {
							t.Errorf("request %d with %d bytes: code %d %q", code, len(body), a.Code, a.Remark.V)
						}
					}
				}
			}))
		}
	}
}

// U015 (R#9411, R#5322): brokers come back to a name server that was restarted with an empty table, within a second.
func TestBrokerComesBackToNameServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mq := rocketmqtest.Start(t, rocketmqtest.WithPipe())
		c := goodClient(t, mq)
		if _, err := c.Send(context.Background(), &client.Message{Topic: "T", Body: []byte("x"), Queue: queue(mq, 0)}); err != nil {
			t.Fatal(err)
		}
		mq.StopNamesrv()
		time.Sleep(300 * time.Millisecond)
		mq.RestartNamesrv()
		begin := time.Now()
		for {
			if route, err := c.Route(context.Background(), "T"); err == nil && len(route.BrokerDatas) == 1 {
				break
			}
			if time.Since(begin) > time.Second {
				t.Fatal("the broker does not come back")
			}
			time.Sleep(5 * time.Millisecond)
		}
		t.Logf("back after %v", time.Since(begin))
	})
}

// U019 (R#9987 and others): IPv6 addresses in routes and records.
func TestIPv6(t *testing.T) {
	if l, err := net.Listen("tcp", "[::1]:0"); err != nil {
		t.Logf("this machine has no IPv6: %v", err)
		return
	} else {
		l.Close()
	}
	mq := rocketmqtest.Start(t, rocketmqtest.WithConfig("bindAddress", "::1"), rocketmqtest.WithConfig("brokerIP1", "[::1]"))
	c := socketClient(t, mq)
	ctx := context.Background()
	addr := netip.MustParseAddrPort(mq.BrokerAddr)
	for n := range 2 {
		sent, err := c.Send(ctx, &client.Message{Topic: "T", Body: []byte("x"), Queue: queue(mq, 0), Keys: []string{"k"}})
		if err != nil || sent.QueueOffset != int64(n) || len(sent.OffsetID) != 2*(16+4+8) {
			t.Fatalf("%+v %v", sent, err)
		}
		visible(t, c, mq, "T", int64(n)+1)
		queues, err := c.Queues(ctx, "T", 4)
		if err != nil || len(queues) == 0 || netip.MustParseAddrPort(queues[0].Addr) != addr || strings.Contains(queues[0].Addr, "%") {
			t.Fatalf("route %+v, the broker is at %s: %v", queues, addr, err)
		}
		got, err := c.Pull(ctx, client.PullRequest{Topic: "T", Queue: queues[0], Group: "G", Offset: int64(n)})
		if err != nil || len(got.Messages) != 1 {
			t.Fatal(got, err)
		}
		m := &got.Messages[0]
		if m.SysFlag&(message.SysBornHostV6|message.SysStoreHostV6) != message.SysBornHostV6|message.SysStoreHostV6 ||
			m.StoreHost != addr || !m.BornHost.Addr().Is6() {
			t.Errorf("flags %x, born at %v, stored at %v", m.SysFlag, m.BornHost, m.StoreHost)
		}
		for code, want := range map[int32]string{
			protocol.ReqGetMinOffset: "offset 0", protocol.ReqGetMaxOffset: fmt.Sprint("offset ", n+1),
			protocol.ReqSearchOffsetByTimestamp: "offset 0", protocol.ReqGetEarliestMsgStoretime: "timestamp",
		} {
			cmd := &protocol.Command{Code: code}
			for name, value := range map[string]string{"topic": "T", "queueId": "0", "timestamp": "1"} {
				cmd.Fields.Add(name, value)
			}
			name, value, _ := strings.Cut(want, " ")
			got, _ := call(t, c, mq, cmd).Fields.Get(name)
			if at, _ := strconv.ParseInt(got, 10, 64); value != "" && got != value || value == "" && time.Since(time.UnixMilli(at)).Abs() > time.Minute {
				t.Errorf("request %d: %s %q, want %q", code, name, got, value)
			}
		}
		view := &protocol.ViewMessageRequestHeader{Offset: protocol.Some(m.PhyOffset)}
		if a := call(t, c, mq, request(protocol.ReqViewMessageByID, view, nil)); a.Code != protocol.RespSuccess {
			t.Errorf("view: code %d %q", a.Code, a.Remark.V)
		}
		mq.RestartBroker()
	}
}

// U103 (OP#36 and others): brokerIP1 may be a host's name. Clients are told the name, messages carry its address.
func TestHostName(t *testing.T) {
	mq := rocketmqtest.Start(t, rocketmqtest.WithConfig("brokerIP1", "localhost"))
	_, port, err := net.SplitHostPort(mq.BrokerAddr)
	if err != nil {
		t.Fatal(err)
	}
	c := socketClient(t, mq)
	ctx := context.Background()
	sent, err := c.Send(ctx, &client.Message{Topic: "T", Body: []byte("x"), Queue: queue(mq, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if host, _, err := message.ParseOffsetID(sent.OffsetID); err != nil || !host.Addr().IsLoopback() || strconv.Itoa(int(host.Port())) != port {
		t.Errorf("the id %s names %v, %v", sent.OffsetID, host, err)
	}
	visible(t, c, mq, "T", 1)
	queues, err := c.Queues(ctx, "T", 4)
	if err != nil || len(queues) == 0 || queues[0].Addr != "localhost:"+port {
		t.Fatalf("route %+v, %v", queues, err)
	}
	if got, err := c.Pull(ctx, client.PullRequest{Topic: "T", Queue: queues[0], Group: "G"}); err != nil || len(got.Messages) != 1 {
		t.Error(got, err)
	}
}

// U026 (R#9479): names of topics, of groups and of what the broker makes of them.
func TestLongestNames(t *testing.T) {
	for _, release := range releases {
		t.Run(release, virtual(func(t *testing.T) {
			mq := rocketmqtest.Start(t, rocketmqtest.WithPipe(), rocketmqtest.WithConfig("compatVersion", release))
			c := goodClient(t, mq)
			refusal := int32(protocol.RespInvalidParameter)
			if release == "4.9.7" {
				refusal = protocol.RespSystemError
			}
			for length, want := range map[int]int32{127: protocol.RespSuccess, 128: refusal, 1 << 20: refusal} {
				name := strings.Repeat("t", length)
				if a := sendAs(t, c, mq, protocol.ReqSendMessageV2, name, []byte("x"), ""); a.Code != want {
					t.Errorf("send to a topic of %d: code %d %.100q", length, a.Code, a.Remark.V)
				}
				if a := call(t, c, mq, newTopic(name, 1)); a.Code != want {
					t.Errorf("topic of %d: code %d %.100q", length, a.Code, a.Remark.V)
				}
			}
			for _, length := range []int{119, 120, 255, 256} {
				group := strings.Repeat("g", length)
				if err := c.Commit(context.Background(), group, "T", *queue(mq, 0), 7); length > 255 == (err == nil) && release == "4.9.7" {
					t.Errorf("commit of a group of %d: %v", length, err)
				}
				got, err := c.Pull(context.Background(), client.PullRequest{Topic: strings.Repeat("t", 127), Queue: *queue(mq, 0), Group: group, Suspend: time.Second})
				if length > 255 {
					if err == nil {
						t.Errorf("a group of %d was made", length)
					}
					continue
				}
				if err != nil || len(got.Messages) != 1 {
					t.Errorf("group of %d: %+v %v", length, got, err)
					continue
				}
				back := &protocol.ConsumerSendMsgBackRequestHeader{Offset: protocol.Some(got.Messages[0].PhyOffset), Group: protocol.Some(group), DelayLevel: protocol.Some(int32(-1))}
				want := int32(protocol.RespSuccess)
				if length > 250 { // the topic would be longer than any record can say
					want = protocol.RespSystemError
				}
				if a := call(t, c, mq, request(protocol.ReqConsumerSendMsgBack, back, nil)); a.Code != want {
					t.Errorf("send-back of a group of %d: code %d %q", length, a.Code, a.Remark.V)
				}
			}
		}))
	}
}

// U009 (RS#9295): clients of languages that the broker does not know are served, and are shown under a name that tools
// understand.
func TestUnknownLanguages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mq := rocketmqtest.Start(t, rocketmqtest.WithPipe())
		c := goodClient(t, mq)
		hb := fastjson.Marshal(&protocol.HeartbeatData{ClientID: "id", ConsumerDataSet: []protocol.ConsumerData{{
			GroupName: "G", ConsumeType: protocol.ConsumePassively, MessageModel: protocol.Clustering,
			SubscriptionDataSet: []protocol.SubscriptionData{{Topic: "T", SubString: "*"}},
		}}})
		json := func(language string) string {
			header := `{"code":34,"language":"` + language + `","opaque":1,"version":400}`
			return frameOf(0, header, string(hb))
		}
		binary := func(language byte) string {
			return frameOf(1, "\x00\x22"+string([]byte{language})+"\x01\x90\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", string(hb))
		}
		for name, f := range map[string]struct{ frame, want string }{
			"JSON NODE_JS": {json("NODE_JS"), "NODE_JS"}, "JSON ZIG": {json("ZIG"), "OTHER"},
			"binary 13": {binary(13), "NODE_JS"}, "binary 200": {binary(200), "OTHER"},
		} {
			conn := dial(t, mq, mq.BrokerAddr)
			if _, err := conn.Write([]byte(f.frame)); err != nil {
				t.Fatal(err)
			}
			if a, err := read(conn); err != nil || a.Code != protocol.RespSuccess && a.Code != protocol.ReqNotifyConsumerIdsChanged {
				t.Fatalf("%s: %+v %v", name, a, err)
			}
			shown := call(t, c, mq, request(protocol.ReqGetConsumerConnectionList, &protocol.GetConsumerConnectionListRequestHeader{ConsumerGroup: protocol.Some("G")}, nil))
			if !strings.Contains(string(shown.Body), `"language":"`+f.want+`"`) {
				t.Errorf("%s: shown as %s", name, shown.Body)
			}
			conn.Close()
			synctest.Wait()
			a := call(t, c, mq, request(protocol.ReqGetConsumerListByGroup, &protocol.GetConsumerListByGroupRequestHeader{ConsumerGroup: protocol.Some("G")}, nil))
			if a.Code == protocol.RespSuccess {
				t.Fatalf("%s: a closed connection is still a member", name)
			}
		}
	})
}

// frameOf is a frame with a header as it stands.
func frameOf(serialize byte, header, body string) string {
	u32 := func(n int) string { return string([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}) }
	return u32(4+len(header)+len(body)) + u32(int(serialize)<<24|len(header)) + header + body
}

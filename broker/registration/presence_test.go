// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package registration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"rocketmq-go/compat"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// teller is a name server that answers questions for members with a text.
type teller struct {
	code int32
	body string

	mu    sync.Mutex
	heard []string
}

func (n *teller) Dispatch(r *remoting.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	text := fmt.Sprint(r.Code)
	for _, name := range []string{"topic", "brokerName", "brokerAddr", "brokerId"} {
		if value, ok := r.Fields.Get(name); ok {
			text += " " + name + "=" + value
		}
	}
	n.heard = append(n.heard, text)
	r.Reply(&protocol.Response{Code: n.code, Body: []byte(n.body)})
}

// Who lives is what any name server knows, asked in the way of old or of new ones.
func TestMembers(t *testing.T) {
	route := func(addrs string) string {
		return `{"brokerDatas":[{"brokerAddrs":` + addrs + `,"brokerName":"a","cluster":"c"}],"queueDatas":[]}`
	}
	const unknown = protocol.RespTopicNotExist
	for _, c := range []struct {
		name    string
		old     bool
		servers []*teller // nil: it cannot be reached
		want    string
		asked   string
	}{
		{"old", true, []*teller{{body: route(`{0:"m",1:"s"}`)}}, "map[0:m 1:s]", "105 topic=rmq_sys_SYNC_BROKER_MEMBER_a"},
		{"old, nobody has registered", true, []*teller{{code: unknown}}, "map[]", "105 topic=rmq_sys_SYNC_BROKER_MEMBER_a"},
		{"old, of another name", true, []*teller{{body: strings.Replace(route(`{0:"m"}`), `"a"`, `"b"`, 1)}}, "map[]", "105 topic=rmq_sys_SYNC_BROKER_MEMBER_a"},
		{"new", false, []*teller{{body: `{"brokerMemberGroup":{"brokerAddrs":{"0":"m","1":"s"},"brokerName":"a","cluster":"c"}}`}}, "map[0:m 1:s]", "901 brokerName=a"},
		{"new, nobody has registered", false, []*teller{{body: `{"brokerMemberGroup":{"brokerAddrs":{},"brokerName":"a"}}`}}, "map[]", "901 brokerName=a"},
		{"one of them knows more", true, []*teller{{body: route(`{1:"s"}`)}, {body: route(`{0:"m"}`)}}, "map[0:m 1:s]", "105 topic=rmq_sys_SYNC_BROKER_MEMBER_a"},
		{"one of them is gone", true, []*teller{nil, {body: route(`{1:"s"}`)}}, "map[1:s]", "105 topic=rmq_sys_SYNC_BROKER_MEMBER_a"},
		{"one of them fails", false, []*teller{{code: 1}, {code: 1}}, "error", "901 brokerName=a"},
		{"all are gone", true, []*teller{nil, nil}, "error", ""},
		{"there is none", true, nil, "error", ""},
		{"nonsense", true, []*teller{{body: `{`}}, "error", "105 topic=rmq_sys_SYNC_BROKER_MEMBER_a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			servers := map[string]*remoting.Server{}
			for i, n := range c.servers {
				if n != nil {
					servers[fmt.Sprint("ns", i)] = remoting.NewServer(remoting.ServerConfig{Dispatcher: n, Version: 479})
				}
			}
			client := remoting.NewClient(remoting.ClientConfig{Version: 479, Dial: func(_ context.Context, addr string) (net.Conn, error) {
				if s := servers[addr]; s != nil {
					return s.Pipe(), nil
				}
				return nil, errors.New("no way")
			}})
			defer func() {
				client.Close()
				for _, s := range servers {
					s.Close()
				}
			}()
			r := New(Options{
				Client: client, Profile: compat.For(compat.Release533),
				Broker: func() Broker { return Broker{Cluster: "c", Name: "a", ID: 1, Acting: &Acting{OldNamesrv: c.old}} },
				Servers: func() (list []string) {
					for i := range c.servers {
						list = append(list, fmt.Sprint("ns", i))
					}
					return list
				},
			})
			members, err := r.Members(t.Context())
			got := fmt.Sprint(members)
			if err != nil {
				got = "error"
			}
			if got != c.want {
				t.Errorf("got %s (%v), want %s", got, err, c.want)
			}
			for _, n := range c.servers {
				if n != nil && !slices.Equal(n.heard, []string{c.asked}) {
					t.Errorf("asked %q, want %q", n.heard, c.asked)
				}
			}
		})
	}
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"context"
	"encoding/json"
	"net"
	"reflect"
	"regexp"
	"testing"
	"testing/synctest"

	"rocketmq-go/broker"
	"rocketmq-go/config"
	"rocketmq-go/internal/replay"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// firstFrame is the first request that a recorded broker sent to its name server.
func firstFrame(t *testing.T, path string) *replay.Frame {
	r, err := replay.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	frames, err := replay.LoadTapped(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range frames {
		if f.Kind == "request" && f.Code == protocol.ReqRegisterBroker {
			frame, err := f.Frame()
			if err != nil {
				t.Fatal(err)
			}
			return frame
		}
	}
	t.Fatalf("%s: no registration", path)
	return nil
}

// note keeps the first registration it gets.
type note struct{ got chan *protocol.Command }

func (n note) Dispatch(r *remoting.Request) {
	if r.Code == protocol.ReqRegisterBroker {
		select {
		case n.got <- r.Clone():
		default:
		}
	}
	r.Reply(&protocol.Response{})
}

var changing = regexp.MustCompile(`"timestamp":\d+`)

// parsed is a JSON body without times. The order of topics has no meaning, and 5.3.3 sends another than its table has.
func parsed(t *testing.T, body []byte) (v any) {
	if err := json.Unmarshal(changing.ReplaceAll(body, []byte(`"timestamp":0`)), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// A fresh broker registers with what a fresh Java broker sends, times aside.
func TestRegistrationBytes(t *testing.T) {
	for release, file := range map[string]string{
		config.V533: "../namesrv/testdata/registration-5.3.3.jsonl.gz",
		config.V497: "../namesrv/testdata/registration-4.9.7.jsonl.gz",
	} {
		t.Run(release, func(t *testing.T) {
			want := firstFrame(t, file)
			addr := want.ExtFields["brokerAddr"].(string)
			host, port, _ := net.SplitHostPort(addr)
			synctest.Test(t, func(t *testing.T) {
				got := register(t, map[string]string{
					"compatVersion": release, "brokerName": "broker-a", "brokerIP1": host, "brokerIP2": "127.0.0.1",
					"listenPort": port, "defaultTopicQueueNums": "2", "namesrvAddr": "n:1", "storePathRootDir": t.TempDir(),
					"rocketmqHome": "/",
				})
				if !reflect.DeepEqual(parsed(t, got.Body), parsed(t, want.Body)) {
					t.Errorf("body\n%s\nwant\n%s", got.Body, want.Body)
				}
				for name, value := range want.ExtFields {
					if have, ok := got.Fields.Get(name); !ok || have != value && name != "bodyCrc32" {
						t.Errorf("field %s is %q, want %q", name, have, value)
					}
				}
				if len(got.Fields.List) != len(want.ExtFields) || got.Version != want.Version {
					t.Errorf("fields %v, version %d", got.Fields.List, got.Version)
				}
			})
		})
	}
}

func register(t *testing.T, set map[string]string) *protocol.Command {
	n := note{make(chan *protocol.Command, 1)}
	server := remoting.NewServer(remoting.ServerConfig{Dispatcher: n})
	defer server.Close()
	cfg, _, err := config.LoadBroker(config.Options{Set: set, Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	b, err := broker.New(broker.Options{
		Config: cfg, NoListen: true, Dial: func(context.Context, string) (net.Conn, error) { return server.Pipe(), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close(t.Context())
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return <-n.got
}

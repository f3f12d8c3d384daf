// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package acting

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/config"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// No slave is told to follow, and to act no more, while another one keeps the master away.
func TestNobodyIsToldInVain(t *testing.T) {
	for _, second := range []string{`{"table":{"commitLogMaxOffset":"11"}}`, ""} {
		synctest.Test(t, func(t *testing.T) {
			o := ReturningOptions{
				Log: slog.New(slog.DiscardHandler),
				Members: func(context.Context) (map[int64]string, error) {
					return map[int64]string{0: "m", 1: "first", 2: "second"}, nil
				},
				Own:    func() Place { return Place{End: 10} },
				Slaves: func() int { return 2 },
				Call: func(_ context.Context, addr string, c *protocol.Command) (*protocol.Command, error) {
					switch {
					case c.Code != protocol.ReqGetBrokerRuntimeInfo:
						t.Errorf("%s is sent %s", addr, protocol.RequestName(c.Code))
					case addr == "first":
						return &protocol.Command{Body: []byte(`{"table":{"commitLogMaxOffset":"10"}}`)}, nil
					case second != "":
						return &protocol.Command{Body: []byte(second)}, nil
					}
					return nil, errors.New("gone")
				},
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if err := Return(ctx, o); err == nil {
				t.Error("the master has returned")
			}
		})
	}
}

// A name server that never answers leaves time to ask the next one; what the other broker refuses as illegal waits for its master.
func TestBridgeTriesAgain(t *testing.T) {
	for code, want := range map[int32]store.PutStatus{
		protocol.RespSuccess: store.PutOK, protocol.RespMessageIllegal: store.ServiceNotAvailable,
	} {
		synctest.Test(t, func(t *testing.T) {
			b := NewBridge(BridgeOptions{
				Config: func() *config.BrokerValues {
					v := &config.BrokerValues{}
					v.BrokerName, v.EnableRemoteEscape = "a", true
					return v
				},
				Servers: func() []string { return []string{"silent", "answers"} },
				Call: func(ctx context.Context, addr string, _ *protocol.Command) (*protocol.Command, error) {
					switch addr {
					case "silent":
						<-ctx.Done()
						return nil, ctx.Err()
					case "answers":
						return &protocol.Command{Body: []byte(`{"brokerDatas":[{"brokerName":"b","brokerAddrs":{0:"b:1"}}],` +
							`"queueDatas":[{"brokerName":"b","perm":6,"readQueueNums":1,"writeQueueNums":1}]}`)}, nil
					}
					return &protocol.Command{Code: code}, ctx.Err()
				},
				Log: slog.New(slog.DiscardHandler),
			})
			var got store.PutStatus
			b.Put(&message.Message{Topic: "T"}, func(r store.PutResult) { got = r.Status })
			time.Sleep(2 * sendTimeout)
			synctest.Wait()
			if got != want {
				t.Errorf("after code %d of the other broker: status %d, want %d", code, got, want)
			}
		})
	}
}

// Who is told of the smallest id may wait, and nobody waits with him.
func TestToldWithoutLock(t *testing.T) {
	told := int64(-1)
	var g *Group
	g = NewGroup(GroupOptions{
		ID: 2, Log: slog.New(slog.DiscardHandler),
		Members: func(context.Context) (map[int64]string, error) { return map[int64]string{1: "first"}, nil },
		Told: func(least int64) {
			if told = least; g.mu.TryLock() {
				g.mu.Unlock()
			} else {
				t.Error("the group is locked")
			}
		},
	})
	g.ask(t.Context())
	if told != 1 || g.Min() != 1 || g.Alive() != 2 {
		t.Errorf("told %d, smallest %d, alive %d", told, g.Min(), g.Alive())
	}
}

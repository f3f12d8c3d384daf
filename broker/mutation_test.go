// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rocketmq-go/admin/client"
	"rocketmq-go/internal/replay"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

var mutationRounds = flag.Int("mutations", 1, "how often each recorded request is sent with changes")

// recordedRequests are the requests of all recordings, each a shape that clients and tools send.
func recordedRequests(t *testing.T) []*protocol.Command {
	files, err := filepath.Glob("testdata/behaviour/*.jsonl.gz")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var all []*protocol.Command
	for _, file := range files {
		steps, err := replay.LoadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range steps {
			if s.Op != "" {
				continue
			}
			cmd := &protocol.Command{Code: s.Code, Version: 475}
			for name, value := range s.ExtFields {
				cmd.Fields.Add(name, fmt.Sprint(value))
			}
			for name := range s.PropertiesOf {
				cmd.Fields.Add(name, "KEYS\x01k\x02TAGS\x01A\x02UNIQ_KEY\x01u\x02")
			}
			slices.SortFunc(cmd.Fields.List, func(a, b protocol.Field) int { return strings.Compare(a.Key, b.Key) })
			if s.BodyText != nil {
				cmd.Body = []byte(*s.BodyText)
			}
			all = append(all, cmd)
		}
	}
	return all
}

// mutate changes a request in one to three places.
func mutate(random *rand.Rand, cmd *protocol.Command) *protocol.Command {
	c := cmd.Clone()
	c.Serialize = protocol.SerializeType(random.IntN(2))
	for range 1 + random.IntN(3) {
		n := len(c.Fields.List)
		switch kind := random.IntN(8); {
		case kind < 3 && n > 0:
			c.Fields.List[random.IntN(n)].Value = oddValues[random.IntN(len(oddValues))]
		case kind < 4 && n > 0:
			c.Fields.List = slices.Delete(c.Fields.List, random.IntN(n), n)
		case kind < 5 && n > 0:
			f := &c.Fields.List[random.IntN(n)]
			f.Value += f.Value
		case kind < 6 && len(c.Body) > 0:
			c.Body[random.IntN(len(c.Body))] = byte(random.Uint32())
		case kind < 7 && len(c.Body) > 0:
			at := random.IntN(len(c.Body))
			c.Body = append(c.Body[:at:at], c.Body[min(len(c.Body), at+1+random.IntN(20)):]...)
		default:
			c.Body = []byte(oddBodies[random.IntN(len(oddBodies))])
		}
	}
	return c
}

// Requests as clients send them, with something wrong in each, in both forms of headers: each gets an
// answer, nothing panics, and what was stored before can be read after.
func TestMutatedRequests(t *testing.T) {
	requests := recordedRequests(t)
	t.Logf("%d requests", len(requests))
	for _, release := range releases {
		t.Run(release, virtual(func(t *testing.T) {
			seed := rand.Uint64()
			random := rand.New(rand.NewPCG(seed, 0))
			mq := rocketmqtest.Start(t, rocketmqtest.WithPipe(), rocketmqtest.WithPoison(), rocketmqtest.WithConfig("compatVersion", release))
			c := goodClient(t, mq)
			const kept = 20
			for i := range kept {
				m := &client.Message{Topic: "Kept", Body: []byte(fmt.Sprint(i)), Queue: queue(mq, 0)}
				if _, err := c.Send(context.Background(), m); err != nil {
					t.Fatal(err)
				}
			}
			visible(t, c, mq, "Kept", kept)
			for _, addr := range []string{mq.BrokerAddr, mq.NamesrvAddr} {
				conn := dial(t, mq, addr)
				for round := range *mutationRounds {
					for i, r := range requests {
						cmd := mutate(random, r)
						if cmd.Code == protocol.ReqUpdateBrokerConfig || cmd.Code == protocol.ReqUpdateNamesrvConfig {
							continue // what is changed there on purpose may well stop everything else
						}
						cmd.Opaque = int32(i + 1)
						frame, err := protocol.AppendFrame(nil, cmd)
						if err != nil {
							continue // one that cannot be sent
						}
						if _, err := conn.Write(frame); err != nil {
							t.Fatalf("seed %d, round %d: before request %d: %v", seed, round, cmd.Code, err)
						}
						if refused := answered(conn, cmd.Opaque); refused != nil {
							t.Fatalf("seed %d, round %d, request %d %q %q: %v", seed, round, cmd.Code, cmd.Fields.List, cmd.Body, refused)
						}
					}
				}
			}
			if a := call(t, c, mq, request(protocol.ReqPullMessage, pullOf("Reader", "Kept", 0, 4, "*"), nil)); a.Code != protocol.RespSuccess || !strings.Contains(string(a.Body), "Kept") {
				t.Errorf("seed %d: reading behind it all: code %d %q", seed, a.Code, a.Remark.V)
			}
			mq.RestartBroker()
			visible(t, c, mq, "Kept", kept)
		}))
	}
}

// answered waits for the answer to a request; those that may be held are let go after a moment.
func answered(conn net.Conn, opaque int32) error {
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	for {
		a, err := read(conn)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil
		case err != nil:
			return err
		case !a.IsResponse() || a.Opaque != opaque: // a notice, or a pull that was held
		case strings.Contains(a.Remark.V, "panic"):
			return errors.New(a.Remark.V)
		default:
			return nil
		}
	}
}

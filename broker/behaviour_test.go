// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"context"
	"encoding/json"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"rocketmq-go/internal/replay"
	"rocketmq-go/rocketmqtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorded is the configuration of the Java broker that the recordings were made with.
var recorded = []rocketmqtest.Option{
	rocketmqtest.WithConfig("transactionCheckInterval", "3000"),
	rocketmqtest.WithConfig("transactionTimeOut", "3000"),
	rocketmqtest.WithConfig("enablePropertyFilter", "false"),
}

// What a Java broker of 5.3.3 answered, step by step, is what this broker answers, against one broker for all files.
// testdata/behaviour-known.txt lists what differs and why. The waits are over in no time: the servers run without
// sockets in a bubble with its own clock.
func TestBehaviour(t *testing.T) {
	local := time.Local
	time.Local = time.UTC // as recorded
	defer func() { time.Local = local }()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(recordedAt))
		mq := rocketmqtest.Start(t, append(recorded, rocketmqtest.WithPipe(), rocketmqtest.WithPoison())...)
		playAll(t, mq, synctest.Wait, "testdata/behaviour", ".jsonl.gz")
	})
}

// recordedAt is about when the recordings were made. Times in properties have as many digits as they had then.
var recordedAt = time.Date(2026, time.November, 30, 0, 0, 0, 0, time.UTC)

// settled is a connection that sends only when the broker has done everything it was asked for before: the recordings
// were made on a slow machine, where stored messages were visible by the time of the next step.
type settled struct {
	net.Conn
	wait func()
}

func (s settled) Write(b []byte) (int, error) {
	s.wait()
	return s.Conn.Write(b)
}

// madeByJava are the unique ids that the Java broker made. Its machine had an IPv6 address, which makes them, and the
// records, longer than those of a broker at an IPv4 address.
const (
	madeByJava   = "FD00000000"
	longerByIPv6 = 2 * (net.IPv6len - net.IPv4len)
)

// shorten makes the recorded sizes of messages those of an IPv4 broker.
func shorten(steps []*replay.Step) {
	for _, step := range steps {
		messages, _ := step.Expect["messages"].([]any)
		for _, m := range messages {
			m := m.(map[string]any)
			properties, _ := m["properties"].(map[string]any)
			if key, _ := properties["UNIQ_KEY"].(string); strings.HasPrefix(key, madeByJava) {
				size, _ := m["size"].(json.Number).Int64()
				m["size"] = json.Number(strconv.FormatInt(size-longerByIPv6, 10))
			}
		}
	}
}

// playAll plays all recordings of a folder in the order of their names.
func playAll(t *testing.T, mq *rocketmqtest.Cluster, wait func(), dir, suffix string) {
	known, err := replay.LoadKnown("testdata/behaviour-known.txt")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings in %s: %v", dir, err)
	}
	dial := func(to string) (net.Conn, error) {
		addr := mq.BrokerAddr
		if to == "namesrv" {
			addr = mq.NamesrvAddr
		}
		conn, err := mq.Dial(context.Background(), addr)
		return settled{conn, wait}, err
	}
	total := 0
	for _, file := range files {
		steps, err := replay.LoadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		total += len(steps)
		shorten(steps)
		t.Log(strings.TrimSuffix(filepath.Base(file), suffix))
		replay.Play(t, dial, steps, known)
	}
	t.Logf("%d steps in all, %d known to differ", total, len(known))
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rocketmq-go/admin/client"
	"rocketmq-go/broker"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

// The samples of masters and slaves run as they are, but for ports and directories, over sockets: a message that is sent to
// a master is at its slave, and where the sample says so the send has waited for that.
func TestSamples(t *testing.T) {
	t.Parallel()
	for _, tree := range []string{"2m-2s-async", "2m-2s-sync", "2m-noslave"} {
		t.Run(tree, func(t *testing.T) {
			t.Parallel()
			files, err := filepath.Glob("../conf/" + tree + "/*.properties")
			if err != nil || len(files) < 2 {
				t.Fatalf("%q, %v", files, err)
			}
			files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "-trace.properties") })
			mq := rocketmqtest.Start(t, rocketmqtest.WithConfig("brokerName", "other"))
			brokers := map[string]*broker.Broker{}
			for _, file := range files {
				cfg, warnings, err := config.LoadBroker(config.Options{File: file, Env: noEnv, Set: map[string]string{
					"listenPort": "0", "bindAddress": "127.0.0.1", "brokerIP1": "127.0.0.1", "brokerIP2": "127.0.0.1", "namesrvAddr": mq.NamesrvAddr,
					"storePathRootDir": filepath.Join(t.TempDir(), "store"), "mappedFileSizeCommitLog": "1048576", "maxIndexNum": "2000", "maxHashSlotNum": "500",
				}})
				if err != nil || len(warnings) > 0 {
					t.Fatalf("%s: %v, %v", file, warnings, err)
				}
				b, err := broker.New(broker.Options{Config: cfg})
				if err == nil {
					err = b.Start(t.Context())
				}
				if err != nil {
					t.Fatalf("%s: %v", file, err)
				}
				t.Cleanup(func() {
					if err := b.Close(context.Background()); err != nil {
						t.Error(err)
					}
				})
				brokers[strings.TrimSuffix(filepath.Base(file), ".properties")] = b
			}
			c := remoting.NewClient(remoting.ClientConfig{})
			defer c.Close()
			for _, name := range []string{"broker-a", "broker-b"} {
				if slave := brokers[name+"-s"]; slave != nil {
					inSync(t, c, brokers[name], slave)
				}
				producer := client.New(client.Options{Namesrv: []string{mq.NamesrvAddr}})
				defer producer.Close()
				if sent, err := producer.Send(t.Context(), &client.Message{Topic: "S" + name, Body: []byte("x")}); err != nil {
					t.Errorf("%s: %+v, %v", name, sent, err)
				}
			}
		})
	}
}

// inSync waits until a slave has its master's log and tables.
func inSync(t *testing.T, c *remoting.Client, master, slave *broker.Broker) {
	t.Helper()
	status := func(b *broker.Broker) (info protocol.HARuntimeInfo) {
		answer, err := c.Call(t.Context(), b.Addr().String(), &protocol.Command{Code: protocol.ReqGetBrokerHaStatus})
		if err == nil {
			err = fastjson.Unmarshal(answer.Body, &info)
		}
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	why := ""
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(20 * time.Millisecond) {
		m, s := status(master), status(slave)
		err := slave.Ready()
		if m.Master && !s.Master && m.InSyncSlaveNums == 1 && m.HaConnectionInfo[0].Diff == 0 && err == nil {
			return
		}
		why = fmt.Sprintf("master %+v, slave %+v, %v", m, s, err)
	}
	t.Fatalf("the slave does not follow: %s", why)
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

// Rules of cleaning hold from a hot update on, code 329 orders it, and several directories of the log are kept.
func TestCleaning(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
		hour := time.Now().Local()
		r := newTimerRig(t,
			rocketmqtest.WithConfig("mappedFileSizeCommitLog", "131072"),
			rocketmqtest.WithConfig("storePathCommitLog", a+", "+b),
			rocketmqtest.WithConfig("deleteWhen", hour.Add(5*time.Hour).Format("15")))
		for n := range 75 {
			r.send(protocol.ReqSendMessageV2, false, "T", fmt.Sprintf("%d %s", n, strings.Repeat("x", 12000)))
		}
		var paths []string
		for n := range 8 {
			path := filepath.Join([]string{a, b}[n%2], fmt.Sprintf("%020d", n*131072))
			if _, err := os.Stat(path); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, path)
		}
		old := func(n int, age time.Duration) {
			then := time.Now().Add(-age)
			if err := os.Chtimes(paths[n], then, then); err != nil {
				t.Fatal(err)
			}
		}
		left := func(first int) {
			t.Helper()
			for n, path := range paths {
				if _, err := os.Stat(path); (err == nil) != (n >= first) {
					t.Errorf("file %d: %v, expected all from %d on", n, err, first)
				}
			}
			answer := r.call(protocol.ReqGetMinOffset, map[string]string{"topic": "T", "queueId": "0"})
			if offset, _ := answer.Fields.Get("offset"); (offset == "0") != (first == 0) {
				t.Errorf("the queue begins at %s", offset)
			}
		}
		configure := func(text string) {
			t.Helper()
			answer, err := r.c.Call(context.Background(), r.mq.BrokerAddr, &protocol.Command{Code: protocol.ReqUpdateBrokerConfig, Body: []byte(text)})
			if err != nil || answer.Code != 0 {
				t.Fatal(err, answer)
			}
		}
		old(0, 73*time.Hour)
		old(1, 49*time.Hour)
		old(2, 30*time.Hour)
		time.Sleep(time.Minute)
		left(0) // not the hour

		if answer := r.call(protocol.ReqDeleteExpiredCommitlog, nil); answer.Code != 0 {
			t.Fatal(answer)
		}
		time.Sleep(5 * time.Second)
		left(1)
		configure("fileReservedTime=48")
		time.Sleep(11 * time.Second)
		left(2) // the order still holds
		time.Sleep(5 * time.Minute)
		configure("fileReservedTime=24")
		time.Sleep(time.Minute)
		left(2)
		configure("deleteWhen=" + hour.Format("15"))
		time.Sleep(11 * time.Second)
		left(3)
		if answer := r.call(protocol.ReqCleanExpiredConsumequeue, nil); answer.Code != 0 {
			t.Fatal(answer)
		}
		runtime := r.call(protocol.ReqGetBrokerRuntimeInfo, nil)
		for _, key := range []string{"commitLogDiskRatio_" + a, "commitLogDiskRatio_" + b, "commitLogDiskRatio", "consumeQueueDiskRatio"} {
			if !strings.Contains(string(runtime.Body), fmt.Sprintf("%q:\"0.", key)) {
				t.Errorf("no %s in %s", key, runtime.Body)
			}
		}
		r.mq.RestartBroker()
		left(3)
	})
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"rocketmq-go/admin/client"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/telemetry/metrictest"
)

const monitoring = "../../conf/monitoring"

// expressions are those of a file: of the dashboard's panels and variables, or of the rules.
func expressions(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(monitoring, file))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	if strings.HasSuffix(file, ".json") {
		var dashboard struct {
			Panels []struct {
				ID      int
				Title   string
				GridPos struct{ X, Y, W, H int }
				Targets []struct{ Expr string }
			}
			Templating struct {
				List []struct{ Name, Definition string }
			}
		}
		if err := json.Unmarshal(text, &dashboard); err != nil {
			t.Fatal(err)
		}
		ids := map[int]bool{}
		for _, p := range dashboard.Panels {
			if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 {
				t.Errorf("panel %d %s: its id stands twice, or it is out of the grid", p.ID, p.Title)
			}
			ids[p.ID] = true
			for _, target := range p.Targets {
				all[p.Title+" "+target.Expr] = target.Expr
			}
		}
		for _, v := range dashboard.Templating.List {
			all["variable "+v.Name] = v.Definition
		}
		return all
	}
	var alert string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "- alert: "); ok {
			alert = name
		} else if expr, ok := strings.CutPrefix(line, "expr: "); ok {
			if alert == "" || all[alert] != "" {
				t.Errorf("%q belongs to no alert, or to one that has another", expr)
			}
			all[alert] = expr
		}
	}
	return all
}

var (
	metricName = regexp.MustCompile(`\b(?:rocketmq|process|go)_[a-z0-9_]+`)
	selector   = regexp.MustCompile(`((?:rocketmq|process|go)_[a-z0-9_]+)\{([^}]*)\}`)
	matcher    = regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)"`)
)

// What dashboard and alerts ask for is there, labels included, when a server has been used a little.
func TestDashboardAndAlertsAskForWhatThereIs(t *testing.T) {
	p, at := startStandalone(t, t.TempDir(), "--http-port", "0")
	t.Cleanup(func() { p.end(t) })
	use(t, at)
	told := func() *metrictest.Text {
		_, text := fetch(t, "http://"+at.HTTP+"/metrics")
		metrics, err := metrictest.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return metrics
	}
	metrics := told()
	for deadline := time.Now().Add(20 * time.Second); !metrics.Has("rocketmq_timing_messages") && time.Now().Before(deadline); {
		metrics = told() // the timer topic is read by the by
	}
	labels := map[string]map[string]string{}
	for _, s := range metrics.Samples {
		if labels[s.Name] == nil {
			labels[s.Name] = map[string]string{}
		}
		maps.Copy(labels[s.Name], s.Labels)
	}
	for _, file := range []string{"grafana-dashboard.json", "prometheus-rules.yml"} {
		all := expressions(t, file)
		if len(all) < 10 {
			t.Errorf("%s has %d expressions", file, len(all))
		}
		for where, expr := range all {
			if strings.Count(expr, "(") != strings.Count(expr, ")") || strings.Count(expr, "{") != strings.Count(expr, "}") {
				t.Errorf("%s: %s: brackets", file, where)
			}
			for _, name := range metricName.FindAllString(strings.ReplaceAll(expr, "rocketmq.*", ""), -1) {
				if labels[name] == nil {
					t.Errorf("%s: %s: there is no %s", file, where, name)
				}
			}
			for _, m := range selector.FindAllStringSubmatch(expr, -1) {
				for _, label := range matcher.FindAllStringSubmatch(m[2], -1) {
					if _, ok := labels[m[1]][label[1]]; !ok && label[1] != "job" {
						t.Errorf("%s: %s: %s has no label %s, but %v", file, where, m[1], label[1], slices.Sorted(maps.Keys(labels[m[1]])))
					}
				}
			}
		}
	}
}

// use makes series of all kinds.
func use(t *testing.T, at ports) {
	t.Helper()
	c := client.New(client.Options{Namesrv: []string{at.Namesrv}})
	t.Cleanup(func() { c.Close() })
	send := func(properties map[string]string) *client.Sent {
		t.Helper()
		sent, err := c.Send(t.Context(), &client.Message{Topic: "Topic", Body: []byte("x"), Properties: properties})
		if err != nil {
			t.Fatal(err)
		}
		return sent
	}
	call := func(code int32, h protocol.Header, body string) {
		t.Helper()
		cmd := &protocol.Command{Code: code, Body: []byte(body)}
		if h != nil {
			h.AppendFields(&cmd.Fields)
		}
		if _, err := c.Call(t.Context(), at.Broker, cmd); err != nil {
			t.Fatalf("code %d: %v", code, err)
		}
	}
	sent := send(nil)
	send(map[string]string{"TIMER_DELAY_SEC": "500"})
	send(map[string]string{"TRAN_MSG": "true", "PGROUP": "P"})
	for _, group := range []string{"Group", "Offline"} {
		call(protocol.ReqUpdateAndCreateSubscriptiongroup, nil,
			`{"groupName":"`+group+`","consumeEnable":true,"consumeFromMinEnable":true,"retryQueueNums":1,"retryMaxTimes":16}`)
		call(protocol.ReqUpdateConsumerOffset, &protocol.UpdateConsumerOffsetRequestHeader{
			ConsumerGroup: protocol.Some(group), Topic: protocol.Some("Topic"), QueueID: protocol.Some(sent.Queue.ID), CommitOffset: protocol.Some(int64(0)),
		}, "")
	}
	call(protocol.ReqHeartBeat, nil, `{"clientID":"c","producerDataSet":[{"groupName":"P"}],"consumerDataSet":[{"groupName":"Group",`+
		`"consumeType":"CONSUME_PASSIVELY","messageModel":"CLUSTERING","consumeFromWhere":"CONSUME_FROM_FIRST_OFFSET",`+
		`"subscriptionDataSet":[{"topic":"Topic","subString":"*","subVersion":1,"expressionType":"TAG"}]}]}`)
	if _, err := c.Pull(t.Context(), client.PullRequest{
		Topic: "Topic", Queue: sent.Queue, Group: "Group", Suspend: 10 * time.Second,
	}); err != nil {
		t.Fatal(err)
	}
	for _, level := range []int32{1, -1} { // again, and to the dead letters
		call(protocol.ReqConsumerSendMsgBack, &protocol.ConsumerSendMsgBackRequestHeader{
			Offset: protocol.Some(int64(0)), Group: protocol.Some("Group"), DelayLevel: protocol.Some(level),
		}, "")
	}
}

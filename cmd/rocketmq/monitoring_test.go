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

	"github.com/VictoriaMetrics/metricsql"

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
			if v.Definition != "" { // not the data source
				all["variable "+v.Name] = v.Definition
			}
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

// grafana stands for what Grafana puts in place of its variables before Prometheus sees an expression.
var (
	grafana     = strings.NewReplacer("$__rate_interval", "5m", "$__interval", "1m", "$__range", "1h")
	variable    = regexp.MustCompile(`\$\{?[a-z_]+\}?`)
	labelValues = regexp.MustCompile(`^label_values\((.*), *(\w+)\)$`)
)

// asked parses an expression and calls ask with each metric in it and each label that is asked of it: in selectors, and in
// by, without, on, ignoring and group_left of what it is part of.
func asked(expr string, ask func(metric, label string)) error {
	label := ""
	if m := labelValues.FindStringSubmatch(expr); m != nil {
		expr, label = m[1], m[2]
	}
	parsed, err := metricsql.Parse(variable.ReplaceAllString(grafana.Replace(expr), "x"))
	if err != nil {
		return err
	}
	every := func(e metricsql.Expr, labels []string) {
		metricsql.VisitAll(e, func(e metricsql.Expr) {
			m, ok := e.(*metricsql.MetricExpr)
			if !ok {
				return
			}
			for _, filters := range m.LabelFilterss {
				for _, f := range filters {
					if f.Label != "__name__" {
						ask(filters[0].Value, f.Label)
					}
				}
				ask(filters[0].Value, "")
				for _, l := range labels {
					ask(filters[0].Value, l)
				}
			}
		})
	}
	every(parsed, nil)
	if label != "" {
		every(parsed, []string{label})
	}
	metricsql.VisitAll(parsed, func(e metricsql.Expr) {
		switch e := e.(type) {
		case *metricsql.AggrFuncExpr:
			for _, arg := range e.Args {
				every(arg, e.Modifier.Args)
			}
		case *metricsql.BinaryOpExpr:
			every(e.Left, e.GroupModifier.Args)
			every(e.Right, e.GroupModifier.Args)
		}
	})
	return nil
}

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
			err := asked(expr, func(metric, label string) {
				switch _, there := labels[metric][label]; {
				case metric == "up": // Prometheus' own
				case labels[metric] == nil:
					t.Errorf("%s: %s: there is no %s", file, where, metric)
				case !there && label != "" && label != "job" && label != "instance" && label != "le":
					t.Errorf("%s: %s: %s has no label %s, but %v", file, where, metric, label, slices.Sorted(maps.Keys(labels[metric])))
				}
			})
			if err != nil {
				t.Errorf("%s: %s: %s: %v", file, where, expr, err)
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

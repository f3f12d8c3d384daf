// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rocketmq-go/admin/client"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/telemetry/metrictest"
	"rocketmq-go/telemetry/otlptest"
)

func fetch(t *testing.T, url string) (int, string) {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// end stops a server and waits, so that its directory can be removed.
func (p *process) end(t *testing.T) {
	t.Helper()
	p.stop()
	p.wait(t)
}

func logFile(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "logs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A standalone server tells of both its parts at one port, logs into the store's directory, and takes another level
// while it runs.
func TestMetricsHealthAndLogs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	p, at := startStandalone(t, dir, "--http-port", "0", "--set", "httpPprof=true", "--set", "metricsLabel=zone:z1")
	if at.HTTP == "" {
		t.Fatal("the port file does not name the HTTP port")
	}
	c := client.New(client.Options{Namesrv: []string{at.Namesrv}})
	defer c.Close()
	send := func(topic string) {
		t.Helper()
		if _, err := c.Send(t.Context(), &client.Message{Topic: topic, Body: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	level := func(level string) error {
		cmd := &protocol.Command{Code: protocol.ReqUpdateBrokerConfig, Body: []byte("logLevel=" + level + "\n")}
		_, err := c.Call(t.Context(), at.Broker, cmd)
		return err
	}
	send("TopicOne")
	if err := level("error"); err != nil {
		t.Fatal(err)
	}
	send("TopicTwo")
	if err := level("info"); err != nil {
		t.Fatal(err)
	}
	send("TopicThree")
	if err := level("loud"); err == nil {
		t.Error("a level that does not exist is taken")
	}

	code, text := fetch(t, "http://"+at.HTTP+"/metrics")
	metrics, err := metrictest.Parse(text)
	if code != http.StatusOK || err != nil {
		t.Errorf("%d %v\n%s", code, err, text)
	}
	for _, line := range []string{
		`rocketmq_messages_in_total{otel_scope_name="broker-meter",cluster="DefaultCluster",node_type="broker",`,
		`zone="z1",topic="TopicTwo",message_type="normal",is_system="false"} 1`,
		`rocketmq_namesrv_brokers{node_type="namesrv",cluster="DefaultCluster",broker="`,
	} {
		if !strings.Contains(text, line) {
			t.Errorf("no %s in\n%s", line, text)
		}
	}
	if metrics != nil && !metrics.Has("process_resident_memory_bytes") {
		t.Error("nothing of the process")
	}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/debug/pprof/": 200} {
		if code, text := fetch(t, "http://"+at.HTTP+path); code != want {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	broker := logFile(t, dir, "broker.log")
	for _, want := range []string{
		" INFO broker - registered at the name server ", " INFO broker - topic created by a send topic=TopicOne ",
		" INFO broker - configuration changed by a request ", "topic=TopicThree ",
	} {
		if !strings.Contains(broker, want) {
			t.Errorf("broker.log has no %q:\n%s", want, broker)
		}
	}
	if strings.Contains(broker, "TopicTwo") {
		t.Errorf("broker.log, with logLevel=error:\n%s", broker)
	}
	if text := logFile(t, dir, "namesrv.log"); !strings.Contains(text, " INFO namesrv - broker registered ") {
		t.Errorf("namesrv.log:\n%s", text)
	}
	p.stop()
	if code := p.wait(t); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if broker := logFile(t, dir, "broker.log"); !strings.Contains(broker, "broker stopped") {
		t.Errorf("the end is not logged:\n%s", broker)
	}
	if p.err.String() != "" {
		t.Errorf("on standard error:\n%s", &p.err)
	}
}

// Metrics go to a collector, or into a log file of their own; the last time when the server stops.
func TestMetricsAreExported(t *testing.T) {
	for _, c := range []struct {
		kind  string
		delta bool
	}{{"OTLP_GRPC", false}, {"OTLP_GRPC", true}, {"LOG", false}} {
		t.Run(fmt.Sprint(c.kind, c.delta), func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			r := otlptest.Start(t, l)
			dir := filepath.Join(t.TempDir(), "data")
			p, at := startStandalone(t, dir, "--set", "metricsExporterType="+c.kind, "--set", "metricsGrpcExporterTarget=http://"+l.Addr().String(),
				"--set", "metricsGrpcExporterHeader=token:t", "--set", fmt.Sprint("metricsInDelta=", c.delta), "--set", "logLevel=error")
			mq := client.New(client.Options{Namesrv: []string{at.Namesrv}})
			defer mq.Close()
			if _, err := mq.Send(t.Context(), &client.Message{Topic: "T", Body: []byte("x")}); err != nil {
				t.Fatal(err)
			}
			p.stop()
			var told string
			if c.kind == "LOG" {
				p.wait(t)
				told = logFile(t, dir, "broker_metrics.log")
				line := told[strings.Index(told, "{"):]
				var batch struct{ ScopeMetrics []any }
				if err := json.Unmarshal([]byte(line), &batch); err != nil || len(batch.ScopeMetrics) < 2 || strings.Count(told, "\n") != 1 {
					t.Errorf("%v in\n%s", err, told)
				}
			} else {
				push := <-r.Pushes
				told = strings.Join(push.Lines(), "\n")
				if push.Header.Get("token")[0] != "t" || strings.Contains(told, " aggregation=delta ") != c.delta {
					t.Errorf("%v\n%s", push.Header, told)
				}
				p.wait(t)
			}
			for _, want := range []string{"rocketmq_messages_in_total", "rocketmq_rpc_latency", "rocketmq_namesrv_brokers", "process_resident_memory"} {
				if !strings.Contains(told, want) {
					t.Errorf("no %s in\n%s", want, told)
				}
			}
			if p.err.String() != "" {
				t.Errorf("on standard error:\n%s", &p.err)
			}
		})
	}
}

// A broker of its own: Java's key opens the port, logs have the form that is asked for, and what cannot be written does
// not keep it from starting.
func TestBrokerWithMetricsAndJSONLogs(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, logDir := range []string{filepath.Join(dir, "logs"), filepath.Join(dir, "file", "logs"), "none"} {
		t.Run(filepath.Base(logDir), func(t *testing.T) {
			conf, portFile := filepath.Join(dir, "broker.conf"), filepath.Join(t.TempDir(), "ports")
			text := "listenPort=0\nbrokerIP1=127.0.0.1\nmetricsExporterType=PROM\nmetricsPromExporterPort=0\nlogFormat=json\n" +
				"logDir=" + logDir + "\nstorePathRootDir=" + filepath.Join(t.TempDir(), "store") + "\nnoSuchKey=1\n"
			if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			p := run(t, "broker", "-c", conf, "--port-file", portFile)
			at := p.ready(t, portFile)
			if code, text := fetch(t, "http://"+at.HTTP+"/metrics"); code != http.StatusOK || !strings.Contains(text, "rocketmq_topic_number{") {
				t.Errorf("%d %s", code, text)
			}
			p.stop()
			p.wait(t)
			lost := strings.Contains(p.err.String(), "no log files")
			if lost != strings.Contains(logDir, "file") {
				t.Errorf("standard error:\n%s", &p.err)
			}
			if logDir != filepath.Join(dir, "logs") {
				return
			}
			var kinds []string
			for line := range strings.Lines(logFile(t, dir, "broker.log")) {
				var entry struct {
					Time       time.Time
					Level, Msg string
				}
				if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Time.IsZero() {
					t.Errorf("%s: %v", line, err)
				}
				kinds = append(kinds, entry.Level+" "+entry.Msg)
			}
			if all := strings.Join(kinds, "\n"); !strings.Contains(all, "WARN configuration") || !strings.Contains(all, "INFO broker ready") {
				t.Errorf("broker.log:\n%s", all)
			}
		})
	}
}

func TestPortOfMetricsInUse(t *testing.T) {
	first, at := startStandalone(t, t.TempDir(), "--http-port", "0")
	defer first.end(t)
	_, port, _ := strings.Cut(at.HTTP, ":")
	p := run(t, "standalone", "--store", t.TempDir(), "--listen-port", "0", "--namesrv-port", "0", "--http-port", port)
	if code := p.wait(t); code != exitFailed || !strings.Contains(p.err.String(), "metrics and health: ") {
		t.Errorf("%d\n%s", code, &p.err)
	}
}

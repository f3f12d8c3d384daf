// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package metrics writes what a broker's parts count as Prometheus reads it.
//
// Series that a Java broker of 5.x exports too have its names, labels and values: messages and bytes by topic and group,
// lags, connections, latencies of requests, storage, transactions, timers. The others tell of what is only here; their
// names begin with rocketmq_broker_. Lags are computed when somebody asks.
package metrics

import (
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"rocketmq-go/broker/client"
	"rocketmq-go/broker/group"
	"rocketmq-go/broker/offset"
	"rocketmq-go/broker/pop"
	"rocketmq-go/broker/stats"
	"rocketmq-go/broker/timer"
	"rocketmq-go/broker/topic"
	"rocketmq-go/broker/transaction"
	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/observe"
	"rocketmq-go/store"
	"rocketmq-go/telemetry/metric"
)

// Sources are the parts of a broker that are asked.
type Sources struct {
	Config       func() *config.BrokerValues
	Store        *store.Store
	Topics       *topic.Table
	Groups       *group.Table
	Offsets      *offset.Store
	Consumers    *client.Consumers
	Producers    *client.Producers
	Stats        *stats.Table
	Transactions *transaction.Service
	Timers       *timer.Service // nil in 4.9
	Pop          *pop.Service   // nil in 4.9
	Server       *remoting.Server
	Requests     *observe.Requests
	Flushes      *metric.Histogram // of FlushBounds
	Earliest     func() int64      // store time of the oldest message, ms, -1 if there is none
	Waiting      func() int        // requests that wait for a goroutine
	Unsupported  func() int64      // requests whose code nobody handles
	Held         func() int        // pulls that wait for messages
	Registered   func() (ok, all int)
	Replication  interface{ Collect(w *metric.Writer) }
	Now          func() time.Time
}

// Collect writes all metrics.
func (s *Sources) Collect(w *metric.Writer) {
	w.Labels(s.labels()...)
	defer w.Labels()
	s.broker(w)
	s.Stats.Collect(w, s.system)
	s.Requests.Collect(w, observe.Latency)
	s.clients(w)
	s.lags(w)
	s.storage(w)
	s.transactions(w)
	if s.Timers != nil {
		s.Timers.Collect(w, onDisk...)
	}
	if s.Pop != nil {
		s.Pop.Collect(w)
	}
	s.own(w)
	s.Replication.Collect(w)
}

// onDisk are the labels that all metrics of storage have.
var onDisk = []string{"storage_type", "local", "storage_medium", "disk"}

// labels are those of every sample, and metricsLabel.
func (s *Sources) labels() []string {
	v := s.Config()
	labels := []string{
		"otel_scope_name", "broker-meter", "cluster", v.BrokerClusterName, "node_type", "broker", "node_id", v.BrokerName,
	}
	return append(labels, OwnLabels(v.MetricsLabel)...)
}

// OwnLabels reads metricsLabel: k:v,k:v. Parts of another form are left out, as in Java; so are names that Prometheus
// cannot read.
func OwnLabels(text string) []string {
	var labels []string
	for part := range strings.SplitSeq(text, ",") {
		fields := strings.Split(part, ":")
		if len(fields) == 2 && validName(fields[0]) {
			labels = append(labels, fields[0], fields[1])
		}
	}
	return labels
}

func validName(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// system tells whether topic or group is RocketMQ's own.
func (s *Sources) system(topic, name string) bool {
	return s.Topics.IsSystem(topic) || group.IsSystem(name)
}

// watermarks are the thread pools of a Java broker. There are none here: what waits does so in one queue, for tools.
var watermarks = [...]string{
	"send", "async_put", "pull", "lite_pull", "ack", "query_message", "client_manager", "heartbeat", "consumer_manager",
	"transaction", "reply",
}

func (s *Sources) broker(w *metric.Writer) {
	w.Gauge("rocketmq_broker_permission", "brokerPermission: 4 to read, 2 to write.").Value(float64(s.Config().BrokerPermission))
	w.Gauge("rocketmq_topic_number", "Topics that there are.").Value(float64(len(s.Topics.All())))
	w.Gauge("rocketmq_consumer_group_number", "Groups that there are.").Value(float64(len(s.Groups.All())))
	f := w.Gauge("rocketmq_processor_watermark", "Requests that wait for a goroutine; all of them count as admin.")
	for _, pool := range watermarks {
		f.Value(0, "processor", pool)
	}
	f.Value(float64(s.Waiting()), "processor", "admin")
}

func (s *Sources) storage(w *metric.Writer) {
	f := w.Gauge("rocketmq_storage_size_bytes", "Used bytes of the file system of the store.")
	f.Value(float64(usedBytes(s.Config().Store.StorePathRootDir)), onDisk...)
	f = w.Gauge("rocketmq_storage_flush_behind_bytes", "Bytes of the log that are not on disk yet.")
	f.Value(float64(max(s.Store.MaxPhyOffset()-s.Store.FlushedOffset(), 0)), onDisk...)
	f = w.Gauge("rocketmq_storage_dispatch_behind_bytes", "Bytes of the log that consumers cannot see yet.")
	f.Value(float64(s.Store.DispatchBehind()), onDisk...)
	f = w.Gauge("rocketmq_storage_message_reserve_time_milliseconds", "Age of the oldest message.")
	f.Value(float64(s.age(s.Earliest())), onDisk...)
}

// age is how long ago something was, ms; 0 if it never was.
func (s *Sources) age(ms int64) int64 {
	if ms <= 0 {
		return 0
	}
	return max(s.Now().UnixMilli()-ms, 0)
}

func (s *Sources) transactions(w *metric.Writer) {
	f := w.Gauge("rocketmq_half_messages", "Transactions that are open.")
	for topic, n := range s.Transactions.Open() {
		f.Value(float64(n), "topic", topic)
	}
}

// own writes what only this broker has.
func (s *Sources) own(w *metric.Writer) {
	c := s.Server.Counters()
	ok, all := s.Registered()
	log, queues, _ := s.Store.DiskUsage()
	for _, g := range []struct {
		name, help string
		value      float64
	}{
		{"rocketmq_broker_connections", "Open connections.", float64(s.Server.Conns())},
		{"rocketmq_broker_held_pulls", "Pulls that wait for messages.", float64(s.Held())},
		{"rocketmq_broker_writable", "1 if the store takes messages.", flag(s.Store.Writable())},
		{"rocketmq_broker_disk_used_ratio", "Used part of the disk that new files of the log go to, the emptiest of several.", log},
		{"rocketmq_broker_queue_disk_used_ratio", "Used part of the disk of the consume queues.", queues},
		{"rocketmq_broker_name_servers", "Name servers that are configured.", float64(all)},
		{"rocketmq_broker_name_servers_registered", "Name servers that know this broker.", float64(ok)},
		{"rocketmq_broker_log_max_offset", "End of the commit log.", float64(s.Store.MaxPhyOffset())},
	} {
		w.Gauge(g.name, g.help).Value(g.value)
	}
	closed := w.Counter("rocketmq_broker_connections_closed_total", "Connections that the broker ended, by reason.")
	for reason, n := range map[string]int64{
		"bad_frame": c.BadFrames, "foreign_protocol": c.Foreign, "idle": c.Idle, "slow_reader": c.Slow, "crowded": c.Crowded,
		"too_many": c.Refused,
	} {
		closed.Value(float64(n), "reason", reason)
	}
	w.Counter("rocketmq_broker_connections_accepted_total", "Connections that were taken.").Value(float64(c.Accepted))
	w.Counter("rocketmq_broker_unsupported_requests_total", "Requests that nobody handles.").Value(float64(s.Unsupported()))
	w.Counter("rocketmq_broker_put_failed_total", "Messages that the store refused.").Value(float64(s.Stats.Traffic.Refused()))
	w.Counter("rocketmq_broker_pull_missed_total", "Pulls that found no message.").Value(float64(s.Stats.Traffic.Empty()))
	w.Histogram("rocketmq_broker_flush_latency_milliseconds", "How long it took to write the commit log to disk.").
		Histogram(s.Flushes)
}

// FlushBounds are those of the histogram of writes to disk, observed as durations.
var FlushBounds = metric.NewBounds(float64(time.Millisecond), 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3000)

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func boolean(b bool) string { return strconv.FormatBool(b) }

// usedBytes are those of a directory's file system, 0 if unknown.
func usedBytes(dir string) int64 {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil {
		return 0
	}
	return int64(fs.Blocks-fs.Bfree) * fs.Bsize
}

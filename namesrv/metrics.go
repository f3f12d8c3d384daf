// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package namesrv

import (
	"rocketmq-go/namesrv/route"
	"rocketmq-go/telemetry/metric"
)

// Collect writes the server's metrics as Prometheus reads them. Java's name server has none.
func (s *Server) Collect(w *metric.Writer) {
	w.Labels("node_type", "namesrv")
	defer w.Labels()
	clusters := s.table.Clusters()
	brokers := w.Gauge("rocketmq_namesrv_brokers", "Broker processes that are registered, by cluster and name.")
	for _, b := range clusters.BrokerAddrTable.All() {
		brokers.Value(float64(b.BrokerAddrs.Len()), "cluster", b.Cluster, "broker", b.BrokerName)
	}
	masters := w.Gauge("rocketmq_namesrv_masters", "1 if a broker has a master, else 0, by cluster and name.")
	for _, b := range clusters.BrokerAddrTable.All() {
		n := 0.0
		if _, ok := b.BrokerAddrs.Get(route.MasterID); ok {
			n = 1
		}
		masters.Value(n, "cluster", b.Cluster, "broker", b.BrokerName)
	}
	w.Gauge("rocketmq_namesrv_topics", "Topics that have a route.").Value(float64(len(s.table.Topics())))
	w.Gauge("rocketmq_namesrv_connections", "Open connections.").Value(float64(s.server.Conns()))
	left := w.Counter("rocketmq_namesrv_brokers_left_total", "Brokers that left, by how.")
	for how := range departures {
		left.Value(float64(s.departed[how].Load()), "how", departures[how].label)
	}
	w.Counter("rocketmq_namesrv_unsupported_requests_total", "Requests that nobody handles.").Value(float64(s.routes.Unsupported()))
	c := s.server.Counters()
	w.Counter("rocketmq_namesrv_connections_accepted_total", "Connections that were taken.").Value(float64(c.Accepted))
	s.requests.Collect(w, "rocketmq_namesrv_rpc_latency_milliseconds")
}

// Ready tells whether clients can be served.
func (s *Server) Ready() error { return s.ctx.Err() }

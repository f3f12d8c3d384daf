// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package metrics

import (
	"strings"

	"rocketmq-go/broker/client"
	"rocketmq-go/compat/mqversion"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/telemetry/metric"
)

// kind is what clients are counted by.
type kind struct{ language, version string }

func kindOf(c *client.Client) kind {
	return kind{strings.ToLower(c.Language.String()), strings.ToLower(mqversion.Describe(c.Version))}
}

// clients counts connections. A connection counts once for each group that it is in, and once as a producer.
func (s *Sources) clients(w *metric.Writer) {
	producers := map[kind]int{}
	s.Producers.Each(func(c *client.Client) { producers[kindOf(c)]++ })
	f := w.Gauge("rocketmq_producer_connections", "Connections of producers, by language and version.")
	for k, n := range producers {
		f.Value(float64(n), "language", k.language, "version", k.version, "protocol_type", "remoting")
	}
	f = w.Gauge("rocketmq_consumer_connections", "Connections of consumers, by group, language and version.")
	for _, g := range s.Consumers.All() {
		kinds := map[kind]int{}
		for _, c := range g.Clients() {
			kinds[kindOf(c)]++
		}
		for k, n := range kinds {
			f.Value(float64(n), "consumer_group", g.Name, "language", k.language, "version", k.version,
				"consume_mode", modes[g.Type()], "protocol_type", "remoting", "is_system", boolean(s.system("", g.Name)))
		}
	}
}

var modes = map[protocol.ConsumeType]string{
	protocol.ConsumeActively: "pull", protocol.ConsumePassively: "push", protocol.ConsumePop: "pop",
}

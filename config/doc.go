// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

/*
Package config holds the configuration of brokers and name servers under the keys of Java's RocketMQ.

The structs BrokerConfig, MessageStoreConfig, NettyServerConfig, NettyClientConfig, NamesrvConfig and AuthConfig are the
table of keys: one field per key, in Java's order, with type, default and effect (see Key for the tags). A process reads
its configuration once,

	cfg, warnings, err := config.LoadBroker(config.Options{File: path, NamesrvAddr: n})

and then looks at typed values, from any goroutine and as often as it likes:

	v := cfg.Load()
	if !v.AutoCreateTopicEnable { … }
	limit := v.Store.MaxMessageSize

Load is one atomic read of a pointer to values that never change; Update (hot update, codes 25 and 318) publishes new
ones. Keep the Config, not the values, in anything that lives longer than one operation.

The text forms follow Java: files are read by the rules of java.util.Properties and the setters' strict conversions, and
Exposed gives the body of getBrokerConfig. What Java does in silence with a wrong key or value is a Warning here.
*/
package config

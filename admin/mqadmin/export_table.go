// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import cli "rocketmq-go/admin/commonscli"

// exportCommands are names, options and descriptions as Java's tool has them.
func exportCommands() []Command {
	return []Command{
		{
			Name: "exportMetadata", About: "Export metadata.", Run: exportMetadata,
			Options: []cli.Option{
				cli.Arg("c", "clusterName", "choose a cluster to export"),
				cli.Arg("b", "brokerAddr", "choose a broker to export"),
				cli.Arg("f", "filePath", "export metadata.json path | default /tmp/rocketmq/export"),
				cli.Flag("t", "topic", "only export topic metadata"),
				cli.Flag("g", "subscriptionGroup", "only export subscriptionGroup metadata"),
				cli.Flag("s", "specialTopic", "need retryTopic and dlqTopic"),
			},
		},
		{
			Name: "exportConfigs", About: "Export configs.", Run: exportConfigs,
			Options: []cli.Option{
				cli.Required("c", "clusterName", "choose a cluster to export"),
				cli.Arg("f", "filePath", "export configs.json path | default /tmp/rocketmq/export"),
			},
		},
		{
			Name: "exportMetrics", About: "Export metrics.", Run: exportMetrics,
			Options: []cli.Option{
				cli.Required("c", "clusterName", "choose a cluster to export"),
				cli.Arg("f", "filePath", "export metrics.json path | default /tmp/rocketmq/export"),
			},
		},
		{
			Name: "exportMetadataInRocksDB", About: "export RocksDB kv config (topics/subscriptionGroups). Recommend to use [mqadmin rocksDBConfigToJson]", Run: exportMetadataInRocksDB,
			Options: []cli.Option{
				cli.Required("p", "path", "Absolute path for the metadata directory"),
				cli.Required("t", "configType", "Name of kv config, e.g. topics/subscriptionGroups"),
				cli.Arg("j", "jsonEnable", "Json format enable, Default: false"),
			},
		},
		{
			Name: "exportPopRecord", About: "Export pop consumer record", Run: exportPopRecord,
			Options: []cli.Option{
				cli.Arg("c", "clusterName", "choose one cluster to export"),
				cli.Arg("b", "brokerAddr", "choose one broker to export"),
				cli.Arg("d", "dryRun", "no actual changes will be made"),
			},
		},
		{
			Name: "rocksDBConfigToJson", About: "Convert RocksDB kv config (topics/subscriptionGroups/consumerOffsets) to json. [rpc mode] Use [-n, -c, -b, -t] to send Request to broker ( version >= 5.3.2 ) or [local mode] use [-p, -t, -j, -e] to load RocksDB. If -e is provided, tools will export json file instead of std print", Run: rocksDBConfigToJson,
			Options: []cli.Option{
				cli.Arg("n", "nameserverAddr", "[rpc mode] nameserverAddr. If nameserverAddr and clusterName are provided, will ignore [-p, -e, -j, -b] args"),
				cli.Arg("t", "configType", "Name of kv config, e.g. topics/subscriptionGroups/consumerOffsets. Required in local mode and default all in rpc mode."),
				cli.Arg("p", "configPath", "[local mode] Absolute path to the metadata config directory"),
				cli.Arg("e", "exportFile", "[local mode] Absolute file path for exporting, auto backup existing file, not directory. If exportFile is provided, will export Json file and ignore [-j]."),
				cli.Arg("j", "jsonEnable", "[local mode] Json format enable, Default: true. If exportFile is provided, will export Json file and ignore [-j]."),
				cli.Arg("c", "cluster", "[rpc mode] Cluster name. If nameserverAddr and clusterName are provided, will ignore [-p, -e, -j, -b] args"),
				cli.Arg("b", "brokerAddr", "[rpc mode] Broker address. If brokerAddr is provided, will ignore [-p, -e, -j] args"),
			},
		},
		{
			Name: "checkRocksdbCqWriteProgress", About: "check if rocksdb cq is same as file cq", Run: checkRocksdbCqWriteProgress,
			Options: []cli.Option{
				cli.Required("n", "nameserverAddr", "nameserverAddr"),
				cli.Required("c", "cluster", "cluster name"),
				cli.Arg("t", "topic", "topic name"),
				cli.Arg("cf", "checkFrom", "check from time"),
			},
		},
	}
}

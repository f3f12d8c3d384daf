// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import cli "rocketmq-go/admin/commonscli"

// brokerCommands are names, options and descriptions as Java's tool has them.
func brokerCommands() []Command {
	return []Command{
		{
			Name: "updateBrokerConfig", About: "Update broker's config.", Run: updateBrokerConfig,
			Options: []cli.Option{
				cli.Arg("b", "brokerAddr", "update which broker"),
				cli.Arg("c", "clusterName", "update which cluster"),
				cli.Arg("a", "updateAllBroker", "update all brokers include slave"),
				cli.Required("k", "key", "config key"),
				cli.Required("v", "value", "config value"),
			},
		},
		{
			Name: "getBrokerConfig", About: "Get broker config by cluster or special broker.", Run: getBrokerConfig,
			Options: []cli.Option{
				cli.Arg("b", "brokerAddr", "get which broker"),
				cli.Arg("c", "clusterName", "get which cluster"),
			},
		},
		{
			Name: "brokerStatus", About: "Fetch broker runtime status data.", Run: brokerStatus,
			Options: []cli.Option{
				cli.OneOf(1, "b", "brokerAddr", "Broker address"),
				cli.OneOf(1, "c", "clusterName", "which cluster"),
			},
		},
		{
			Name: "brokerConsumeStats", About: "Fetch broker consume stats data.", Run: brokerConsumeStats,
			Options: []cli.Option{
				cli.Required("b", "brokerAddr", "Broker address"),
				cli.Arg("t", "timeoutMillis", "request timeout Millis"),
				cli.Arg("l", "level", "threshold of print diff"),
				cli.Arg("o", "order", "order topic"),
			},
		},
		{
			Name: "sendMsgStatus", About: "Send msg to broker.", Run: sendMsgStatus,
			Options: []cli.Option{
				cli.Required("b", "brokerName", "Broker Name e.g. clusterName_brokerName as DefaultCluster_broker-a"),
				cli.Arg("s", "messageSize", "Message Size, Default: 128"),
				cli.Arg("c", "count", "send message count, Default: 50"),
			},
		},
		{
			Name: "cleanExpiredCQ", About: "Clean expired ConsumeQueue on broker.", Run: cleanExpiredCQ,
			Options: []cli.Option{
				cli.Arg("b", "brokerAddr", "Broker address"),
				cli.Arg("c", "cluster", "clustername"),
			},
		},
		{
			Name: "deleteExpiredCommitLog", About: "Delete expired CommitLog files.", Run: deleteExpiredCommitLog,
			Options: []cli.Option{
				cli.Arg("n", "namesrvAddr", "Name server address"),
				cli.Arg("b", "brokerAddr", "Broker address"),
				cli.Arg("c", "cluster", "clustername"),
			},
		},
		{
			Name: "cleanUnusedTopic", About: "Clean unused topic on broker.", Run: cleanUnusedTopic,
			Options: []cli.Option{
				cli.Arg("b", "brokerAddr", "Broker address"),
				cli.Arg("c", "cluster", "cluster name"),
			},
		},
		{
			Name: "resetMasterFlushOffset", About: "Reset master flush offset in slave.", Run: resetMasterFlushOffset,
			Options: []cli.Option{
				cli.Arg("b", "brokerAddr", "which broker to reset"),
				cli.Arg("o", "offset", "the offset to reset at"),
			},
		},
		{
			Name: "getColdDataFlowCtrInfo", About: "Get cold data flow ctr info.", Run: getColdDataFlowCtrInfo,
			Options: []cli.Option{
				cli.Arg("b", "brokerAddr", "get from which broker"),
				cli.Arg("c", "clusterName", "get from which cluster"),
			},
		},
		{
			Name: "updateColdDataFlowCtrGroupConfig", About: "Add or update cold data flow ctr group config.", Run: updateColdDataFlowCtrGroupConfig,
			Options: []cli.Option{
				cli.Arg("b", "brokerAddr", "update which broker"),
				cli.Arg("c", "clusterName", "update which cluster"),
				cli.Required("g", "consumerGroup", "specific consumerGroup"),
				cli.Required("v", "threshold", "cold read threshold value"),
			},
		},
		{
			Name: "removeColdDataFlowCtrGroupConfig", About: "Remove consumer from cold ctr config.", Run: removeColdDataFlowCtrGroupConfig,
			Options: []cli.Option{
				cli.Arg("b", "brokerAddr", "update which broker"),
				cli.Arg("c", "clusterName", "update which cluster"),
				cli.Required("g", "consumerGroup", "the consumer group will remove from the config"),
			},
		},
		{
			Name: "setCommitLogReadAheadMode", About: "Set read ahead mode for all commitlog files.", Run: setCommitLogReadAheadMode,
			Options: []cli.Option{
				cli.Arg("b", "brokerAddr", "set which broker"),
				cli.Arg("c", "clusterName", "set which cluster"),
				cli.Required("m", "commitLogReadAheadMode", "set the CommitLog read ahead mode; 0 is default, 1 random read"),
			},
		},
		{
			Name: "addBroker", About: "Add a broker to specified container.", Run: addBroker,
			Options: []cli.Option{
				cli.Required("c", "brokerContainerAddr", "Broker container address"),
				cli.Required("b", "brokerConfigPath", "Broker config path"),
			},
		},
		{
			Name: "removeBroker", About: "Remove a broker from specified container.", Run: removeBroker,
			Options: []cli.Option{
				cli.Required("c", "brokerContainerAddr", "Broker container address"),
				cli.Required("b", "brokerIdentity", "Information to identify a broker: clusterName:brokerName:brokerId(dLedgerId for dLedger)"),
			},
		},
	}
}

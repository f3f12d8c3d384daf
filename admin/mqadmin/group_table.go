// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import cli "rocketmq-go/admin/commonscli"

// groupCommands are names, options and descriptions as Java's tool has them.
func groupCommands() []Command {
	return []Command{
		{
			Name: "updateSubGroup", About: "Update or create subscription group.", Run: updateSubGroup,
			Options: []cli.Option{
				cli.Arg("b", "brokerAddr", "create subscription group to which broker"),
				cli.Arg("c", "clusterName", "create subscription group to which cluster"),
				cli.Required("g", "groupName", "consumer group name"),
				cli.Arg("s", "consumeEnable", "consume enable"),
				cli.Arg("m", "consumeFromMinEnable", "from min offset"),
				cli.Arg("d", "consumeBroadcastEnable", "broadcast"),
				cli.Arg("o", "consumeMessageOrderly", "consume message orderly"),
				cli.Arg("q", "retryQueueNums", "retry queue nums"),
				cli.Arg("r", "retryMaxTimes", "retry max times"),
				cli.Arg("p", "groupRetryPolicy", "the json string of retry policy ( exp: {\"type\":\"EXPONENTIAL\",\"exponentialRetryPolicy\":{\"initial\":5000,\"max\":7200000,\"multiplier\":2}} {\"type\":\"CUSTOMIZED\",\"customizedRetryPolicy\":{\"next\":[1000,5000,10000]}} )"),
				cli.Arg("i", "brokerId", "consumer from which broker id"),
				cli.Arg("w", "whichBrokerWhenConsumeSlowly", "which broker id when consume slowly"),
				cli.Arg("a", "notifyConsumerIdsChanged", "notify consumerId changed"),
				cli.Arg("", "attributes", "attribute(+a=b,+c=d,-e)"),
			},
		},
		{
			Name: "updateSubGroupList", About: "Update or create subscription group in batch", Run: updateSubGroupList,
			Options: []cli.Option{
				cli.OneOf(1, "b", "brokerAddr", "create groups to which broker"),
				cli.OneOf(1, "c", "clusterName", "create groups to which cluster"),
				cli.Required("f", "filename", "Path to a file with a list of org.apache.rocketmq.remoting.protocol.subscription.SubscriptionGroupConfig in json format"),
			},
		},
		{
			Name: "setConsumeMode", About: "Set consume message mode. pull/pop etc.", Run: setConsumeMode,
			Options: []cli.Option{
				cli.Arg("b", "brokerAddr", "create subscription group to which broker"),
				cli.Arg("c", "clusterName", "create subscription group to which cluster"),
				cli.Required("t", "topicName", "topic name"),
				cli.Required("g", "groupName", "consumer group name"),
				cli.Required("m", "mode", "consume mode. PULL/POP"),
				cli.Arg("q", "popShareQueueNum", "num of queue which share in pop mode"),
			},
		},
		{
			Name: "deleteSubGroup", About: "Delete subscription group from broker.", Run: deleteSubGroup,
			Options: []cli.Option{
				cli.Arg("b", "brokerAddr", "delete subscription group from which broker"),
				cli.Arg("c", "clusterName", "delete subscription group from which cluster"),
				cli.Required("g", "groupName", "subscription group name"),
				cli.Arg("r", "removeOffset", "remove offset"),
			},
		},
		{
			Name: "getConsumerConfig", About: "Get consumer config by subscription group name.", Run: getConsumerConfig,
			Options: []cli.Option{
				cli.Required("g", "groupName", "subscription group name"),
			},
		},
		{
			Name: "consumerProgress", About: "Query consumer's progress, speed.", Run: consumerProgress,
			Options: []cli.Option{
				cli.Arg("g", "groupName", "consumer group name"),
				cli.Arg("t", "topicName", "topic name"),
				cli.Arg("s", "showClientIP", "Show Client IP per Queue"),
				cli.Arg("c", "cluster", "Cluster name or lmq parent topic, lmq is used to find the route."),
			},
		},
		{
			Name: "consumerStatus", About: "Query consumer's internal data structure.", Run: consumerStatus,
			Options: []cli.Option{
				cli.Required("g", "consumerGroup", "consumer group name"),
				cli.Arg("i", "clientId", "The consumer's client id"),
				cli.Arg("b", "brokerAddr", "broker address"),
				cli.Flag("s", "jstack", "Run jstack command in the consumer progress"),
			},
		},
		{
			Name: "consumerConnection", About: "Query consumer's socket connection, client version and subscription.", Run: consumerConnection,
			Options: []cli.Option{
				cli.Required("g", "consumerGroup", "consumer group name"),
				cli.Arg("b", "brokerAddr", "broker address"),
			},
		},
		{
			Name: "producerConnection", About: "Query producer's socket connection and client version.", Run: producerConnection,
			Options: []cli.Option{
				cli.Required("g", "producerGroup", "producer group name"),
				cli.Required("t", "topic", "topic name"),
			},
		},
		{
			Name: "producer", About: "Query producer's instances, connection, status, etc.", Run: producer,
			Options: []cli.Option{
				cli.Required("b", "broker", "broker address"),
			},
		},
		{Name: "startMonitoring", About: "Start Monitoring.", Run: startMonitoring},
		{
			Name: "cloneGroupOffset", About: "Clone offset from other group.", Run: cloneGroupOffset,
			Options: []cli.Option{
				cli.Required("s", "srcGroup", "set source consumer group"),
				cli.Required("d", "destGroup", "set destination consumer group"),
				cli.Required("t", "topic", "set the topic"),
				cli.Arg("o", "offline", "the group or the topic is offline"),
			},
		},
		{
			Name: "resetOffsetByTime", About: "Reset consumer offset by timestamp(without client restart).", Run: resetOffsetByTime,
			Options: []cli.Option{
				cli.Required("g", "group", "set the consumer group"),
				cli.Required("t", "topic", "set the topic"),
				cli.Required("s", "timestamp", "set the timestamp[now|currentTimeMillis|yyyy-MM-dd#HH:mm:ss:SSS]"),
				cli.Arg("f", "force", "set the force rollback by timestamp switch[true|false]. Deprecated."),
				cli.Arg("c", "cluster", "Cluster name or lmq parent topic, lmq is used to find the route."),
				cli.Arg("b", "broker", "broker addr"),
				cli.Arg("q", "queue", "queue id"),
				cli.Arg("o", "offset", "Expect queue offset, not support old version broker"),
			},
		},
		{
			Name: "skipAccumulatedMessage", About: "Skip all messages that are accumulated (not consumed) currently.", Run: skipAccumulatedMessage,
			Options: []cli.Option{
				cli.Required("g", "group", "set the consumer group"),
				cli.Required("t", "topic", "set the topic"),
				cli.Arg("f", "force", "set the force rollback by timestamp switch[true|false]"),
				cli.Arg("c", "cluster", "Cluster name or lmq parent topic, lmq is used to find the route."),
			},
		},
	}
}

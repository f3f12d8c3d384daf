// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import cli "rocketmq-go/admin/commonscli"

// topicCommands are names, options and descriptions as Java's tool has them.
func topicCommands() []Command {
	return []Command{
		{
			Name: "updateTopic", About: "Update or create topic.", Run: updateTopic,
			Options: []cli.Option{
				cli.OneOf(1, "b", "brokerAddr", "create topic to which broker"),
				cli.OneOf(1, "c", "clusterName", "create topic to which cluster"),
				cli.Arg("a", "attributes", "attribute(+a=b,+c=d,-e)"),
				cli.Required("t", "topic", "topic name"),
				cli.Arg("r", "readQueueNums", "set read queue nums"),
				cli.Arg("w", "writeQueueNums", "set write queue nums"),
				cli.Arg("p", "perm", "set topic's permission(2|4|6), intro[2:W 4:R; 6:RW]"),
				cli.Arg("o", "order", "set topic's order(true|false)"),
				cli.Arg("u", "unit", "is unit topic (true|false)"),
				cli.Arg("s", "hasUnitSub", "has unit sub (true|false)"),
			},
		},
		{
			Name: "updateTopicList", About: "create or update topic in batch", Run: updateTopicList,
			Options: []cli.Option{
				cli.OneOf(1, "b", "brokerAddr", "create topic to which broker"),
				cli.OneOf(1, "c", "clusterName", "create topic to which cluster"),
				cli.Required("f", "filename", "Path to a file with list of org.apache.rocketmq.common.TopicConfig in json format"),
			},
		},
		{
			Name: "deleteTopic", About: "Delete topic from broker and NameServer.", Run: deleteTopic,
			Options: []cli.Option{
				cli.Required("t", "topic", "topic name"),
				cli.Required("c", "clusterName", "delete topic from which cluster"),
			},
		},
		{
			Name: "updateTopicPerm", About: "Update topic perm.", Run: updateTopicPerm,
			Options: []cli.Option{
				cli.Arg("b", "brokerAddr", "create topic to which broker"),
				cli.Arg("c", "clusterName", "create topic to which cluster"),
				cli.Required("t", "topic", "topic name"),
				cli.Required("p", "perm", "set topic's permission(2|4|6), intro[2:W; 4:R; 6:RW]"),
			},
		},
		{
			Name: "topicRoute", About: "Examine topic route info.", Run: topicRoute,
			Options: []cli.Option{
				cli.Required("t", "topic", "topic name"),
				cli.Flag("l", "list", "Use list format to print data"),
			},
		},
		{
			Name: "topicStatus", About: "Examine topic Status info.", Run: topicStatus,
			Options: []cli.Option{
				cli.Required("t", "topic", "topic name"),
				cli.Arg("c", "cluster", "cluster name or lmq parent topic, lmq is used to find the route."),
			},
		},
		{
			Name: "topicClusterList", About: "Get cluster info for topic.", Run: topicClusterList,
			Options: []cli.Option{
				cli.Required("t", "topic", "topic name"),
			},
		},
		{
			Name: "topicList", About: "Fetch all topic list from name server.", Run: topicList,
			Options: []cli.Option{
				cli.Flag("c", "clusterModel", "clusterModel"),
			},
		},
		{
			Name: "updateOrderConf", About: "Create or update or delete order conf.", Run: updateOrderConf,
			Options: []cli.Option{
				cli.Required("t", "topic", "topic name"),
				cli.Arg("v", "orderConf", "set order conf [eg. brokerName1:num;brokerName2:num]"),
				cli.Required("m", "method", "option type [eg. put|get|delete"),
			},
		},
		{
			Name: "allocateMQ", About: "Allocate MQ.", Run: allocateMQ,
			Options: []cli.Option{
				cli.Required("t", "topic", "topic name"),
				cli.Required("i", "ipList", "ipList"),
			},
		},
		{
			Name: "updateStaticTopic", About: "Update or create static topic, which has fixed number of queues.", Run: updateStaticTopic,
			Options: []cli.Option{
				cli.OneOf(1, "c", "clusters", "remapping static topic to clusters, comma separated"),
				cli.OneOf(1, "b", "brokers", "remapping static topic to brokers, comma separated"),
				cli.Required("t", "topic", "topic name"),
				cli.Required("qn", "totalQueueNum", "total queue num"),
				cli.Arg("mf", "mapFile", "The mapping data file name"),
				cli.Arg("fr", "forceReplace", "Force replace the old mapping"),
			},
		},
		{
			Name: "remappingStaticTopic", About: "Remapping static topic.", Run: remappingStaticTopic,
			Options: []cli.Option{
				cli.OneOf(1, "c", "clusters", "remapping static topic to clusters, comma separated"),
				cli.OneOf(1, "b", "brokers", "remapping static topic to brokers, comma separated"),
				cli.Required("t", "topic", "topic name"),
				cli.Arg("mf", "mapFile", "The mapping data file name "),
				cli.Arg("fr", "forceReplace", "Force replace the old mapping"),
			},
		},
	}
}

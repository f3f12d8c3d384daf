// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import cli "rocketmq-go/admin/commonscli"

// messageCommands are names, options and descriptions as Java's tool has them.
func messageCommands() []Command {
	return []Command{
		{
			Name: "queryMsgById", About: "Query Message by Id.", Run: queryMsgById,
			Options: []cli.Option{
				cli.Required("t", "topic", "topic name"),
				cli.Required("i", "msgId", "Message Id"),
				cli.Arg("g", "consumerGroup", "consumer group name"),
				cli.Arg("d", "clientId", "The consumer's client id"),
				cli.Arg("s", "sendMessage", "resend message"),
				cli.Arg("u", "unitName", "unit name"),
				cli.Arg("f", "bodyFormat", "print message body by the specified format"),
				cli.Arg("c", "cluster", "Cluster name or lmq parent topic, lmq is used to find the route."),
			},
		},
		{
			Name: "queryMsgByKey", About: "Query Message by Key.", Run: queryMsgByKey,
			Options: []cli.Option{
				cli.Required("t", "topic", "Topic name"),
				cli.Required("k", "msgKey", "Message Key"),
				cli.Arg("b", "beginTimestamp", "Begin timestamp(ms). default:0, eg:1676730526212"),
				cli.Arg("e", "endTimestamp", "End timestamp(ms). default:Long.MAX_VALUE, eg:1676730526212"),
				cli.Arg("m", "maxNum", "The maximum number of messages returned by the query, default:64"),
				cli.Arg("c", "cluster", "Cluster name or lmq parent topic, lmq is used to find the route."),
			},
		},
		{
			Name: "queryMsgByUniqueKey", About: "Query Message by Unique key.", Run: queryMsgByUniqueKey,
			Options: []cli.Option{
				cli.Required("i", "msgId", "Message Id"),
				cli.Arg("g", "consumerGroup", "consumer group name"),
				cli.Arg("d", "clientId", "The consumer's client id"),
				cli.Required("t", "topic", "The topic of msg"),
				cli.Flag("a", "showAll", "Print all message, the limit is 32"),
				cli.Arg("c", "cluster", "Cluster name or lmq parent topic, lmq is used to find the route."),
			},
		},
		{
			Name: "queryMsgByOffset", About: "Query Message by offset.", Run: queryMsgByOffset,
			Options: []cli.Option{
				cli.Required("t", "topic", "topic name"),
				cli.Required("b", "brokerName", "Broker Name"),
				cli.Required("i", "queueId", "Queue Id"),
				cli.Required("o", "offset", "Queue Offset"),
				cli.Arg("f", "bodyFormat", "print message body by the specified format"),
			},
		},
		{
			Name: "queryMsgTraceById", About: "Query a message trace.", Run: queryMsgTraceById, Alias: "QueryMsgTraceById",
			Options: []cli.Option{
				cli.Required("i", "msgId", "Message Id"),
				cli.Arg("t", "traceTopic", "The name value of message trace topic"),
				cli.Arg("b", "beginTimestamp", "Begin timestamp(ms). default:0, eg:1676730526212"),
				cli.Arg("e", "endTimestamp", "End timestamp(ms). default:Long.MAX_VALUE, eg:1676730526212"),
				cli.Arg("c", "maxNum", "The maximum number of messages returned by the query, default:64"),
			},
		},
		{
			Name: "printMsg", About: "Print Message Detail.", Run: printMsg,
			Options: []cli.Option{
				cli.Required("t", "topic", "topic name"),
				cli.Arg("c", "charsetName ", "CharsetName(eg: UTF-8,GBK)"),
				cli.Arg("s", "subExpression ", "Subscribe Expression(eg: TagA || TagB)"),
				cli.Arg("b", "beginTimestamp ", "Begin timestamp[currentTimeMillis|yyyy-MM-dd#HH:mm:ss:SSS]"),
				cli.Arg("e", "endTimestamp ", "End timestamp[currentTimeMillis|yyyy-MM-dd#HH:mm:ss:SSS]"),
				cli.Arg("d", "printBody ", "print body"),
				cli.Arg("l", "lmqParentTopic", "Lmq parent topic, lmq is used to find the route."),
			},
		},
		{
			Name: "printMsgByQueue", About: "Print Message Detail by queueId.", Run: printMsgByQueue,
			Options: []cli.Option{
				cli.Required("t", "topic", "topic name"),
				cli.Required("a", "brokerName ", "broker name"),
				cli.Required("i", "queueId ", "queue id"),
				cli.Arg("c", "charsetName ", "CharsetName(eg: UTF-8,GBK)"),
				cli.Arg("s", "subExpression ", "Subscribe Expression(eg: TagA || TagB)"),
				cli.Arg("b", "beginTimestamp ", "Begin timestamp[currentTimeMillis|yyyy-MM-dd#HH:mm:ss:SSS]"),
				cli.Arg("e", "endTimestamp ", "End timestamp[currentTimeMillis|yyyy-MM-dd#HH:mm:ss:SSS]"),
				cli.Arg("p", "print msg", "print msg. eg: true | false(default)"),
				cli.Arg("d", "printBody ", "print body. eg: true | false(default)"),
				cli.Arg("f", "calculate", "calculate by tag. eg: true | false(default)"),
			},
		},
		{
			Name: "sendMessage", About: "Send a message.", Run: sendMessage,
			Options: []cli.Option{
				cli.Required("t", "topic", "Topic name"),
				cli.Required("p", "body", "UTF-8 string format of the message body"),
				cli.Arg("k", "key", "Message keys"),
				cli.Arg("c", "tags", "Message tags"),
				cli.Arg("b", "broker", "Send message to target broker"),
				cli.Arg("i", "qid", "Send message to target queue"),
				cli.Arg("m", "msgTraceEnable", "Message Trace Enable, Default: false"),
			},
		},
		{
			Name: "consumeMessage", About: "Consume message.", Run: consumeMessage,
			Options: []cli.Option{
				cli.Required("t", "topic", "Topic name"),
				cli.Arg("b", "brokerName", "Broker name"),
				cli.Arg("i", "queueId", "Queue Id"),
				cli.Arg("o", "offset", "Queue offset"),
				cli.Arg("g", "consumerGroup", "Consumer group name"),
				cli.Arg("s", "beginTimestamp ", "Begin timestamp[currentTimeMillis|yyyy-MM-dd#HH:mm:ss:SSS]"),
				cli.Arg("e", "endTimestamp ", "End timestamp[currentTimeMillis|yyyy-MM-dd#HH:mm:ss:SSS]"),
				cli.Arg("c", "MessageNumber", "Number of message to be consumed"),
			},
		},
		{
			Name: "queryCq", About: "Query cq command.", Run: queryCq,
			Options: []cli.Option{
				cli.Required("t", "topic", "topic name"),
				cli.Required("q", "queue", "queue num, ie. 1"),
				cli.Required("i", "index", "start queue index."),
				cli.Arg("c", "count", "how many."),
				cli.Arg("b", "broker", "broker addr."),
				cli.Arg("g", "consumer", "consumer group."),
			},
		},
		{
			Name: "dumpCompactionLog", About: "Parse compaction log to message.", Run: dumpCompactionLog,
			Options: []cli.Option{
				cli.Arg("f", "file", "to dump file name"),
			},
		},
	}
}

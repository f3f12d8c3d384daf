// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import cli "rocketmq-go/admin/commonscli"

// clusterCommands are names, options and descriptions as Java's tool has them.
func clusterCommands() []Command {
	return []Command{
		{
			Name: "clusterList", About: "List cluster infos.", Run: clusterList,
			Options: []cli.Option{
				cli.Flag("m", "moreStats", "Print more stats"),
				cli.Arg("i", "interval", "specify intervals numbers, it is in seconds"),
				cli.Arg("c", "clusterName", "which cluster"),
			},
		},
		{
			Name: "clusterRT", About: "List All clusters Message Send RT.", Run: clusterRT,
			Options: []cli.Option{
				cli.Arg("a", "amount", "message amount | default 100"),
				cli.Arg("s", "size", "message size | default 128 Byte"),
				cli.Arg("c", "cluster", "cluster name | default display all cluster"),
				cli.Arg("p", "print log", "print as tlog | default false"),
				cli.Arg("m", "machine room", "machine room name | default noname"),
				cli.Arg("i", "interval", "print interval | default 10 seconds"),
			},
		},
		{
			Name: "checkMsgSendRT", About: "Check message send response time.", Run: checkMsgSendRT,
			Options: []cli.Option{
				cli.Required("t", "topic", "topic name"),
				cli.Arg("a", "amount", "message amount | default 100"),
				cli.Arg("s", "size", "message size | default 128 Byte"),
			},
		},
		{
			Name: "statsAll", About: "Topic and Consumer tps stats.", Run: statsAll,
			Options: []cli.Option{
				cli.Flag("a", "activeTopic", "print active topic only"),
				cli.Arg("t", "topic", "print select topic only"),
			},
		},
		{
			Name: "updateKvConfig", About: "Create or update KV config.", Run: updateKvConfig,
			Options: []cli.Option{
				cli.Required("s", "namespace", "set the namespace"),
				cli.Required("k", "key", "set the key name"),
				cli.Required("v", "value", "set the key value"),
			},
		},
		{
			Name: "deleteKvConfig", About: "Delete KV config.", Run: deleteKvConfig,
			Options: []cli.Option{
				cli.Required("s", "namespace", "set the namespace"),
				cli.Required("k", "key", "set the key name"),
			},
		},
		{
			Name: "wipeWritePerm", About: "Wipe write perm of broker in all name server you defined in the -n param.", Run: wipeWritePerm,
			Options: []cli.Option{
				cli.Required("b", "brokerName", "broker name"),
			},
		},
		{
			Name: "addWritePerm", About: "Add write perm of broker in all name server you defined in the -n param.", Run: addWritePerm,
			Options: []cli.Option{
				cli.Required("b", "brokerName", "broker name"),
			},
		},
		{Name: "getNamesrvConfig", About: "Get configs of name server.", Run: getNamesrvConfig},
		{
			Name: "updateNamesrvConfig", About: "Update configs of name server.", Run: updateNamesrvConfig,
			Options: []cli.Option{
				cli.Required("k", "key", "config key"),
				cli.Required("v", "value", "config value"),
			},
		},
	}
}

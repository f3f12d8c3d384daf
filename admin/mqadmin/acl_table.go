// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import cli "rocketmq-go/admin/commonscli"

// aclCommands are names, options and descriptions as Java's tool has them.
func aclCommands() []Command {
	return []Command{
		{
			Name: "updateAclConfig", About: "Update acl config yaml file in broker", Run: updateAclConfig, Only4: true,
			Options: []cli.Option{
				cli.Required("a", "accessKey", "set accessKey in acl config file"),
				cli.OneOf(1, "b", "brokerAddr", "update acl config file to which broker"),
				cli.OneOf(1, "c", "clusterName", "update acl config file to which cluster"),
				cli.Required("s", "secretKey", "set secretKey in acl config file"),
				cli.Arg("t", "topicPerms", "set topicPerms list,eg: topicA=DENY,topicD=SUB"),
				cli.Arg("u", "defaultGroupPerm", "set default GroupPerm in acl config file"),
				cli.Arg("w", "whiteRemoteAddress", "set white ip Address for account in acl config file"),
				cli.Arg("g", "groupPerms", "set groupPerms list,eg: groupD=DENY,groupD=SUB"),
				cli.Arg("i", "defaultTopicPerm", "set default topicPerm in acl config file"),
				cli.Arg("m", "admin", "set admin flag in acl config file"),
			},
		},
		{
			Name: "deleteAclConfig", About: "Delete Acl Config Account in broker", Run: deleteAclConfig, Alias: "deleteAccessConfig", Only4: true,
			Options: []cli.Option{
				cli.Required("a", "accessKey", "set accessKey in acl config file for deleting which account"),
				cli.OneOf(1, "b", "brokerAddr", "delete acl config account from which broker"),
				cli.OneOf(1, "c", "clusterName", "delete acl config account from which cluster"),
			},
		},
		{
			Name: "clusterAclConfigVersion", About: "List all of acl config version information in cluster", Run: clusterAclConfigVersion, Only4: true,
			Options: []cli.Option{
				cli.OneOf(1, "b", "brokerAddr", "query acl config version for which broker"),
				cli.OneOf(1, "c", "clusterName", "query acl config version for specified cluster"),
			},
		},
		{
			Name: "updateGlobalWhiteAddr", About: "Update global white address for acl Config File in broker", Run: updateGlobalWhiteAddr, Only4: true,
			Options: []cli.Option{
				cli.Arg("p", "aclFileFullPath", "update global white address of specified acl file,eg: /xxx/plain_test.yml"),
				cli.OneOf(1, "b", "brokerAddr", "update global white address to which broker"),
				cli.OneOf(1, "c", "clusterName", "update global white address to which cluster"),
				cli.Required("g", "globalWhiteRemoteAddresses", "set globalWhiteRemoteAddress list,eg: 10.10.103.*,192.168.0.*"),
			},
		},
		{
			Name: "getAclConfig", About: "List all of acl config information in cluster", Run: getAclConfig, Alias: "getAccessConfigSubCommand", Only4: true,
			Options: []cli.Option{
				cli.OneOf(1, "b", "brokerAddr", "query acl config version for which broker"),
				cli.OneOf(1, "c", "clusterName", "query acl config version for specified cluster"),
			},
		},
	}
}

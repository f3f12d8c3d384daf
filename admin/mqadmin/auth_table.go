// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import cli "rocketmq-go/admin/commonscli"

// authCommands are names, options and descriptions as Java's tool has them.
func authCommands() []Command {
	return []Command{
		{
			Name: "createUser", About: "Create user to cluster.", Run: createUser,
			Options: []cli.Option{
				cli.OneOf(1, "c", "clusterName", "create user to which cluster"),
				cli.OneOf(1, "b", "brokerAddr", "create user to which broker"),
				cli.Required("u", "username", "the username of user to create."),
				cli.Required("p", "password", "the password of user to create"),
				cli.Arg("t", "userType", "the userType of user to create"),
			},
		},
		{
			Name: "updateUser", About: "Update user to cluster.", Run: updateUser,
			Options: []cli.Option{
				cli.OneOf(1, "c", "clusterName", "update user to which cluster"),
				cli.OneOf(1, "b", "brokerAddr", "update user to which broker"),
				cli.Required("u", "username", "the username of user to update."),
				cli.OneOf(2, "p", "password", "the password of user to update"),
				cli.OneOf(2, "t", "userType", "the userType of user to update"),
				cli.OneOf(2, "s", "userStatus", "the userStatus of user to update"),
			},
		},
		{
			Name: "deleteUser", About: "Delete user from cluster.", Run: deleteUser,
			Options: []cli.Option{
				cli.OneOf(1, "c", "clusterName", "delete acl from which cluster"),
				cli.OneOf(1, "b", "brokerAddr", "delete user from which broker"),
				cli.Required("u", "username", "the username of user to delete."),
			},
		},
		{
			Name: "getUser", About: "Get user from cluster.", Run: getUser,
			Options: []cli.Option{
				cli.OneOf(1, "b", "brokerAddr", "get user for which broker"),
				cli.OneOf(1, "c", "clusterName", "get user for specified cluster"),
				cli.Arg("u", "username", "the username of user to get"),
			},
		},
		{
			Name: "listUser", About: "List user from cluster.", Run: listUser,
			Options: []cli.Option{
				cli.OneOf(1, "b", "brokerAddr", "list user for which broker"),
				cli.OneOf(1, "c", "clusterName", "list user for specified cluster"),
				cli.Arg("f", "filter", "the filter to list users"),
			},
		},
		{
			Name: "copyUser", About: "Copy user to cluster.", Run: copyUser,
			Options: []cli.Option{
				cli.Required("f", "fromBroker", "the source broker that the users copy from"),
				cli.Required("t", "toBroker", "the target broker that the users copy to"),
				cli.Arg("u", "usernames", "the username list of user to copy."),
			},
		},
		{
			Name: "createAcl", About: "Create acl to cluster.", Run: createAcl,
			Options: []cli.Option{
				cli.OneOf(1, "c", "clusterName", "create acl to which cluster"),
				cli.OneOf(1, "b", "brokerAddr", "create acl to which broker"),
				cli.Required("s", "subject", "the subject of acl to create."),
				cli.Required("r", "resources", "the resources of acl to create"),
				cli.Required("a", "actions", "the actions of acl to create"),
				cli.Arg("i", "sourceIp", "the sourceIps of acl to create"),
				cli.Required("d", "decision", "the decision of acl to create"),
			},
		},
		{
			Name: "updateAcl", About: "Update acl to cluster.", Run: updateAcl,
			Options: []cli.Option{
				cli.OneOf(1, "c", "clusterName", "update acl to which cluster"),
				cli.OneOf(1, "b", "brokerAddr", "update acl to which broker"),
				cli.Required("s", "subject", "the subject of acl to update."),
				cli.Required("r", "resources", "the resources of acl to update"),
				cli.Required("a", "actions", "the actions of acl to update"),
				cli.Required("d", "decision", "the decision of acl to update"),
				cli.Arg("i", "sourceIp", "the sourceIps of acl to update"),
			},
		},
		{
			Name: "deleteAcl", About: "Delete acl from cluster.", Run: deleteAcl,
			Options: []cli.Option{
				cli.OneOf(1, "c", "clusterName", "delete acl from which cluster"),
				cli.OneOf(1, "b", "brokerAddr", "delete acl from which broker"),
				cli.Required("s", "subject", "the subject of acl to delete."),
				cli.Arg("r", "resources", "the resources of acl to delete"),
			},
		},
		{
			Name: "getAcl", About: "Get acl from cluster.", Run: getAcl,
			Options: []cli.Option{
				cli.OneOf(1, "b", "brokerAddr", "get acl for which broker"),
				cli.OneOf(1, "c", "clusterName", "get acl for specified cluster"),
				cli.Arg("s", "subject", "the subject of acl to get"),
			},
		},
		{
			Name: "listAcl", About: "List acl from cluster.", Run: listAcl,
			Options: []cli.Option{
				cli.OneOf(1, "b", "brokerAddr", "list acl for which broker."),
				cli.OneOf(1, "c", "clusterName", "list acl for specified cluster."),
				cli.Arg("s", "subject", "the subject of acl to filter."),
				cli.Arg("r", "resource", "the resource of acl to filter."),
			},
		},
		{
			Name: "copyAcl", About: "Copy acl to cluster.", Run: copyAcl,
			Options: []cli.Option{
				cli.Required("f", "fromBroker", "the source broker that the acls copy from"),
				cli.Required("t", "toBroker", "the target broker that the acls copy to"),
				cli.Arg("s", "subjects", "the subject list of acl to copy."),
			},
		},
	}
}

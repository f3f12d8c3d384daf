// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import cli "rocketmq-go/admin/commonscli"

// haCommands are names, options and descriptions as Java's tool has them.
func haCommands() []Command {
	return []Command{
		{
			Name: "haStatus", About: "Fetch ha runtime status data.", Run: haStatus,
			Options: []cli.Option{
				cli.Arg("c", "clusterName", "which cluster"),
				cli.Arg("b", "brokerAddr", "which broker to fetch"),
				cli.Arg("i", "interval", "the interval(second) of get info"),
			},
		},
		{
			Name: "getSyncStateSet", About: "Fetch syncStateSet for target brokers.", Run: getSyncStateSet,
			Options: []cli.Option{
				cli.Required("a", "controllerAddress", "the address of controller"),
				cli.Arg("c", "clusterName", "which cluster"),
				cli.Arg("b", "brokerName", "which broker to fetch"),
				cli.Arg("i", "interval", "the interval(second) of get info"),
			},
		},
		{
			Name: "getBrokerEpoch", About: "Fetch broker epoch entries.", Run: getBrokerEpoch,
			Options: []cli.Option{
				cli.Arg("c", "clusterName", "which cluster"),
				cli.Arg("b", "brokerName", "which broker to fetch"),
				cli.Arg("i", "interval", "the interval(second) of get info"),
			},
		},
		{
			Name: "getControllerMetaData", About: "Get controller cluster's metadata.", Run: getControllerMetaData,
			Options: []cli.Option{
				cli.Required("a", "controllerAddress", "the address of controller"),
			},
		},
		{
			Name: "getControllerConfig", About: "Get controller config.", Run: getControllerConfig,
			Options: []cli.Option{
				cli.Required("a", "controllerAddress", "Controller address list, eg: 192.168.0.1:9878;192.168.0.2:9878"),
			},
		},
		{
			Name: "updateControllerConfig", About: "Update controller config.", Run: updateControllerConfig,
			Options: []cli.Option{
				cli.Required("a", "controllerAddress", "Controller address list, eg: 192.168.0.1:9878;192.168.0.2:9878"),
				cli.Required("k", "key", "config key"),
				cli.Required("v", "value", "config value"),
			},
		},
		{
			Name: "electMaster", About: "Re-elect the specified broker as master.", Run: electMaster,
			Options: []cli.Option{
				cli.Required("a", "controllerAddress", "The address of controller"),
				cli.Required("b", "brokerId", "The id of the broker which requires to become master"),
				cli.Required("bn", "brokerName", "The broker name of the replicas that require to be manipulated"),
				cli.Required("c", "clusterName", "the clusterName of broker"),
			},
		},
		{
			Name: "cleanBrokerMetadata", About: "Clean metadata of broker on controller.", Run: cleanBrokerMetadata,
			Options: []cli.Option{
				cli.Required("a", "controllerAddress", "The address of controller"),
				cli.Arg("b", "brokerControllerIdsToClean", "The brokerController id list which requires to clean metadata. eg: 1;2;3, means that clean broker-1, broker-2 and broker-3"),
				cli.Required("bn", "brokerName", "The broker name of the replicas that require to be manipulated"),
				cli.Arg("c", "clusterName", "The clusterName of broker"),
				cli.Flag("l", "cleanLivingBroker", "Whether clean up living brokers,default value is false"),
			},
		},
	}
}

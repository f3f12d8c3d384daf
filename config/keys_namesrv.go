// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

// NamesrvConfig holds the keys that steer the name server itself.
type NamesrvConfig struct {
	// Directory of the installation.
	RocketmqHome string `def:"null" none:"nothing below it is needed; bin/ finds its files itself" sys:"rocketmq.home.dir" env:"ROCKETMQ_HOME" mark:"rp"`
	// KV configuration, JSON; written at each change.
	KvConfigPath string `def:"$home/namesrv/kvConfig.json" mark:"rp"`
	// File that hot update rewrites; -c replaces it.
	ConfigStorePath string `def:"$home/namesrv/namesrv.properties" mark:"rp"`
	ProductEnvName  string `def:"center" none:"unused in Java too"`
	// Unknown topics are looked up through the test cluster's name server.
	ClusterTest bool `def:"false" mark:"r"`
	// Route answers carry the order configuration of the topic.
	OrderMessageEnable bool `def:"false"`
	// Answers to registrations carry the table of order configurations.
	ReturnOrderTopicConfigToBroker       bool `def:"true" v4:"!"`
	ClientRequestThreadPoolNums          int  `def:"8" v4:"!" none:"there are no thread pools per kind of request here" mark:"r"`
	DefaultThreadPoolNums                int  `def:"16" v4:"!" none:"there are no thread pools per kind of request here" mark:"r"`
	ClientRequestThreadPoolQueueCapacity int  `def:"50000" v4:"!" none:"requests of this kind do not queue here; maxRequestsPerConnection bounds what is in flight" mark:"r"`
	DefaultThreadPoolQueueCapacity       int  `def:"10000" v4:"!" none:"requests of this kind do not queue here; maxRequestsPerConnection bounds what is in flight" mark:"r"`
	// ms between two looks for silent brokers.
	ScanNotActiveBrokerInterval   int64 `def:"5000" v4:"!"`
	UnRegisterBrokerQueueCapacity int   `def:"3000" v4:"!" none:"requests of this kind do not queue here; maxRequestsPerConnection bounds what is in flight" mark:"r"`
	// Answers a route with the smallest slave as brokerId 0.
	SupportActingMaster bool `def:"false" v4:"!"`
	// GET_ALL_TOPIC_LIST_FROM_NAMESERVER(206) is answered; otherwise SYSTEM_ERROR(1) disable.
	EnableAllTopicList bool `def:"true" v4:"!"`
	// The other lists of topics (224, 304, 311, 312, 313) are answered.
	EnableTopicList bool `def:"true" v4:"!"`
	// Send NOTIFY_MIN_BROKER_ID_CHANGE(905).
	NotifyMinBrokerIdChanged bool `def:"false" v4:"!"`
	// Starts a controller in the same process, with the keys of ControllerConfig in the same file.
	EnableControllerInNamesrv bool `def:"false" v4:"!" mark:"r"`
	// Route queries are refused for WaitSecondsForService after the start.
	NeedWaitForService    bool `def:"false" v4:"!"`
	WaitSecondsForService int  `def:"45" v4:"!"`
	// Topics missing in a registration leave the route.
	DeleteTopicWithBrokerRegistration bool `def:"false" v4:"!"`
	// Keys, separated by semicolons, that hot update refuses besides those it always refuses. Read at start.
	ConfigBlackList string `def:"configBlackList;configStorePath;kvConfigPath" v4:"!" mark:"r"`
}

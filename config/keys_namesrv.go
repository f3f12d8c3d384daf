// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

// NamesrvConfig holds the keys that steer the name server itself.
type NamesrvConfig struct {
	// Directory of the installation.
	RocketmqHome string `def:"null" sys:"rocketmq.home.dir" env:"ROCKETMQ_HOME" mark:"rp"`
	// JSON {"configTable":{namespace:{key:value}}}, written on each PUT/DELETE_KV_CONFIG.
	KvConfigPath string `def:"$home/namesrv/kvConfig.json" mark:"rp"`
	// File that UPDATE_NAMESRV_CONFIG/UPDATE_CONTROLLER_CONFIG rewrites. With -c FILE set to FILE.
	ConfigStorePath string `def:"$home/namesrv/namesrv.properties" mark:"rp"`
	ProductEnvName  string `def:"center" none:"first part of the product environment name, unused by default"`
	// Unknown topics are looked up through the test cluster name server.
	ClusterTest bool `def:"false"`
	// Route answers carry orderTopicConf from KV namespace ORDER_TOPIC_CONFIG.
	OrderMessageEnable bool `def:"false"`
	// Register answer carries the ORDER_TOPIC_CONFIG table as body.
	ReturnOrderTopicConfigToBroker bool `def:"true" v4:"!"`
	ClientRequestThreadPoolNums    int  `def:"8" v4:"!" none:"size of a Java thread pool; in Go at most a concurrency limit" mark:"r"`
	DefaultThreadPoolNums          int  `def:"16" v4:"!" none:"size of a Java thread pool; in Go at most a concurrency limit" mark:"r"`
	// Capacity of the queue of that pool; the first six are shown by brokerStatus; a full queue answers SYSTEM_BUSY(2)
	// [OVERLOAD]system busy, start flow control for a while.
	ClientRequestThreadPoolQueueCapacity int `def:"50000" v4:"!" mark:"r"`
	// Capacity of the queue of that pool; the first six are shown by brokerStatus; a full queue answers SYSTEM_BUSY(2)
	// [OVERLOAD]system busy, start flow control for a while.
	DefaultThreadPoolQueueCapacity int `def:"10000" v4:"!" mark:"r"`
	// ms between scans for silent brokers (120 s default timeout per broker)
	ScanNotActiveBrokerInterval   int64 `def:"5000" v4:"!"`
	UnRegisterBrokerQueueCapacity int   `def:"3000" v4:"!" none:"internal tuning of the Java server" mark:"r"`
	// Answers a route with the smallest slave as brokerId 0.
	SupportActingMaster bool `def:"false" v4:"!" later:"slave acting master"`
	// GET_ALL_TOPIC_LIST_FROM_NAMESERVER(206) allowed; else SYSTEM_ERROR disable.
	EnableAllTopicList bool `def:"true" v4:"!"`
	// The other topic lists (224,304,311-313); else SYSTEM_ERROR disable.
	EnableTopicList bool `def:"true" v4:"!"`
	// Sends NOTIFY_MIN_BROKER_ID_CHANGE(905)
	NotifyMinBrokerIdChanged bool `def:"false" v4:"!" later:"slave acting master"`
	// Starts a controller in the same process.
	EnableControllerInNamesrv bool `def:"false" v4:"!" later:"controller mode"`
	// Route queries answer SYSTEM_ERROR name server not ready for waitSecondsForService after start.
	NeedWaitForService    bool `def:"false" v4:"!" later:"waiting before service"`
	WaitSecondsForService int  `def:"45" v4:"!" later:"waiting before service"`
	// Topics missing in a registration are removed from the route.
	DeleteTopicWithBrokerRegistration bool `def:"false" v4:"!" later:"split registration"`
	// -separated keys that hot update refuses, in addition to brokerConfigPath, rocketmqHome, configBlackList.
	ConfigBlackList string `def:"configBlackList;configStorePath;kvConfigPath" v4:"!" mark:"r"`
}

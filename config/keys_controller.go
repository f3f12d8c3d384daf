// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

// ControllerConfig holds the keys of the controller of 5.x.
type ControllerConfig struct {
	// Directory of the installation.
	RocketmqHome string `def:"null" v4:"!" sys:"rocketmq.home.dir" env:"ROCKETMQ_HOME" later:"a feature of 5.x" mark:"rp"`
	// File that UPDATE_NAMESRV_CONFIG/UPDATE_CONTROLLER_CONFIG rewrites. With -c FILE set to FILE.
	ConfigStorePath string `def:"$home/controller/controller.properties" v4:"!" later:"a feature of 5.x" mark:"rp"`
	// DLedger or jRaft.
	ControllerType string `def:"DLedger" v4:"!" later:"controller mode"`
	// ms between scans for silent brokers (120 s default timeout per broker)
	ScanNotActiveBrokerInterval int64 `def:"5000" v4:"!" later:"slave acting master"`
	ControllerThreadPoolNums    int   `def:"16" v4:"!" none:"size of a Java thread pool; in Go at most a concurrency limit" mark:"r"`
	// Capacity of the queue of that pool; the first six are shown by brokerStatus; a full queue answers SYSTEM_BUSY(2)
	// [OVERLOAD]system busy, start flow control for a while.
	ControllerRequestThreadPoolQueueCapacity int `def:"50000" v4:"!" later:"controller mode" mark:"r"`
	// Raft group.
	ControllerDLegerGroup string `def:"null" v4:"!" later:"controller mode"`
	// N0-host:port;….
	ControllerDLegerPeers  string `def:"null" v4:"!" later:"controller mode"`
	ControllerDLegerSelfID string `def:"null" v4:"!" later:"controller mode"`
	// Controller mode.
	MappedFileSize int `def:"1073741824" v4:"!" later:"controller mode" mark:"r"`
	// Empty = $user.home/DledgerController or JraftController.
	ControllerStorePath string `def:"" v4:"!" later:"controller mode" mark:"rp"`
	// Controller mode.
	ElectMasterMaxRetryCount int  `def:"3" v4:"!" later:"controller mode"`
	EnableElectUncleanMaster bool `def:"false" v4:"!" later:"controller mode"`
	// Set by key processReadEvent.
	IsProcessReadEvent bool `def:"false" v4:"!" later:"a feature of 5.x"`
	// Controller mode.
	NotifyBrokerRoleChanged bool `def:"true" v4:"!" later:"controller mode"`
	// Controller mode.
	ScanInactiveMasterInterval int64 `def:"5000" v4:"!" later:"controller mode"`
	// DISABLE(0) OTLP_GRPC(1) PROM(2) LOG(3); name or number.
	MetricsExporterType                  MetricsExporterType `def:"DISABLE" v4:"!" later:"metrics"`
	MetricsGrpcExporterTarget            string              `def:"" v4:"!" later:"metrics"`
	MetricsGrpcExporterHeader            string              `def:"" v4:"!" later:"metrics"`
	MetricGrpcExporterTimeOutInMills     int64               `def:"3000" v4:"!" later:"metrics"`
	MetricGrpcExporterIntervalInMills    int64               `def:"60000" v4:"!" later:"metrics"`
	MetricLoggingExporterIntervalInMills int64               `def:"10000" v4:"!" later:"metrics"`
	MetricsPromExporterPort              int                 `def:"5557" v4:"!" later:"metrics"`
	// Empty = all addresses.
	MetricsPromExporterHost string `def:"" v4:"!" later:"metrics"`
	// K:v,k:v added to every metric.
	MetricsLabel   string `def:"" v4:"!" later:"metrics"`
	MetricsInDelta bool   `def:"false" v4:"!" later:"metrics"`
	// -separated keys that hot update refuses, in addition to brokerConfigPath, rocketmqHome, configBlackList.
	ConfigBlackList string `def:"configBlackList;configStorePath" v4:"!" later:"POP consumption" mark:"r"`
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

// ControllerConfig holds the keys of the controller of 5.x.
type ControllerConfig struct {
	// Directory of the installation.
	RocketmqHome string `def:"null" v4:"!" sys:"rocketmq.home.dir" env:"ROCKETMQ_HOME" later:"controller mode" mark:"rp"`
	// File that hot update rewrites; -c replaces it.
	ConfigStorePath string `def:"$home/controller/controller.properties" v4:"!" later:"controller mode" mark:"rp"`
	// DLedger or jRaft.
	ControllerType string `def:"DLedger" v4:"!" later:"controller mode"`
	// ms between two looks for silent brokers.
	ScanNotActiveBrokerInterval int64 `def:"5000" v4:"!" later:"controller mode"`
	ControllerThreadPoolNums    int   `def:"16" v4:"!" none:"there are no thread pools per kind of request here" mark:"r"`
	// Capacity of the queue of that pool; the first six are shown by brokerStatus; a full queue answers SYSTEM_BUSY(2)
	// [OVERLOAD]system busy, start flow control for a while.
	ControllerRequestThreadPoolQueueCapacity int    `def:"50000" v4:"!" later:"controller mode" mark:"r"`
	ControllerDLegerGroup                    string `def:"null" v4:"!" later:"controller mode"`
	// n0-host:port;n1-host:port;…
	ControllerDLegerPeers      string `def:"null" v4:"!" later:"controller mode"`
	ControllerDLegerSelfID     string `def:"null" v4:"!" later:"controller mode"`
	MappedFileSize             int    `def:"1073741824" v4:"!" later:"controller mode" mark:"r"`
	ControllerStorePath        string `def:"" v4:"!" later:"controller mode" mark:"rp"`
	ElectMasterMaxRetryCount   int    `def:"3" v4:"!" later:"controller mode"`
	EnableElectUncleanMaster   bool   `def:"false" v4:"!" later:"controller mode"`
	IsProcessReadEvent         bool   `def:"false" v4:"!" later:"controller mode" set:"processReadEvent"`
	NotifyBrokerRoleChanged    bool   `def:"true" v4:"!" later:"controller mode"`
	ScanInactiveMasterInterval int64  `def:"5000" v4:"!" later:"controller mode"`
	// Name or number; see the type.
	MetricsExporterType                  MetricsExporterType `def:"DISABLE" v4:"!" later:"controller mode"`
	MetricsGrpcExporterTarget            string              `def:"" v4:"!" later:"controller mode"`
	MetricsGrpcExporterHeader            string              `def:"" v4:"!" later:"controller mode"`
	MetricGrpcExporterTimeOutInMills     int64               `def:"3000" v4:"!" later:"controller mode"`
	MetricGrpcExporterIntervalInMills    int64               `def:"60000" v4:"!" later:"controller mode"`
	MetricLoggingExporterIntervalInMills int64               `def:"10000" v4:"!" later:"controller mode"`
	MetricsPromExporterPort              int                 `def:"5557" v4:"!" later:"controller mode"`
	// Empty = all addresses.
	MetricsPromExporterHost string `def:"" v4:"!" later:"controller mode"`
	// Added to every metric: k:v,k:v.
	MetricsLabel   string `def:"" v4:"!" later:"controller mode"`
	MetricsInDelta bool   `def:"false" v4:"!" later:"controller mode"`
	// Keys, separated by semicolons, that hot update refuses besides those it always refuses. Read at start.
	ConfigBlackList string `def:"configBlackList;configStorePath" v4:"!" later:"controller mode" mark:"r"`
}

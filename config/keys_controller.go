// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

// ControllerConfig holds the keys that steer the controller itself (5.x).
type ControllerConfig struct {
	// Directory of the installation.
	RocketmqHome string `def:"null" v4:"!" sys:"rocketmq.home.dir" env:"ROCKETMQ_HOME" none:"nothing below it is needed; bin/ finds its files itself" mark:"rp"`
	// File that hot update rewrites; -c replaces it.
	ConfigStorePath string `def:"$home/controller/controller.properties" v4:"!" mark:"rp"`
	// DLedger or jRaft.
	ControllerType string `def:"DLedger" v4:"!" mark:"r"`
	// ms between two looks for silent brokers.
	ScanNotActiveBrokerInterval int64 `def:"5000" v4:"!"`
	ControllerThreadPoolNums    int   `def:"16" v4:"!" none:"there are no thread pools per kind of request here" mark:"r"`
	// Capacity of the queue of that pool; the first six are shown by brokerStatus; a full queue answers SYSTEM_BUSY(2)
	// [OVERLOAD]system busy, start flow control for a while.
	ControllerRequestThreadPoolQueueCapacity int    `def:"50000" v4:"!" none:"requests of this kind do not queue here; maxRequestsPerConnection bounds what is in flight" mark:"r"`
	ControllerDLegerGroup                    string `def:"null" v4:"!" mark:"r"`
	// n0-host:port;n1-host:port;…
	ControllerDLegerPeers  string `def:"null" v4:"!" mark:"r"`
	ControllerDLegerSelfID string `def:"null" v4:"!" mark:"r"`
	MappedFileSize         int    `def:"1073741824" v4:"!" none:"what the controllers agree on is one small file" mark:"r"`
	// Where the agreed state is; empty: DledgerController in the home directory.
	ControllerStorePath        string `def:"" v4:"!" mark:"rp"`
	ElectMasterMaxRetryCount   int    `def:"3" v4:"!"`
	EnableElectUncleanMaster   bool   `def:"false" v4:"!"`
	IsProcessReadEvent         bool   `def:"false" v4:"!" set:"processReadEvent"`
	NotifyBrokerRoleChanged    bool   `def:"true" v4:"!"`
	ScanInactiveMasterInterval int64  `def:"5000" v4:"!"`
	// Name or number; see the type.
	MetricsExporterType                  MetricsExporterType `def:"DISABLE" v4:"!" none:"a controller has no metrics of its own"`
	MetricsGrpcExporterTarget            string              `def:"" v4:"!" none:"a controller has no metrics of its own"`
	MetricsGrpcExporterHeader            string              `def:"" v4:"!" none:"a controller has no metrics of its own"`
	MetricGrpcExporterTimeOutInMills     int64               `def:"3000" v4:"!" none:"a controller has no metrics of its own"`
	MetricGrpcExporterIntervalInMills    int64               `def:"60000" v4:"!" none:"a controller has no metrics of its own"`
	MetricLoggingExporterIntervalInMills int64               `def:"10000" v4:"!" none:"a controller has no metrics of its own"`
	MetricsPromExporterPort              int                 `def:"5557" v4:"!" none:"a controller has no metrics of its own"`
	// Empty = all addresses.
	MetricsPromExporterHost string `def:"" v4:"!" none:"a controller has no metrics of its own"`
	// Added to every metric: k:v,k:v.
	MetricsLabel   string `def:"" v4:"!" none:"a controller has no metrics of its own"`
	MetricsInDelta bool   `def:"false" v4:"!" none:"a controller has no metrics of its own"`
	// Keys, separated by semicolons, that hot update refuses besides those it always refuses. Read at start.
	ConfigBlackList string `def:"configBlackList;configStorePath" v4:"!" mark:"r"`
}

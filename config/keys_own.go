// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

// OwnConfig holds what is not a key of Java's configuration classes: this server's own keys, and settings that Java
// takes from system properties (-D…). All of them may stand in the configuration file; getBrokerConfig shows only
// those that do.
type OwnConfig struct {
	// The RocketMQ version whose rules hold wherever two versions differ visibly: 5.3.3 or 4.9.7.
	CompatVersion string `def:"5.3.3" mark:"r"`
	// Largest frame accepted, bytes.
	MaxFrameLength int `def:"16777216" sys:"com.rocketmq.remoting.frameMaxLength" mark:"r"`
	// Requests of one connection that may be unanswered before reading from it stops.
	MaxRequestsPerConnection int `def:"4096" mark:"r"`
	// Bytes of replies queued on one connection before reading from it stops.
	MaxReplyBytesPerConnection int `def:"33554432" mark:"r"`
	// Pulls held by long polling in the whole broker.
	MaxHeldPulls int `def:"100000" mark:"r"`
	// Where this process answers HTTP: /metrics for Prometheus, /healthz, /readyz. host:port or :port; empty: nowhere, or
	// for a broker where metricsExporterType=PROM says.
	HTTPListen string `key:"httpListen" def:"" mark:"r"`
	// /debug/pprof/ is answered there too.
	HTTPPprof bool `key:"httpPprof" def:"false" mark:"r"`
	// Directory of the log files; none: no files. Standalone: logs in the store's directory.
	LogDir string `def:"$home/logs/rocketmqlogs" mark:"rp"`
	// What goes into the log files: debug, info, warn or error.
	LogLevel LogLevel `def:"info" mark:"u"`
	// text: a line as Java's servers write it, with key=value behind; json: an object a line.
	LogFormat LogFormat `def:"text" mark:"r"`
	// When true, hot update refuses every key that holds a path or a class name.
	ProtectPathKeys bool `def:"false" mark:"up"`

	// Header encoding of requests this process sends: JSON or ROCKETMQ.
	SerializeType string `key:"rocketmq.serialize.type" def:"JSON" sys:"rocketmq.serialize.type" env:"ROCKETMQ_SERIALIZE_TYPE" mark:"r"`
	// Host of the address server that answers the name server list.
	RmqAddressServerDomain string `def:"jmenv.tbsite.net" sys:"rocketmq.namesrv.domain" mark:"r"`
	// Last path element of the address server's URL.
	RmqAddressServerSubGroup string `def:"nsaddr" sys:"rocketmq.namesrv.domain.subgroup" mark:"r"`
	// Fraction such as 0.90 that overrides Store.DiskSpaceWarningLevelRatio; 0 = not given.
	DiskSpaceWarningLevel float64 `key:"rocketmq.broker.diskSpaceWarningLevelRatio" def:"0.0" sys:"rocketmq.broker.diskSpaceWarningLevelRatio"`
	// Fraction that overrides Store.DiskSpaceCleanForciblyRatio; 0 = not given.
	DiskSpaceCleanForcibly float64 `key:"rocketmq.broker.diskSpaceCleanForciblyRatio" def:"0.0" sys:"rocketmq.broker.diskSpaceCleanForciblyRatio"`
	// File of access rules (aclEnable), below rocketmqHome.
	PlainACLFile string `key:"rocketmq.acl.plain.file" def:"conf/plain_acl.yml" sys:"rocketmq.acl.plain.file" mark:"rp"`
	// Separator of several commit log directories.
	MultiPathSplitter string `key:"rocketmq.broker.multiPathSplitter" def:"," sys:"rocketmq.broker.multiPathSplitter" mark:"r"`

	// TLS for connections this process opens.
	TLSEnable bool `key:"tls.enable" def:"false" sys:"tls.enable" mark:"r"`
	// disabled, permissive (TLS and plain text on one port) or enforcing.
	TLSServerMode string `key:"tls.server.mode" def:"permissive" sys:"tls.server.mode" mark:"r"`
	// File with the keys below, in properties form; it is read only when it exists.
	TLSConfigFile string `key:"tls.config.file" def:"/etc/rocketmq/tls.properties" sys:"tls.config.file" mark:"rp"`
	// true: a self-signed certificate made at start serves, and clients are not asked for one.
	TLSTestModeEnable bool `key:"tls.test.mode.enable" def:"true" sys:"tls.test.mode.enable" mark:"r"`
	// none, optional or require.
	TLSServerNeedClientAuth string `key:"tls.server.need.client.auth" def:"none" sys:"tls.server.need.client.auth" mark:"r"`
	TLSServerKeyPath        string `key:"tls.server.keyPath" def:"null" sys:"tls.server.keyPath" mark:"rp"`
	TLSServerKeyPassword    string `key:"tls.server.keyPassword" def:"null" sys:"tls.server.keyPassword" mark:"rs"`
	TLSServerCertPath       string `key:"tls.server.certPath" def:"null" sys:"tls.server.certPath" mark:"rp"`
	// true: certificates of clients are checked against TLSServerTrustCertPath.
	TLSServerAuthClient    bool   `key:"tls.server.authClient" def:"false" sys:"tls.server.authClient" mark:"r"`
	TLSServerTrustCertPath string `key:"tls.server.trustCertPath" def:"null" sys:"tls.server.trustCertPath" mark:"rp"`
	TLSClientKeyPath       string `key:"tls.client.keyPath" def:"null" sys:"tls.client.keyPath" mark:"rp"`
	TLSClientKeyPassword   string `key:"tls.client.keyPassword" def:"null" sys:"tls.client.keyPassword" mark:"rs"`
	TLSClientCertPath      string `key:"tls.client.certPath" def:"null" sys:"tls.client.certPath" mark:"rp"`
	// true: the server's certificate is checked against TLSClientTrustCertPath.
	TLSClientAuthServer    bool   `key:"tls.client.authServer" def:"false" sys:"tls.client.authServer" mark:"r"`
	TLSClientTrustCertPath string `key:"tls.client.trustCertPath" def:"null" sys:"tls.client.trustCertPath" mark:"rp"`
}

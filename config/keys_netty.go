// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

// NettyServerConfig holds the keys of the listening side of the transport.
type NettyServerConfig struct {
	BindAddress string `def:"0.0.0.0" v4:"!" mark:"r"`
	// Port listened on. The launchers preset 10911 (broker) and 9876 (name server); 0 lets the system choose.
	ListenPort                    int `def:"0" v4:"8888" mark:"r"`
	ServerWorkerThreads           int `def:"8" none:"internal tuning of the Java server" mark:"r"`
	ServerCallbackExecutorThreads int `def:"0" none:"there are no thread pools per kind of request here" mark:"r"`
	ServerSelectorThreads         int `def:"3" none:"there are no thread pools per kind of request here" mark:"r"`
	ServerOnewaySemaphoreValue    int `def:"256" none:"maxRequestsPerConnection bounds what is in flight"`
	ServerAsyncSemaphoreValue     int `def:"64" none:"maxRequestsPerConnection bounds what is in flight"`
	// Idle connections are closed.
	ServerChannelMaxIdleTimeSeconds int `def:"120" mark:"r"`
	// Bytes; 0: the system's default.
	ServerSocketSndBufSize int `def:"0" mark:"r"`
	// Bytes; 0: the system's default.
	ServerSocketRcvBufSize             int  `def:"0" mark:"r"`
	WriteBufferHighWaterMark           int  `def:"0" none:"tuning of Netty"`
	WriteBufferLowWaterMark            int  `def:"0" none:"tuning of Netty"`
	ServerSocketBacklog                int  `def:"1024" none:"the system's limit is used (net.core.somaxconn)" mark:"r"`
	ServerNettyWorkerGroupEnable       bool `def:"true" v4:"!" none:"tuning of Netty"`
	ServerPooledByteBufAllocatorEnable bool `def:"true" none:"tuning of Netty"`
	// Send GO_AWAY(1500) before closing.
	EnableShutdownGracefully bool `def:"false" v4:"!" later:"graceful shutdown"`
	ShutdownWaitTimeSeconds  int  `def:"30" v4:"!" later:"graceful shutdown"`
	UseEpollNativeSelector   bool `def:"false" none:"internal tuning of the Java server"`
}

// NettyClientConfig holds the keys of connections this process opens.
type NettyClientConfig struct {
	ClientWorkerThreads                int   `def:"4" none:"there are no thread pools per kind of request here" mark:"r"`
	ClientCallbackExecutorThreads      int   `def:"$cpus" none:"there are no thread pools per kind of request here" mark:"r"`
	ClientOnewaySemaphoreValue         int   `def:"65535" none:"tuning of Netty"`
	ClientAsyncSemaphoreValue          int   `def:"65535" none:"tuning of Netty"`
	ConnectTimeoutMillis               int   `def:"3000" mark:"r"`
	ChannelNotActiveInterval           int64 `def:"60000" none:"internal tuning of the Java server"`
	IsScanAvailableNameSrv             bool  `def:"true" v4:"!" set:"scanAvailableNameSrv" none:"the search for a living name server is always on"`
	ClientChannelMaxIdleTimeSeconds    int   `def:"120" mark:"r"`
	ClientSocketSndBufSize             int   `def:"0" none:"tuning of Netty"`
	ClientSocketRcvBufSize             int   `def:"0" none:"tuning of Netty"`
	ClientPooledByteBufAllocatorEnable bool  `def:"false" none:"tuning of Netty"`
	ClientCloseSocketIfTimeout         bool  `def:"true" none:"tuning of Netty"`
	// Use TLS for outgoing connections.
	UseTLS                          bool   `def:"false" mark:"r"`
	SocksProxyConfig                string `def:"{}" v4:"!" none:"proxies for outgoing connections are not supported"`
	WriteBufferHighWaterMark        int    `def:"0" none:"tuning of Netty"`
	WriteBufferLowWaterMark         int    `def:"0" none:"tuning of Netty"`
	DisableCallbackExecutor         bool   `def:"false" v4:"!" none:"tuning of Netty"`
	DisableNettyWorkerGroup         bool   `def:"false" v4:"!" none:"tuning of Netty"`
	MaxReconnectIntervalTimeSeconds int64  `def:"60" v4:"!" none:"internal tuning of the Java server"`
	EnableReconnectForGoAway        bool   `def:"true" v4:"!" later:"graceful shutdown"`
}

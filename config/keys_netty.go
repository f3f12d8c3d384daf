// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

// NettyServerConfig holds the keys of the listening side of the transport.
type NettyServerConfig struct {
	// 0.0.0.0.
	BindAddress string `def:"0.0.0.0" v4:"!" mark:"r"`
	// Port listened on. The launchers preset 10911 (broker) and 9876 (name server); 0 lets the system choose.
	ListenPort                    int `def:"0" v4:"8888" mark:"r"`
	ServerWorkerThreads           int `def:"8" none:"internal tuning of the Java server" mark:"r"`
	ServerCallbackExecutorThreads int `def:"0" none:"size of a Java thread pool; in Go at most a concurrency limit" mark:"r"`
	ServerSelectorThreads         int `def:"3" none:"size of a Java thread pool; in Go at most a concurrency limit" mark:"r"`
	ServerOnewaySemaphoreValue    int `def:"256" none:"limit of one-way calls in flight"`
	ServerAsyncSemaphoreValue     int `def:"64" none:"limit of asynchronous calls in flight"`
	// Idle connections are closed.
	ServerChannelMaxIdleTimeSeconds int `def:"120"`
	// 0 = system default (property com.rocketmq.remoting.socket.sndbuf.size)
	ServerSocketSndBufSize int `def:"0" mark:"r"`
	// 0 = system default.
	ServerSocketRcvBufSize   int `def:"0" mark:"r"`
	WriteBufferHighWaterMark int `def:"0" none:"0 = default"`
	WriteBufferLowWaterMark  int `def:"0" none:"0 = default"`
	// 1024.
	ServerSocketBacklog                int  `def:"1024" mark:"r"`
	ServerNettyWorkerGroupEnable       bool `def:"true" v4:"!" none:"Netty tuning"`
	ServerPooledByteBufAllocatorEnable bool `def:"true" none:"Netty tuning"`
	// GO_AWAY(1500) to 5.1.4+ clients.
	EnableShutdownGracefully bool `def:"false" v4:"!" later:"graceful shutdown"`
	ShutdownWaitTimeSeconds  int  `def:"30" v4:"!" later:"graceful shutdown"`
	UseEpollNativeSelector   bool `def:"false" none:"internal tuning"`
}

// NettyClientConfig holds the keys of connections this process opens.
type NettyClientConfig struct {
	ClientWorkerThreads                int   `def:"4" none:"size of a Java thread pool; in Go at most a concurrency limit" mark:"r"`
	ClientCallbackExecutorThreads      int   `def:"$cpus" none:"size of a Java thread pool; in Go at most a concurrency limit" mark:"r"`
	ClientOnewaySemaphoreValue         int   `def:"65535" none:"Netty tuning"`
	ClientAsyncSemaphoreValue          int   `def:"65535" none:"Netty tuning"`
	ConnectTimeoutMillis               int   `def:"3000"`
	ChannelNotActiveInterval           int64 `def:"60000" none:"internal tuning of the Java server"`
	IsScanAvailableNameSrv             bool  `def:"true" v4:"!" set:"scanAvailableNameSrv" none:"the search for a living name server is always on"`
	ClientChannelMaxIdleTimeSeconds    int   `def:"120"`
	ClientSocketSndBufSize             int   `def:"0" none:"Netty tuning"`
	ClientSocketRcvBufSize             int   `def:"0" none:"Netty tuning"`
	ClientPooledByteBufAllocatorEnable bool  `def:"false" none:"Netty tuning"`
	ClientCloseSocketIfTimeout         bool  `def:"true" none:"Netty tuning"`
	// Client side TLS (brokers as clients)
	UseTLS                          bool   `def:"false" mark:"r"`
	SocksProxyConfig                string `def:"{}" v4:"!" none:"JSON"`
	WriteBufferHighWaterMark        int    `def:"0" none:"0 = default"`
	WriteBufferLowWaterMark         int    `def:"0" none:"0 = default"`
	DisableCallbackExecutor         bool   `def:"false" v4:"!" none:"Netty tuning"`
	DisableNettyWorkerGroup         bool   `def:"false" v4:"!" none:"Netty tuning"`
	MaxReconnectIntervalTimeSeconds int64  `def:"60" v4:"!" none:"internal tuning"`
	EnableReconnectForGoAway        bool   `def:"true" v4:"!" later:"graceful shutdown"`
}

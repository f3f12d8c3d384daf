// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

const proxyVersion = "5.3.3"

// proxyKeys are the settings of Apache's proxy beside its addresses: invisible times and long polls that are short enough
// for the cases, and periods of a second instead of twenty.
var proxyKeys = map[string]any{
	"rocketMQClusterName":              "DefaultCluster",
	"proxyMode":                        "cluster",
	"localServeAddr":                   "127.0.0.1",
	"remotingAccessAddr":               "127.0.0.1",
	"minInvisibleTimeMillsForRecv":     1000,
	"defaultInvisibleTimeMills":        12000,
	"transactionHeartbeatPeriodSecond": 1,
	"grpcShutdownTimeSeconds":          1,

	"grpcClientConsumerMinLongPollingTimeoutMillis": 1000,
	"grpcClientConsumerMaxLongPollingTimeoutMillis": 5000,
}

// proxyBrokerKeys are set beside conformance/broker.conf: the cases of the classic client send messages of all types to one
// topic, which a proxy takes only of mixed topics.
var proxyBrokerKeys = map[string]string{"enableMixedMessageType": "true"}

// startProxy starts Apache's proxy in cluster mode before the cluster: its port of gRPC, behind which is that of remoting.
func (c *cluster) startProxy(ctx context.Context, port int) error {
	jars, err := apacheJars(ctx, c.root, proxyVersion, "proxy")
	if err != nil {
		return err
	}
	dir := filepath.Join(c.work, "proxy")
	if err := quietLogback(filepath.Join(dir, "conf")); err != nil {
		return err
	}
	keys := map[string]any{"namesrvAddr": c.namesrv.addr(), "grpcServerPort": port, "remotingListenPort": port + 1}
	maps.Copy(keys, proxyKeys)
	text, err := json.Marshal(keys)
	if err != nil {
		return err
	}
	conf := filepath.Join(dir, "conf", "rmq-proxy.json")
	if err := os.WriteFile(conf, text, 0o644); err != nil {
		return err
	}
	c.proxy = &server{kind: "apache-" + proxyVersion, role: "proxy", port: port, dir: dir, log: filepath.Join(dir, "proxy.out")}
	c.proxy.argv = slices.Concat([]string{"java"}, apacheJava, []string{
		"-Xmx384m", "-Duser.home=" + dir, "-cp", filepath.Join(jars, "*"), "org.apache.rocketmq.proxy.ProxyStartup", "-pc", conf,
	})
	c.proxy.env = []string{"ROCKETMQ_HOME=" + dir}
	return c.proxy.start(ctx)
}

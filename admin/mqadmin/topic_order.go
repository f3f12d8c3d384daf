// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"strings"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

func updateOrderConf(c *Call) error {
	topic := c.text("t")
	switch c.text("m") {
	case "get":
		conf, err := c.getKV(orderNamespace, topic)
		if err != nil {
			return err
		}
		c.printf("get orderConf success. topic=[%s], orderConf=[%s] \n", topic, conf)
		c.set("topic", topic)
		c.set("orderConf", conf)
		return nil
	case "put":
		if !c.Has("v") {
			c.printf("please set orderConf with option -v.")
			return errUsage
		}
		if err := c.putKV(orderNamespace, topic, c.text("v")); err != nil {
			return err
		}
		c.done("update orderConf success. topic=[%s], orderConf=[%s]\n", topic, c.text("v"))
		return nil
	case "delete":
		if err := c.deleteKV(orderNamespace, topic); err != nil {
			return err
		}
		c.done("delete orderConf success. topic=[%s]\n", topic)
		return nil
	}
	return errUsage
}

func allocateMQ(c *Call) error {
	ips := strings.Split(c.text("i"), ",")
	route, err := c.route(c.text("t"))
	if err != nil {
		return err
	}
	queues := readQueues(route, c.text("t"))
	result := fastjson.MapOf[string, []protocol.MessageQueue](len(ips))
	for i, ip := range ips {
		result.Set(strings.TrimSpace(ip), share(queues, i, len(ips)))
	}
	result.SortHashMap(0)
	body := struct {
		Result fastjson.Map[string, []protocol.MessageQueue] `fastjson:"result,empty"`
	}{result}
	c.printf("%s\n", fastjson.Marshal(&body))
	return c.whole(&body)
}

// readQueues are the queues of a topic that can be read, in the order of Java's HashSet.
func readQueues(route *protocol.TopicRouteData, topic string) []protocol.MessageQueue {
	set := fastjson.MapOf[protocol.MessageQueue, bool](0)
	for _, q := range route.QueueDatas {
		for id := range max(q.ReadQueueNums, 0) {
			if q.Perm&permRead != 0 {
				set.Set(protocol.MessageQueue{Topic: topic, BrokerName: q.BrokerName, QueueID: id}, true)
			}
		}
	}
	set.SortHashMap(0)
	list := make([]protocol.MessageQueue, 0, set.Len())
	for q := range set.All() {
		list = append(list, q)
	}
	return list
}

// share is the i-th of n shares that are as equal as can be.
func share(queues []protocol.MessageQueue, i, n int) []protocol.MessageQueue {
	size, more := len(queues)/n, len(queues)%n
	from := i*size + min(i, more)
	if i < more {
		size++
	}
	return queues[from : from+size]
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package protocol

import (
	"fmt"
	"testing"

	"rocketmq-go/compat/fastjson"
)

// A broker with 1,000 topics registers; it does so every 30 s.
func BenchmarkRegisterBrokerBody(b *testing.B) {
	body := new(RegisterBrokerBody)
	for i := range 1000 {
		c := NewTopicConfig()
		c.TopicName = fmt.Sprintf("Topic-%d", i)
		c.Attributes.Clear()
		body.TopicConfigSerializeWrapper.TopicConfigTable.Set(c.TopicName, c)
	}
	text := fastjson.Marshal(body)
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			text = fastjson.Options{}.Append(text[:0], body)
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			if err := fastjson.Unmarshal(text, new(RegisterBrokerBody)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// The answer to a client's route request.
func BenchmarkTopicRouteData(b *testing.B) {
	var route TopicRouteData
	for i := range 4 {
		name := fmt.Sprintf("broker-%d", i)
		data := BrokerData{Cluster: "DefaultCluster", BrokerName: name}
		data.BrokerAddrs.Set(0, "192.168.0.1:10911")
		data.BrokerAddrs.Set(1, "192.168.0.2:10911")
		route.BrokerDatas = append(route.BrokerDatas, data)
		route.QueueDatas = append(route.QueueDatas, QueueData{BrokerName: name, ReadQueueNums: 8, WriteQueueNums: 8, Perm: 6})
	}
	for _, o := range []fastjson.Options{{}, {Standard: true}} {
		b.Run(fmt.Sprintf("standard=%v", o.Standard), func(b *testing.B) {
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				buf = o.Append(buf[:0], &route)
			}
			b.SetBytes(int64(len(buf)))
		})
	}
}

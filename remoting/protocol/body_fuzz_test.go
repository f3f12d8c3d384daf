// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package protocol

import (
	"bytes"
	"testing"

	"rocketmq-go/compat/fastjson"
)

// Bodies come from the network: any text is refused or read, and what is read has a stable form.
func FuzzBody(f *testing.F) {
	codes := []struct {
		code     int32
		response bool
		text     string
	}{
		{34, false, `{"clientID":"c","consumerDataSet":[{"groupName":"g","messageModel":"Clustering","subscriptionDataSet":[{"topic":"t","subString":"*"}]},{"groupName":"g2","subscriptionDataSet":[{"$ref":"$.consumerDataSet[0].subscriptionDataSet[0]"}]}]}`},
		{103, false, `{"filterServerList":[],"topicConfigSerializeWrapper":{"dataVersion":{"counter":1},"topicConfigTable":{"t":{"attributes":{},"perm":6}},"topicQueueMappingInfoMap":{"t":{"currIdMap":{0:1}}}}}`},
		{105, true, `{"brokerDatas":[{"brokerAddrs":{"0":"a:1",1:"b:2"}}],"queueDatas":[{"perm":"6"}],"filterServerTable":{}}`},
		{202, true, `{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"t"}:{"maxOffset":2},"{\"topic\":\"u\"}":{}}}`},
		{41, false, `{"mqSet":[{"topic":"t","queueId":1},{"topic":"t","queueId":1}]}`},
		{200151, false, `{"acks":[{"b":"CQ==","c":"g","bitSet":[1]}]}`},
	}
	for _, c := range codes {
		f.Add(c.code, c.response, []byte(c.text))
	}
	f.Fuzz(func(t *testing.T, code int32, response bool, text []byte) {
		body := BodyOf(code, response)
		if body == nil || fastjson.Unmarshal(text, body) != nil {
			return
		}
		first := fastjson.Marshal(body)
		again := BodyOf(code, response)
		if err := fastjson.Unmarshal(first, again); err != nil {
			t.Fatalf("cannot read %q: %v", first, err)
		}
		if second := fastjson.Marshal(again); !bytes.Equal(first, second) {
			t.Fatalf("%q became %q", first, second)
		}
	})
}

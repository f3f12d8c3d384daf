// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package registration decodes what a broker tells a name server about its topics (body of REGISTER_BROKER). It is
// either JSON or, if the broker has compressedRegister=true, a zlib stream of
//
//	int32 length, data version as JSON
//	int32 number of topics, and for each
//	    int32 length, text "name readQueueNums writeQueueNums perm filterType[ attributes]"
//	int32 length, JSON array of filter servers
//	int32 number of static topics, and for each        (only from brokers of 5.0 or later)
//	    int32 length, queue mapping as JSON
//
// with integers in big-endian order. The short text loses the topic's system flag.
package registration

import (
	"hash/crc32"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/namesrv/route"
	"rocketmq-go/remoting/protocol"
)

// Versions of the sending broker (MQVersion ordinals) from which a body has more parts.
const (
	versionWithFilters  = 37  // V3_0_11: the topic table stands inside an object with the filter servers
	versionWithMappings = 413 // V5_0_0: the compressed form has queue mappings
)

// zlibFirst is the first byte of every zlib stream with the usual window. No JSON text begins with it.
const zlibFirst = 0x78

// CheckCRC verifies the checksum that a broker sent for its body as it came over the wire; 0 means none.
func CheckCRC(body []byte, sum int32) error {
	if sum != 0 && int32(crc32.ChecksumIEEE(body)&0x7fffffff) != sum {
		return protocol.Errorf(protocol.RespSystemError, "crc32 not match")
	}
	return nil
}

// Decode reads the body of a broker that sends with the given version. Brokers of 5.3 send a compressed body with
// compressed=false; it is recognised by its first byte. The result does not share memory with body.
func Decode(body []byte, version int32, compressed bool) (route.Body, error) {
	if len(body) == 0 {
		return route.Body{Filters: []string{}}, nil
	}
	if version < versionWithFilters {
		var w protocol.TopicConfigAndMappingSerializeWrapper
		if err := fastjson.Unmarshal(body, &w); err != nil {
			return route.Body{}, malformed(err)
		}
		return fromWrapper(&w), nil
	}
	if compressed || body[0] == zlibFirst {
		return decodeCompressed(body, version)
	}
	var w protocol.RegisterBrokerBody
	if err := fastjson.Unmarshal(body, &w); err != nil {
		return route.Body{}, malformed(err)
	}
	b := fromWrapper(&w.TopicConfigSerializeWrapper)
	b.Filters = orEmpty(w.FilterServerList)
	return b, nil
}

func malformed(err error) error {
	return protocol.Errorf(protocol.RespSystemError, "registration body is malformed: %v", err)
}

// orEmpty makes a missing list an empty one, which removes the filter servers known so far.
func orEmpty(filters []string) []string {
	if filters == nil {
		return []string{}
	}
	return filters
}

// DataVersion is the version as the route table compares it.
func DataVersion(v protocol.DataVersion) route.DataVersion {
	return route.DataVersion{StateVersion: v.StateVersion, Timestamp: v.Timestamp, Counter: v.Counter}
}

func fromWrapper(w *protocol.TopicConfigAndMappingSerializeWrapper) route.Body {
	b := route.Body{
		Version: DataVersion(w.DataVersion),
		Topics:  make([]route.TopicQueues, 0, w.TopicConfigTable.Len()),
	}
	for name, c := range w.TopicConfigTable.All() {
		if c == nil {
			continue
		}
		// The name inside the entry counts, as it does in Java; brokers send both alike.
		if c.TopicName != "" {
			name = c.TopicName
		}
		b.Topics = append(b.Topics, route.TopicQueues{Name: name, Queues: route.Queues{
			Read: c.ReadQueueNums, Write: c.WriteQueueNums, Perm: c.Perm, SysFlag: c.TopicSysFlag,
		}})
	}
	for name, m := range w.TopicQueueMappingInfoMap.All() {
		if m == nil {
			continue
		}
		if m.Topic == "" {
			m.Topic = name
		}
		b.Mappings = append(b.Mappings, m)
	}
	return b
}

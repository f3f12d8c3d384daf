// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package filter

import (
	"encoding/binary"
	"math"
	"math/bits"

	"rocketmq-go/remoting/protocol"
)

// bloom tells which bits of a message's bit map stand for a subscription (Java: BloomFilter, BloomFilterData). The bits
// are kept in consumerFilter.json; the maps belong to consumequeue_ext.
type bloom struct {
	hashes int // bits of one subscription
	size   int // bits of a map, whole bytes
}

// newBloom is made for a number of consumers (expectConsumerNumUseFilter) and an error rate in percent
// (maxErrorRateOfBloomFilter).
func newBloom(consumers, errorRate int) bloom {
	rate := math.Log2(100 / float64(min(max(errorRate, 1), 99)))
	size := math.Ceil(float64(max(consumers, 1)) * rate * math.Log2E)
	return bloom{hashes: int(math.Ceil(rate)), size: int(math.Ceil(size/8)) * 8}
}

// of gives the bits of a group's subscription to a topic.
func (b bloom) of(group, topic string) *protocol.BloomFilterData {
	h := murmur(group + "#" + topic)
	data := &protocol.BloomFilterData{BitNum: int32(b.size), BitPos: make([]int32, b.hashes)}
	for i := range data.BitPos {
		n := int32(h) + int32(i+1)*int32(h>>32)
		if n < 0 {
			n = ^n
		}
		data.BitPos[i] = n % int32(b.size)
	}
	return data
}

// murmur is the first half of the 128-bit MurmurHash3 (x64, seed 0), read as Guava does.
func murmur(text string) uint64 {
	const c1, c2 = 0x87c37b91114253d5, 0x4cf5ad432745937f
	mix1 := func(k uint64) uint64 { return bits.RotateLeft64(k*c1, 31) * c2 }
	mix2 := func(k uint64) uint64 { return bits.RotateLeft64(k*c2, 33) * c1 }
	var h1, h2 uint64
	data := []byte(text)
	for ; len(data) >= 16; data = data[16:] {
		h1 = (bits.RotateLeft64(h1^mix1(binary.LittleEndian.Uint64(data)), 27)+h2)*5 + 0x52dce729
		h2 = (bits.RotateLeft64(h2^mix2(binary.LittleEndian.Uint64(data[8:])), 31)+h1)*5 + 0x38495ab5
	}
	var tail [16]byte
	copy(tail[:], data)
	h1 ^= mix1(binary.LittleEndian.Uint64(tail[:]))
	h2 ^= mix2(binary.LittleEndian.Uint64(tail[8:]))
	h1 ^= uint64(len(text))
	h2 ^= uint64(len(text))
	h1 += h2
	h2 += h1
	return scatter(h1) + scatter(h2)
}

// scatter lets each bit change all.
func scatter(k uint64) uint64 {
	k = (k ^ k>>33) * 0xff51afd7ed558ccd
	k = (k ^ k>>33) * 0xc4ceb9fe1a85ec53
	return k ^ k>>33
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"encoding/base64"
	"strings"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// extension is what 321 QUERY_CONSUME_QUEUE shows of a unit's extension, as JSON in extendDataJson (Java: CqExtUnit).
type extension struct {
	FilterBitMap string `fastjson:"filterBitMap"` // base64
	MsgStoreTime int64  `fastjson:"msgStoreTime"`
	Size         int32  `fastjson:"size"`
	TagsCode     int64  `fastjson:"tagsCode"`
}

// showExt shows the extension of a unit, and whether the unit alone lets the message pass for a group; match may be nil.
func showExt(data *protocol.ConsumeQueueData, x store.ExtUnit, group bool, match store.Matcher) {
	e := extension{MsgStoreTime: x.StoreTime, Size: int32(x.Size()), TagsCode: x.TagsCode}
	if len(x.BitMap) > 0 {
		e.FilterBitMap = base64.StdEncoding.EncodeToString(x.BitMap)
		data.BitMap = bitText(x.BitMap)
	}
	data.ExtendDataJson = string(fastjson.Options{}.Marshal(&e))
	if group {
		m, ok := match.(store.ExtMatcher)
		data.Eval = (match == nil || match.MatchUnit(x.TagsCode)) && (!ok || m.MatchExt(x))
	}
}

// bitText prints a bit map as Java does: the highest bit first, and a line end behind each byte whose number is a multiple
// of eight.
func bitText(bitMap []byte) string {
	var sb strings.Builder
	for i := len(bitMap) - 1; i >= 0; i-- {
		for bit := 7; bit >= 0; bit-- {
			sb.WriteByte('0' + bitMap[i]>>bit&1)
		}
		if i%8 == 0 {
			sb.WriteByte('\n')
		}
	}
	return sb.String()
}

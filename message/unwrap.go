// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package message

// AppendUnwrapped appends the messages of a record to list, as clients get them: the record itself, or each message of an
// inner batch, a client batch that is one record. These share everything with the record but flag, body, properties and
// queue offset; views stay views. What cannot be unwrapped is appended as it is.
func AppendUnwrapped(list []Record, r Record) []Record {
	const inner = SysInnerBatch | SysNeedUnwrap
	if r.SysFlag&inner != inner || r.SysFlag&SysCompressed != 0 {
		return append(list, r)
	}
	n := len(list)
	e := ScanBatch(r.Body)
	for e.Next() {
		m := r
		m.SysFlag &^= inner
		m.QueueOffset += int64(len(list) - n)
		m.Flag, m.Body, m.Properties, m.BodyCRC = e.Flag, e.Body, e.Properties, BodyCRC(e.Body)
		list = append(list, m)
	}
	if e.Err() != nil {
		return append(list[:n], r)
	}
	return list
}

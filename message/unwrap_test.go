// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package message

import (
	"fmt"
	"testing"
)

func TestUnwrap(t *testing.T) {
	batch := AppendBatchEntry(AppendBatchEntry(nil, 7, []byte("one"), []byte("a\x01b\x02")), 0, nil, nil)
	show := func(list []Record) (out string) {
		for _, r := range list {
			out += fmt.Sprintf("%d:%d:%d:%q:%q ", r.QueueOffset, r.SysFlag, r.Flag, r.Body, r.Properties)
		}
		return out
	}
	first := []Record{{QueueOffset: 4}}
	for _, c := range []struct {
		r    Record
		want string
	}{
		{Record{QueueOffset: 5, SysFlag: SysInnerBatch | SysNeedUnwrap | SysMultiTags, Flag: 9, Body: batch, Properties: []byte("x\x01y")}, `5:2:7:"one":"a\x01b\x02" 6:2:0:"":"" `},
		{Record{QueueOffset: 5, SysFlag: SysInnerBatch, Body: []byte("x")}, `5:128:0:"x":"" `},
		{Record{QueueOffset: 5, SysFlag: SysInnerBatch | SysNeedUnwrap, Body: []byte("x")}, `5:192:0:"x":"" `},
		{Record{QueueOffset: 5, SysFlag: SysInnerBatch | SysNeedUnwrap | SysCompressed, Body: []byte("x")}, `5:193:0:"x":"" `},
		{Record{QueueOffset: 5, SysFlag: SysInnerBatch | SysNeedUnwrap, Body: batch[:len(batch)-1]}, fmt.Sprintf(`5:192:0:%q:"" `, batch[:len(batch)-1])},
		{Record{QueueOffset: 5, Body: batch[:3]}, fmt.Sprintf(`5:0:0:%q:"" `, batch[:3])},
		{Record{QueueOffset: 5, SysFlag: SysInnerBatch | SysNeedUnwrap}, ``},
	} {
		if got := show(AppendUnwrapped(first, c.r)[1:]); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}

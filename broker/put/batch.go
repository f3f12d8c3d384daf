// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package put

import (
	"math"
	"strconv"
	"strings"

	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// Batch stores a client batch: each entry as a message of its own, or all as one record in a batch queue. The latter is for
// batches with a unique id; e.InnerBatch then tells the answer.
func (p *Pipeline) Batch(e *Entry, done func(store.PutResult)) error {
	if strings.HasPrefix(e.Topic, RetryPrefix) && !p.Profile.RetryBatches {
		return protocol.Errorf(protocol.RespMessageIllegal, "batch request does not support retry group %s", e.Topic)
	}
	e.UniqKey = e.Props.Get(message.PropUniqKey)
	e.InnerBatch = e.BatchTopic && e.UniqKey != ""
	level, err := levelOf(e)
	if err != nil {
		return err
	}
	if level > 0 || p.tooLong(e) {
		return p.illegal()
	}
	e.Props.Set(propCluster, p.Config().BrokerClusterName)
	if e.InnerBatch {
		return p.innerBatch(e, done)
	}
	if err := p.timer(e); err != nil {
		return err
	}
	e.encoded = e.Props.Append(e.encoded[:0], p.dialect)
	e.Properties = e.encoded
	p.Store.PutBatch(&e.Message, done)
	return nil
}

// innerBatch stores a batch as one record. It cannot wait for a time: the timer topic has no batch queue.
func (p *Pipeline) innerBatch(e *Entry, done func(store.PutResult)) error {
	if at, err := p.deliverAt(e); err != nil || at > p.Now().UnixMilli() {
		return p.illegal()
	}
	count := 0
	entries := message.ScanBatch(e.Body)
	for entries.Next() {
		count++
	}
	if entries.Err() != nil || count == 0 || count > math.MaxInt16 {
		return p.illegal()
	}
	e.SysFlag |= message.SysInnerBatch | message.SysNeedUnwrap
	e.number = strconv.AppendInt(e.number[:0], int64(count), 10)
	e.Props.Set(message.PropInnerNum, view(e.number))
	e.encoded = e.Props.Append(e.encoded[:0], p.dialect)
	e.Properties = e.encoded
	p.Store.Put(&e.Message, done)
	return nil
}

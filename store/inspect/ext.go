// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package inspect

import (
	"errors"
	"io/fs"
	"strconv"

	"rocketmq-go/message"
	"rocketmq-go/store/consumequeue"
)

// extFiles are the extension files of a consume queue as found.
type extFiles struct {
	stream
	buf   []byte // read last
	bufAt int64
}

// listExt finds the extension files of a queue.
func (t *tree) listExt(q queueName) (x extFiles, err error) {
	if x.stream, err = listStream(t.join("consumequeue_ext", q.topic, strconv.Itoa(int(q.id)))); err != nil {
		return x, err
	}
	for _, f := range x.files {
		x.size = max(x.size, f.size)
	}
	return x, nil
}

// unit reads the extension at an address; units of neighbours are neighbours.
func (x *extFiles) unit(address int64) (u consumequeue.ExtUnit, ok bool, err error) {
	const chunk = 64 << 10
	at := consumequeue.ExtPosition(address)
	if from := at - x.bufAt; from >= 0 && from < int64(len(x.buf)) {
		if u, _, ok = consumequeue.ParseExtUnit(x.buf[from:]); ok {
			return u, true, nil
		}
	}
	if x.buf == nil {
		x.buf = make([]byte, chunk)
	}
	if x.buf, err = x.readAt(x.buf[:chunk], at); err != nil {
		return u, false, err
	}
	x.buf, x.bufAt = x.buf[:len(x.buf):cap(x.buf)], at
	u, _, ok = consumequeue.ParseExtUnit(x.buf)
	return u, ok, nil
}

// ext compares the extension of a unit with its record. One that is not there does no harm: the message is looked at.
func (c *queueCheck) ext(address int64, r *message.Record, tagsOK func(int64) bool) error {
	u, ok, err := c.queueFiles.ext.unit(address)
	switch {
	case err != nil:
		return err
	case !ok:
		c.bare++
	case u.StoreTime != r.StoreTimestamp || !tagsOK(u.TagsCode):
		c.report.damage(c.place(c.next), "unit %d has the extension of another message (log %d): consumers may miss it", c.next, r.PhyOffset)
	}
	return nil
}

// setAsideExt moves all extension files into the backup: the queues that are made anew have the tags only.
func (r *repairer) setAsideExt() error {
	const name = "consumequeue_ext"
	err := r.move(r.join(name), name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		r.say("consumequeue_ext: moved away; SQL92 filters look at the messages themselves")
	}
	return err
}

// extensions tells what becomes of extension files.
func (c *checker) extensions() error {
	queues := 0
	for _, q := range c.t.queues {
		if len(q.ext.files) > 0 {
			queues++
		}
	}
	switch {
	case queues == 0:
	case !c.set.Ext && c.given:
		c.condition("%d queues have extension files (consumequeue_ext), and the configuration has enableConsumeQueueExt=false: "+
			"messages that come now get none, and SQL92 filters look at each of them, with the same result", queues)
	default:
		c.fact("consumequeue_ext: extension files of %d queues", queues)
	}
	return nil
}

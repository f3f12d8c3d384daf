// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package put

import (
	"cmp"
	"net/netip"
	"strconv"
	"strings"
	"unsafe"

	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func (p *Pipeline) group(name string) (*protocol.SubscriptionGroupConfig, error) {
	if g := p.Groups.Find(name); g != nil {
		return g, nil
	}
	return nil, protocol.Errorf(protocol.RespSubscriptionGroupNotExist, "subscription group not exist, %s %s", name, p.Profile.FAQ)
}

// retry applies the rule for messages that consumers send to their retry topic themselves: one retry too many, or a
// group that consumes in order, and the message is dead.
func (p *Pipeline) retry(e *Entry, group string, r Retry) error {
	g, err := p.group(group)
	if err != nil {
		return err
	}
	max := g.RetryMaxTimes
	if r.Max.Set && r.Version >= retryMaxSinceV349 {
		max = r.Max.V
	}
	if p.Profile.LastRetryIsDead {
		max--
	}
	if e.ReconsumeTimes > max || p.Profile.LockedRetryIsDead && p.Ordered(group) {
		e.Topic = p.deadTopic(group, e)
		e.QueueID = 0
		if p.Profile.DeadAtOnce {
			e.Props.Set(message.PropDelay, noLevel)
		}
	}
	return nil
}

// deadTopic is the name of a group's dead-letter topic, which is made if it is missing.
func (p *Pipeline) deadTopic(group string, e *Entry) string {
	if p.Dead != nil {
		p.Dead(group, cmp.Or(e.Props.Get(PropRetryTopic), e.Topic))
	}
	name := DLQPrefix + group
	if p.Topics.Get(name) == nil {
		p.Topics.CreateRetry(name, 1, permReadWrite, 0)
	}
	return name
}

// SendBack is a message that a consumer of Group could not handle (code 36).
type SendBack struct {
	Group      string
	PhyOffset  int64
	DelayLevel int32 // 0: by the number of retries; negative: the dead-letter topic
	UnitMode   bool
	StoreHost  netip.AddrPort // this broker
	Retry      Retry
}

// unitSub is the system flag of a retry topic of a client in unit mode.
const unitSub = 2

// SendBack stores the message again for the group. e is scratch; the record is read into it. stored is false when the
// group wants no retries: then done is not called.
func (p *Pipeline) SendBack(e *Entry, b SendBack, done func(store.PutResult)) (stored bool, err error) {
	g, err := p.group(b.Group)
	if err != nil {
		return false, err
	}
	cfg := p.Config()
	if cfg.BrokerPermission&permWrite == 0 {
		return false, protocol.Errorf(protocol.RespNoPermission,
			"the broker[%s] sending message is forbidden", cfg.BrokerIP1)
	}
	if g.RetryQueueNums <= 0 {
		return false, nil
	}
	topic, err := p.retryTopic(g, b.UnitMode)
	if err != nil {
		return false, err
	}
	record, ok := p.Store.Record(nil, b.PhyOffset, 0)
	if !ok {
		return false, lookFailed(b.PhyOffset)
	}
	r, err := message.ParseRecord(record)
	if err != nil {
		return false, lookFailed(b.PhyOffset)
	}
	e.Message = r.Message()
	e.Props.Parse(view(e.Properties))
	p.again(e, &r, g, b, topic)
	return true, p.Put(e, done)
}

func lookFailed(offset int64) error {
	return protocol.Errorf(protocol.RespSystemError, "look message by offset failed, %d", offset)
}

// retryTopic is a group's retry topic, which is made if it is missing.
func (p *Pipeline) retryTopic(g *protocol.SubscriptionGroupConfig, unitMode bool) (*protocol.TopicConfig, error) {
	name := RetryPrefix + g.GroupName
	topic := p.Topics.Get(name)
	if topic == nil {
		var sysFlag int32
		if unitMode {
			sysFlag = unitSub
		}
		if topic = p.Topics.CreateRetry(name, g.RetryQueueNums, permReadWrite, sysFlag); topic == nil {
			return nil, protocol.Errorf(protocol.RespSystemError, "topic[%s] not exist", name)
		}
	}
	if topic.Perm&permWrite == 0 {
		return nil, protocol.Errorf(protocol.RespNoPermission, "the topic[%s] sending message is forbidden", name)
	}
	return topic, nil
}

// again turns the message that was read into the one to be stored.
func (p *Pipeline) again(e *Entry, r *message.Record, g *protocol.SubscriptionGroupConfig, b SendBack, t *protocol.TopicConfig) {
	if !e.Props.Has(PropRetryTopic) {
		e.Props.Set(PropRetryTopic, e.Topic)
	}
	e.Props.Set(message.PropWait, "false")
	if e.Props.Get(propOriginID) == "" {
		e.Props.Set(propOriginID, message.OffsetID(r.StoreHost, r.PhyOffset))
	}
	max := g.RetryMaxTimes
	if b.Retry.Max.Set && b.Retry.Version >= retryMaxSinceV349 {
		max = b.Retry.Max.V
	}
	level := b.DelayLevel
	if e.ReconsumeTimes >= max || level < 0 {
		e.Topic, e.QueueID, level = p.deadTopic(b.Group, e), 0, 0
	} else {
		if level == 0 {
			level = 3 + e.ReconsumeTimes
		}
		e.Topic, e.QueueID = t.TopicName, randomQueue(retryQueues(g, t))
	}
	e.Props.Set(message.PropDelay, strconv.Itoa(int(level)))
	e.ReconsumeTimes++
	e.StoreHost = b.StoreHost
	e.PreparedTransactionOffset = 0
}

// retryQueues is how many queues of a group's retry topic are used. The group may have been given more than its topic
// has, and nobody reads those; Java loses messages there.
func retryQueues(g *protocol.SubscriptionGroupConfig, t *protocol.TopicConfig) int32 {
	return max(min(g.RetryQueueNums, t.ReadQueueNums), 1)
}

// IsRetry tells whether a topic is a retry topic.
func IsRetry(topic string) bool { return strings.HasPrefix(topic, RetryPrefix) }

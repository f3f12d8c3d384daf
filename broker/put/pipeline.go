// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package put

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"rocketmq-go/compat"
	"rocketmq-go/config"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// Topics that the rules name.
const (
	ScheduleTopic = "SCHEDULE_TOPIC_XXXX"
	TimerTopic    = "rmq_sys_wheel_timer"
	RetryPrefix   = "%RETRY%"
	DLQPrefix     = "%DLQ%"
)

// PropRetryTopic is the property that names the topic to which a message was sent before it came to a retry topic.
const PropRetryTopic = "RETRY_TOPIC"

// Properties that only the broker's own rules look at; the store's are in package message.
const (
	propPopCheck      = "POP_CK"
	propRegion        = "MSG_REGION"
	propTrace         = "TRACE_ON"
	propCluster       = "CLUSTER"
	propOriginID      = "ORIGIN_MESSAGE_ID"
	noLevel           = "-1"
	permReadWrite     = 6
	retryMaxSinceV349 = 121 // MQVersion ordinal of V3_4_9: older clients' maxReconsumeTimes is not looked at
)

// Store is what the pipeline needs of the store.
type Store interface {
	Put(m *message.Message, done func(store.PutResult))
	PutBatch(m *message.Message, done func(store.PutResult))
	Record(dst []byte, phyOffset int64, size int32) ([]byte, bool)
}

// Topics is what it needs of the topic table.
type Topics interface {
	Get(name string) *protocol.TopicConfig
	CreateRetry(name string, queues, perm, sysFlag int32) *protocol.TopicConfig
}

// Groups is what it needs of the group table: Find creates a group where that is allowed, or returns nil.
type Groups interface {
	Find(name string) *protocol.SubscriptionGroupConfig
}

// Options of a Pipeline.
type Options struct {
	Profile *compat.Profile
	Store   Store
	Config  func() *config.BrokerValues
	Topics  Topics
	Groups  Groups
	// Ordered tells whether a group holds queue locks: it consumes in order, and what it cannot handle is dead.
	Ordered   func(group string) bool
	MaxLevel  func() int32 // highest delay level
	IDs       *message.IDGenerator
	DiskUsage func() (log, queue, index float64) // for the remark when the store refuses; may be nil
	Prepared  func(realTopic string)             // told of each half message that was stored; may be nil
	Dead      func(group, topic string)          // told of each message of a topic that becomes a dead letter; may be nil
	Timers    Timers                             // nil: messages cannot ask for a time (4.9)
	Now       func() time.Time                   // nil: time.Now
}

// Pipeline applies the rules. It has no state of its own.
type Pipeline struct {
	Options
	dialect message.Dialect
}

// New makes a pipeline.
func New(o Options) *Pipeline {
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &Pipeline{Options: o}
	if !o.Profile.BrokerProperties {
		p.dialect = message.Java49
	}
	return p
}

// Dialect is the form in which this broker writes properties.
func (p *Pipeline) Dialect() message.Dialect { return p.dialect }

// Entry is a message on its way through the pipeline. It can be used again after Reset, then without allocation.
type Entry struct {
	message.Message
	Props Properties
	// UniqKey is the message's unique id after Send, sent or made. It is a view into the entry or the request.
	UniqKey string
	// TimerOut is the time (ms) of the slot in which the message waits, 0 if it is not a timer message. RealTopic then is
	// the topic that it is for.
	TimerOut  int64
	RealTopic string
	// BatchTopic is set by whoever sends to a topic with batch queues. InnerBatch tells after Batch that the batch became, or
	// was to become, one record.
	BatchTopic, InnerBatch bool

	encoded []byte
	id      []byte
	number  []byte
}

// Reset forgets the message and keeps the memory.
func (e *Entry) Reset() {
	e.Message = message.Message{}
	e.Props.Reset()
	e.UniqKey, e.TimerOut, e.RealTopic = "", 0, ""
	e.BatchTopic, e.InnerBatch = false, false
}

// Open takes the properties text of a send request and adds what every stored message carries.
func (p *Pipeline) Open(e *Entry, text string) {
	cfg := p.Config()
	e.Props.Parse(text)
	if p.Profile.BrokerProperties {
		e.Props.Delete(propPopCheck)
		e.Props.Set(propRegion, cfg.RegionID)
		e.Props.Set(propTrace, strconv.FormatBool(cfg.TraceOn))
	}
}

// Retry is what a send to a retry topic says of itself.
type Retry struct {
	Max     protocol.Opt[int32] // the client's own maximum
	Version int32               // the client's version
}

// Send stores a producer's message. Topic and queue are set and exist, the properties were opened.
func (p *Pipeline) Send(e *Entry, r Retry, done func(store.PutResult)) error {
	if p.tooLong(e) {
		return p.illegal()
	}
	if group, ok := strings.CutPrefix(e.Topic, RetryPrefix); ok {
		if err := p.retry(e, group, r); err != nil {
			return err
		}
	}
	p.identify(e)
	if half, err := isHalf(e); err != nil {
		return err
	} else if half {
		return p.half(e, done)
	}
	return p.put(e, !p.Profile.KeepWait, done)
}

// tooLong checks what producers send; what is in the log already may be stored again even if the limit was lowered.
func (p *Pipeline) tooLong(e *Entry) bool { return len(e.Body) > p.Config().Store.MaxMessageSize }

// identify gives the message its unique id, if it has none, and its cluster.
func (p *Pipeline) identify(e *Entry) {
	e.UniqKey = e.Props.Get(message.PropUniqKey)
	if e.UniqKey == "" && p.Profile.BrokerProperties {
		e.id = p.IDs.Append(e.id[:0])
		e.UniqKey = view(e.id)
		e.Props.Set(message.PropUniqKey, e.UniqKey)
	}
	e.Props.Set(propCluster, p.Config().BrokerClusterName)
	if wait := e.Props.Get(message.PropWait); wait != "" && !p.Profile.KeepWait {
		// 4.9 takes it out and puts it back, which shows in the order where it is written
		e.Props.Delete(message.PropWait)
		e.Props.Set(message.PropWait, wait)
	}
}

// Put stores a message with opened properties: timers and delay levels are decided here.
func (p *Pipeline) Put(e *Entry, done func(store.PutResult)) error { return p.put(e, false, done) }

// put is Put; dropWait leaves WAIT out of what is stored at once: a 4.9 broker writes that of a send into the log only where
// it writes the properties twice.
func (p *Pipeline) put(e *Entry, dropWait bool, done func(store.PutResult)) error {
	level, err := p.level(e)
	if err != nil {
		return err
	}
	if level > 0 {
		p.delay(e, level)
	} else if err := p.timer(e); err != nil {
		return err
	} else if dropWait {
		e.NoWait = e.Props.Get(message.PropWait) == "false"
		e.Props.Delete(message.PropWait)
	}
	e.encoded = e.Props.Append(e.encoded[:0], p.dialect)
	e.Properties = e.encoded
	p.Store.Put(&e.Message, done)
	return nil
}

// Raw stores m as it stands.
func (p *Pipeline) Raw(m *message.Message, done func(store.PutResult)) { p.Store.Put(m, done) }

// mayWait tells whether a message can be held back: parts of transactions in their old form cannot.
func mayWait(e *Entry) bool {
	t := e.SysFlag & message.SysTransactionMask
	return t == message.SysNotTransaction || t == message.SysCommit
}

// level is the delay level of a message, 0 for none. A message with a level does not ask for a time.
func (p *Pipeline) level(e *Entry) (int32, error) {
	if !mayWait(e) {
		return 0, nil
	}
	level, err := levelOf(e)
	if err != nil {
		return 0, err
	}
	if level > 0 && p.Timers != nil {
		for _, name := range timerProperties {
			e.Props.Delete(name)
		}
	}
	return level, nil
}

func levelOf(e *Entry) (int32, error) {
	text := e.Props.Get(message.PropDelay)
	if text == "" {
		return 0, nil
	}
	level, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, protocol.Errorf(protocol.RespSystemError, "java.lang.NumberFormatException: For input string: %q", text)
	}
	return int32(level), nil
}

// delay sends a message through the schedule topic: its queue is the level, and its own topic waits in the properties.
func (p *Pipeline) delay(e *Entry, level int32) {
	if max := p.MaxLevel(); level > max {
		level = max
		e.Props.Set(message.PropDelay, strconv.Itoa(int(max)))
	}
	e.Props.Set(message.PropRealTopic, e.Topic)
	e.Props.Set(message.PropRealQueueID, strconv.Itoa(int(e.QueueID)))
	e.Topic, e.QueueID = ScheduleTopic, level-1
}

func randomQueue(queues int32) int32 { return rand.Int32N(queues) }

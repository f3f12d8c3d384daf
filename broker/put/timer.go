// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package put

import (
	"math"
	"math/rand/v2"
	"strconv"

	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
)

// Properties of messages with a time of their own (5.x).
const (
	PropTimerOut    = "TIMER_OUT_MS"      // ms: of the slot in which the message waits
	PropTimerDelete = "TIMER_DEL_UNIQKEY" // the message takes back the one with this key, topic+UNIQ_KEY
	PropTimerAt     = "TIMER_DELIVER_MS"  // ms

	propTimerSeconds = "TIMER_DELAY_SEC"
	propTimerMillis  = "TIMER_DELAY_MS"
)

// timerProperties ask for a time; the first that is there counts.
var timerProperties = [...]string{propTimerSeconds, propTimerMillis, PropTimerAt}

// Timers is what the pipeline needs of the timer service.
type Timers interface {
	Tick() int64            // ms
	Waiting(ms int64) int64 // messages in the slot of a time
}

// timer sends a message that asks for a time to come through the timer topic: its own topic waits in the properties. One
// whose time has come already is an ordinary message.
func (p *Pipeline) timer(e *Entry) error {
	at, err := p.deliverAt(e)
	if err != nil || at == 0 {
		return err
	}
	if at <= p.Now().UnixMilli() {
		if e.Props.Has(PropTimerDelete) {
			return p.timerIllegal()
		}
		return nil
	}
	// The slot is due one tick after its time: a whole tick waits in the slot before.
	tick := p.Timers.Tick()
	out := (at - 1) / tick * tick
	if err := p.flowControl(out); err != nil {
		return err
	}
	e.TimerOut, e.RealTopic = out, e.Topic
	e.number = strconv.AppendInt(e.number[:0], out, 10)
	e.Props.Set(PropTimerOut, view(e.number))
	e.Props.Set(message.PropRealTopic, e.Topic)
	e.Props.Set(message.PropRealQueueID, strconv.Itoa(int(e.QueueID)))
	e.Topic, e.QueueID = TimerTopic, 0
	return nil
}

// deliverAt is the time (ms) that a message asks for, 0 if it asks for none. Messages of the timer topic, and those that
// have been there, do not ask again.
func (p *Pipeline) deliverAt(e *Entry) (ms int64, err error) {
	if p.Timers == nil || !mayWait(e) || e.Topic == TimerTopic || e.Props.Has(PropTimerOut) {
		return 0, nil
	}
	for _, name := range timerProperties {
		if text := e.Props.Get(name); text != "" {
			return p.parseTime(name, text)
		}
	}
	return 0, nil
}

func (p *Pipeline) parseTime(name, text string) (ms int64, err error) {
	store := &p.Config().Store
	if !store.TimerWheelEnable {
		return 0, protocol.Errorf(protocol.RespSystemError,
			"accurate timer message is not enabled, timerWheelEnable is false")
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, p.timerIllegal()
	}
	now := p.Now().UnixMilli()
	longest := int64(store.TimerMaxDelaySec) * 1000
	var delay int64 // from now
	switch name {
	case propTimerSeconds:
		delay = max(min(n, math.MaxInt64/1000), -now/1000) * 1000
	case propTimerMillis:
		delay = n
	default:
		delay = max(n, 1) - now
	}
	if delay > longest {
		return 0, p.timerIllegal()
	}
	return max(now+delay, 1), nil
}

// flowControl refuses a message whose slot is full: some of those beyond timerCongestNumEachSlot, all beyond twice that.
func (p *Pipeline) flowControl(out int64) error {
	limit := int64(p.Config().Store.TimerCongestNumEachSlot)
	if limit >= math.MaxInt32 {
		return nil // the default
	}
	waiting := p.Timers.Waiting(out)
	if waiting <= limit || waiting < 2*limit && rand.Int64N(max(limit, 1)) >= waiting-limit {
		return nil
	}
	return protocol.Errorf(protocol.RespSystemError, "timer message is under flow control, max num limit is %d or the "+
		"current value is greater than %d and less than %d, trigger random flow control", 2*limit, limit, 2*limit)
}

func (p *Pipeline) timerIllegal() error {
	return protocol.Errorf(protocol.RespMessageIllegal, "timer message illegal, the delay time should not be bigger than "+
		"the max delay %dms; or if set del msg, the delay time should be bigger than the current time",
		int64(p.Config().Store.TimerMaxDelaySec)*1000)
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package replication

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rocketmq-go/broker/assignment"
	"rocketmq-go/broker/group"
	"rocketmq-go/broker/mapping"
	"rocketmq-go/broker/offset"
	"rocketmq-go/broker/schedule"
	"rocketmq-go/broker/timer"
	"rocketmq-go/broker/topic"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store/timerlog"
)

// Tables are what a slave takes over, beside the log.
type Tables struct {
	Topics     *topic.Table
	Mappings   *mapping.Table // nil in 4.9
	Groups     *group.Table
	Offsets    *offset.Store
	Schedule   *schedule.Service
	Assignment *assignment.Service // nil in 4.9
	Timers     *timer.Service      // nil in 4.9
	// DeleteQueues deletes the consume queues of topics that the master has deleted: their records are before a place in its
	// log.
	DeleteQueues func(topics []string, phyOffset int64)
}

// synchronizer copies a master's tables.
type synchronizer struct {
	o *SlaveOptions

	complete atomic.Bool // all tables have been copied
	failures atomic.Int64
	failing  map[string]bool         // tables whose copy failed the last time
	refused  atomic.Pointer[refusal] // the first one of the last round
	before   int64                   // end of the master's log before it was asked for its topics
	progress progress

	gate   sync.Mutex // held while something is taken over
	closed bool       // nothing may be
}

// stepTimeout bounds the request for one table, as in Java.
const stepTimeout = 3 * time.Second

// step copies one table.
type step struct {
	name string
	code int32
	take func(body []byte) error
}

func (s *synchronizer) steps() []step {
	t := &s.o.Tables
	all := []step{
		{"topics", protocol.ReqGetAllTopicConfig, s.topics},
		{"consumer offsets", protocol.ReqGetAllConsumerOffset, s.offsets},
		{"subscription groups", protocol.ReqGetAllSubscriptiongroupConfig, s.groups},
	}
	if t.Assignment != nil {
		all = append(all, step{"request modes", protocol.ReqGetAllMessageRequestMode, t.Assignment.Replace})
	}
	if s.timers() {
		all = append(all, step{"timer counts", protocol.ReqGetTimerMetrics, s.timerCounts})
	}
	return all
}

// timers tells whether this broker has timers that follow the master's.
func (s *synchronizer) timers() bool {
	return s.o.Tables.Timers != nil && s.o.Config().Store.TimerWheelEnable
}

// all copies all tables, and tells whether the master could be asked. What fails otherwise is tried again the next time, and
// holds up nothing else.
func (s *synchronizer) all(ctx context.Context, master string) (reached bool) {
	whole := true
	var refused *refusal
	defer func() { s.noteRefusal(refused) }()
	do := func(what string, f func() error) (goOn bool) {
		err := f()
		if ctx.Err() != nil {
			return false
		}
		var gone unreachable
		if reached = !errors.As(err, &gone); !reached {
			s.note("master", err)
			return false
		}
		s.note("master", nil)
		var no *refusal
		if errors.As(err, &no) {
			s.failures.Add(1)
			if refused == nil {
				refused = no
			}
			whole = false
			return true
		}
		s.note(what, err)
		whole = whole && err == nil
		return true
	}
	for _, step := range s.steps() {
		if !do(step.name, func() (err error) {
			if step.code == protocol.ReqGetAllTopicConfig {
				if s.before, err = s.logEnd(ctx, master); err != nil {
					return err
				}
			}
			body, err := s.ask(ctx, master, step.code)
			if err != nil || body == nil {
				return err
			}
			return s.enter(func() error { return step.take(body) })
		}) {
			return reached
		}
	}
	if do("progress of delayed messages", func() error { return s.follow(ctx, master) }) && whole && !s.complete.Swap(true) {
		s.o.Log.Info("the tables of the master have been copied", "master", master)
	}
	return reached
}

// closeTables has nothing taken over any more, or again. What was asked for before is not taken over later either.
func (s *synchronizer) closeTables(closed bool) {
	s.gate.Lock()
	defer s.gate.Unlock()
	if s.closed = closed; closed {
		s.progress = progress{}
	}
}

// errStandsIn is of tables that are not taken over because this slave acts as master.
var errStandsIn = errors.New("this slave acts as master")

// enter takes something over.
func (s *synchronizer) enter(take func() error) error {
	s.gate.Lock()
	defer s.gate.Unlock()
	if s.closed {
		return errStandsIn
	}
	return take()
}

// done tells whether all tables have been copied since the start.
func (s *synchronizer) done() bool { return s.complete.Load() }

// note counts a failure, and logs when something begins to fail and when it works again.
func (s *synchronizer) note(what string, err error) {
	was := s.failing[what]
	switch {
	case err == nil && was:
		delete(s.failing, what)
		s.o.Log.Info("copied from the master again", "what", what)
	case err != nil:
		s.failures.Add(1)
		if !was {
			if s.failing == nil {
				s.failing = map[string]bool{}
			}
			s.failing[what] = true
			s.o.Log.Warn("not copied from the master, will be tried again", "what", what, "error", err)
		}
	}
}

// noteRefusal logs when the master begins to refuse what the slave asks, once for all tables, and when it does no more.
func (s *synchronizer) noteRefusal(now *refusal) {
	switch was := s.refused.Swap(now); {
	case now != nil && was == nil:
		s.o.Log.Error("the master refuses to have its tables copied: innerClientAuthenticationCredentials of the slave must be those of "+
			"an administrator there", "error", now)
	case now == nil && was != nil:
		s.o.Log.Info("the master lets its tables be copied again")
	}
}

// refusal is an answer to a request whose sender the master does not know, or who may not send it.
type refusal struct{ error }

func (r *refusal) Unwrap() error { return r.error }

// refuses tells such answers: those of users and permissions have a code of their own, those of 4.x only a text.
func refuses(answer *protocol.Command) bool {
	return answer.Code == protocol.RespNoPermission ||
		answer.Code == protocol.RespSystemError && strings.Contains(answer.Remark.V, "AclException")
}

// unreachable is an error of the way to the master: nothing else can be asked either.
type unreachable struct{ error }

func (u unreachable) Unwrap() error { return u.error }

// ask gets a table; nil if the master, being of 4.9, has no such table.
func (s *synchronizer) ask(ctx context.Context, master string, code int32) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	answer, err := s.o.Call(ctx, master, &protocol.Command{Code: code})
	if errors.Is(err, context.DeadlineExceeded) { // the next table may be a smaller one
		return nil, fmt.Errorf("%s: %w", protocol.RequestName(code), err)
	}
	if err != nil {
		return nil, unreachable{err}
	}
	switch answer.Code {
	case protocol.RespSuccess:
		return answer.Body, nil
	case protocol.RespRequestCodeNotSupported:
		return nil, nil
	}
	err = fmt.Errorf("%s: code %d %s", protocol.RequestName(code), answer.Code, answer.Remark.V)
	if refuses(answer) {
		err = &refusal{err}
	}
	return nil, err
}

// topics takes over topics and, in 5.x, which of them are static. Topics that are gone take their consume queues along: the
// master's have gone too, and a new topic of the same name begins at 0. Its messages may have come already.
func (s *synchronizer) topics(body []byte) error {
	var w protocol.TopicConfigAndMappingSerializeWrapper
	if err := fastjson.Unmarshal(body, &w); err != nil {
		return err
	}
	t := &s.o.Tables
	if t.Mappings != nil {
		t.Mappings.Replace(w.TopicQueueMappingDetailMap, w.MappingDataVersion)
	}
	if gone := t.Topics.Replace(&w.TopicConfigSerializeWrapper); len(gone) > 0 {
		t.DeleteQueues(gone, s.before)
	}
	return nil
}

func (s *synchronizer) offsets(body []byte) error {
	var w protocol.ConsumerOffsetSerializeWrapper
	if err := fastjson.Unmarshal(body, &w); err != nil {
		return err
	}
	s.o.Tables.Offsets.Merge(&w)
	return nil
}

func (s *synchronizer) groups(body []byte) error {
	var w protocol.SubscriptionGroupWrapper
	if err := fastjson.Unmarshal(body, &w); err != nil {
		return err
	}
	s.o.Tables.Groups.Replace(&w)
	return nil
}

func (s *synchronizer) timerCounts(body []byte) error {
	var w protocol.TimerMetricsSerializeWrapper
	if err := fastjson.Unmarshal(body, &w); err != nil {
		return err
	}
	s.o.Tables.Timers.ReplaceCounts(&w)
	return nil
}

// progress is how far a master has delivered what waits for a time. What it has delivered is in its log, and perhaps not in
// the slave's yet: if the slave took the progress over before, and became the master then, these messages would be lost. So
// it is kept until the log is as long as the master's was after it said how far it is.
type progress struct {
	levels []byte               // code 45
	timers *timerlog.Checkpoint // code 60; nil: there are none
	end    int64                // of the master's log
	fresh  bool                 // not taken over yet
}

// follow takes over the last progress, or the present one, if the log has come that far, and asks for the next.
func (s *synchronizer) follow(ctx context.Context, master string) error {
	if err := s.enter(s.take); err != nil {
		return err
	}
	next := progress{fresh: true}
	var err error
	if next.levels, err = s.ask(ctx, master, protocol.ReqGetAllDelayOffset); err != nil {
		return err
	}
	if s.timers() {
		body, err := s.ask(ctx, master, protocol.ReqGetTimerCheckPoint)
		if err != nil {
			return err
		}
		if body != nil {
			cp, err := timerlog.ParseCheckpoint(body)
			if err != nil {
				return err
			}
			next.timers = &cp
		}
	}
	if next.end, err = s.logEnd(ctx, master); err != nil {
		return err
	}
	return s.enter(func() error {
		s.progress = next
		return s.take()
	})
}

// take takes the progress over if it may.
func (s *synchronizer) take() error {
	p := &s.progress
	if !p.fresh || s.o.Store.MaxPhyOffset() < p.end {
		return nil
	}
	p.fresh = false
	if p.timers != nil {
		s.o.Tables.Timers.MasterAt(*p.timers)
	}
	return s.o.Tables.Schedule.Replace(p.levels)
}

// logEnd is where the master's log ends.
func (s *synchronizer) logEnd(ctx context.Context, master string) (int64, error) {
	body, err := s.ask(ctx, master, protocol.ReqGetBrokerRuntimeInfo)
	if err != nil {
		return 0, err
	}
	return protocol.LogEnd(body)
}

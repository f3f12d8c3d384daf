// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package acting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store/timerlog"
)

const (
	// again is the pause between two tries to be told of, as in Java.
	again = time.Second
	// connectWait is how long a try waits for a connection between master and slave; the next one begins with telling it again.
	connectWait = 3 * time.Second
	// connectLook is the pause between two looks for it.
	connectLook = 100 * time.Millisecond
	// askTimeout bounds one question to another broker.
	askTimeout = 3 * time.Second
)

// Place is where a broker is: its addresses, and the end of its log when it started.
type Place struct {
	Addr, HAAddr string
	End          int64
}

// Fields are those of code 906 and of its answer.
func (p Place) Fields() *protocol.ExchangeHAInfoRequestHeader {
	return &protocol.ExchangeHAInfoRequestHeader{
		MasterAddress: protocol.Some(p.Addr), MasterHaAddress: protocol.Some(p.HAAddr), MasterFlushOffset: protocol.Some(p.End),
	}
}

// ReturningOptions are what Returning needs.
type ReturningOptions struct {
	ID      int64 // of this broker
	Members func(ctx context.Context) (map[int64]string, error)
	Call    func(ctx context.Context, addr string, c *protocol.Command) (*protocol.Command, error)
	Log     *slog.Logger

	// Of a master:
	Own    func() Place
	Slaves func() int // connected, and sent the log
	// TakeOver takes over what an acting slave has come to.
	TakeOver func(Progress) error

	// Of a slave:
	Follow    func(Place)
	Connected func() bool // to its master
}

// Progress is how far a broker has come: bodies of codes 43 and 45, and the checkpoint of its timers.
type Progress struct {
	Offsets, Levels []byte
	Timers          *timerlog.Checkpoint // nil: it has none
}

// errAhead keeps a master from returning.
var errAhead = errors.New("the log of a slave is longer than this master's, which has lost its end, so what this master takes would " +
	"be what the slave has other messages for. Start that slave's store as the master, or remove it")

// Return does what has to be done before clients are told of the broker, and tries until it is done or ctx ends.
func Return(ctx context.Context, o ReturningOptions) error {
	said := ""
	for {
		err := o.try(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			return nil
		case err.Error() != said:
			said = err.Error()
			level := slog.LevelWarn
			if errors.Is(err, errAhead) {
				level = slog.LevelError
			}
			o.Log.Log(ctx, level, "no client is told of this broker yet, will be tried again", "error", err)
		}
		if !sleep(ctx, again) {
			return ctx.Err()
		}
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

func (o *ReturningOptions) try(ctx context.Context) error {
	members, err := o.Members(ctx)
	if err != nil {
		return fmt.Errorf("who else is there: %w", err)
	}
	delete(members, o.ID)
	if o.ID != MasterID {
		return o.joins(ctx, members[MasterID])
	}
	// All are looked at before the first one is told: a slave that acts goes on acting if the master cannot return.
	slaves, own := slices.Sorted(maps.Keys(members)), o.Own()
	for _, id := range slaves {
		end, err := o.logEnd(ctx, members[id])
		if err == nil && end > own.End {
			err = fmt.Errorf("it ends at %d, and this one at %d: %w", end, own.End, errAhead)
		}
		if err != nil {
			return fmt.Errorf("slave %d at %s: %w", id, members[id], err)
		}
	}
	n := 0
	for _, id := range slaves {
		follows, err := o.leads(ctx, members[id], own, n+1)
		if err != nil {
			return fmt.Errorf("slave %d at %s: %w", id, members[id], err)
		}
		if follows {
			n++
		}
	}
	return nil
}

// leads has a slave follow this master, as the n-th, and takes over what it has come to. False: it is one that cannot have acted.
func (o *ReturningOptions) leads(ctx context.Context, slave string, own Place, n int) (follows bool, err error) {
	if _, err := o.exchange(ctx, slave, own.Fields()); notSupported(err) {
		o.Log.Warn("a slave does not know of slaves that act as master", "slave", slave, "error", err)
		return false, nil
	} else if err != nil {
		return false, err
	}
	if err := o.connected(ctx, func() bool { return o.Slaves() >= n }); err != nil {
		return false, err
	}
	var p Progress
	if p.Levels, err = o.body(ctx, slave, protocol.ReqGetAllDelayOffset); err != nil {
		return false, err
	}
	if p.Offsets, err = o.body(ctx, slave, protocol.ReqGetAllConsumerOffset); err != nil {
		return false, err
	}
	body, err := o.body(ctx, slave, protocol.ReqGetTimerCheckPoint)
	if err != nil {
		return false, err
	}
	if body != nil {
		cp, err := timerlog.ParseCheckpoint(body)
		if err != nil {
			return false, err
		}
		p.Timers = &cp
	}
	o.Log.Info("a slave follows, and has told how far it came as master", "slave", slave, "ownEnd", own.End)
	return true, o.TakeOver(p)
}

// joins has this slave follow the master, if there is one.
func (o *ReturningOptions) joins(ctx context.Context, master string) error {
	if master == "" {
		return nil
	}
	answer, err := o.exchange(ctx, master, &protocol.ExchangeHAInfoRequestHeader{})
	var refusal *protocol.Error
	if errors.As(err, &refusal) { // it has no acting slaves: where its log is the name server tells
		o.Log.Warn("the master does not know of slaves that act as master", "master", master, "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	if answer.HAAddr == "" {
		return fmt.Errorf("the master at %s does not tell where its log is", master)
	}
	answer.Addr = master
	o.Follow(answer)
	if err := o.connected(ctx, o.Connected); err != nil { // it has what it has, and clients may want that
		o.Log.Warn("this slave does not follow its master yet", "master", master, "error", err)
	}
	return nil
}

func (o *ReturningOptions) connected(ctx context.Context, is func() bool) error {
	for began := time.Now(); !is(); {
		if time.Since(began) >= connectWait {
			return errors.New("master and slave are not connected")
		}
		if !sleep(ctx, connectLook) {
			return ctx.Err()
		}
	}
	return nil
}

// exchange sends code 906.
func (o *ReturningOptions) exchange(ctx context.Context, addr string, h *protocol.ExchangeHAInfoRequestHeader) (p Place, err error) {
	cmd := &protocol.Command{Code: protocol.ReqExchangeBrokerHaInfo}
	h.AppendFields(&cmd.Fields)
	answer, err := o.ask(ctx, addr, cmd)
	if err != nil {
		return p, err
	}
	var back protocol.ExchangeHAInfoResponseHeader
	if err := back.ParseFields(&answer.Fields); err != nil {
		return p, err
	}
	return Place{back.MasterAddress.V, back.MasterHaAddress.V, back.MasterFlushOffset.V}, nil
}

func (o *ReturningOptions) ask(ctx context.Context, addr string, cmd *protocol.Command) (*protocol.Command, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answer, err := o.Call(ctx, addr, cmd)
	if err == nil && answer.Code != protocol.RespSuccess {
		err = protocol.Errorf(answer.Code, "%s: %s", protocol.RequestName(cmd.Code), answer.Remark.V)
	}
	return answer, err
}

func notSupported(err error) bool {
	var refusal *protocol.Error
	return errors.As(err, &refusal) && refusal.Code == protocol.RespRequestCodeNotSupported
}

// body is the body of an answer, nil if the broker has nothing to tell.
func (o *ReturningOptions) body(ctx context.Context, addr string, code int32) ([]byte, error) {
	answer, err := o.ask(ctx, addr, &protocol.Command{Code: code})
	if notSupported(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// logEnd is where the log of a broker ends.
func (o *ReturningOptions) logEnd(ctx context.Context, addr string) (int64, error) {
	body, err := o.body(ctx, addr, protocol.ReqGetBrokerRuntimeInfo)
	if err != nil {
		return 0, err
	}
	return protocol.LogEnd(body)
}

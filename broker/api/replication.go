// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"context"
	"strings"
	"time"

	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// Replication of 5.x, as tools and masters see it:
//
//	907 GET_BROKER_HA_STATUS, 908 RESET_MASTER_FLUSH_OFFSET (which only a slave has)
//	1007 GET_BROKER_EPOCH_CACHE: there are no controllers
//	905 NOTIFY_MIN_BROKER_ID_CHANGE: where slaves may act as master, the name server is asked who lives
//	906 EXCHANGE_BROKER_HA_INFO: only there; who the master is, asked of the master or told to a slave
//	1008 NOTIFY_BROKER_ROLE_CHANGED: nothing follows
type replication struct {
	service Replication
	group   Group // nil: no slave acts as master
}

// Replication is a broker's part in a pair of master and slaves.
type Replication interface {
	Status() *protocol.HARuntimeInfo
	ResetMasterFlushOffset(offset int64)
}

// Group is a broker's part in a group of which slaves may act as master.
type Group interface {
	// MinChanged is told that a name server says so.
	MinChanged()
	// Exchange answers code 906.
	Exchange(ctx context.Context, told *protocol.ExchangeHAInfoRequestHeader) (*protocol.ExchangeHAInfoResponseHeader, error)
}

func (h *replication) status(*remoting.Request) (*protocol.Response, error) {
	return answerJSON(h.service.Status()), nil
}

func (h *replication) resetFlushOffset(r *remoting.Request) (*protocol.Response, error) {
	header, err := remoting.ParseHeader[protocol.ResetMasterFlushOffsetHeader](r)
	if err != nil {
		return nil, err
	}
	if header.MasterFlushOffset.Set {
		h.service.ResetMasterFlushOffset(header.MasterFlushOffset.V)
	}
	return &protocol.Response{}, nil
}

func (h *replication) accepted(*remoting.Request) (*protocol.Response, error) {
	return &protocol.Response{}, nil
}

func (h *replication) minBrokerID(r *remoting.Request) (*protocol.Response, error) {
	header, err := remoting.ParseHeader[protocol.NotifyMinBrokerIdChangeRequestHeader](r)
	if err != nil {
		return nil, err
	}
	if !header.MinBrokerID.Set {
		return nil, missing("minBrokerId")
	}
	if h.group != nil {
		h.group.MinChanged()
	}
	return &protocol.Response{}, nil
}

func (h *replication) exchange(ctx context.Context, r *remoting.Request) (*protocol.Response, error) {
	header, err := remoting.ParseHeader[protocol.ExchangeHAInfoRequestHeader](r)
	if err != nil {
		return nil, err
	}
	header.MasterAddress.V, header.MasterHaAddress.V = strings.Clone(header.MasterAddress.V), strings.Clone(header.MasterHaAddress.V)
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	answer, err := h.group.Exchange(ctx, header)
	if err != nil {
		return nil, err
	}
	return &protocol.Response{Header: answer}, nil
}

// exchangeTimeout bounds the handing over from an acting slave to its master, which asks no longer.
const exchangeTimeout = 3 * time.Second

func (h *replication) noController(*remoting.Request) (*protocol.Response, error) {
	return nil, protocol.Errorf(protocol.RespSystemError, "this request only for controllerMode ")
}

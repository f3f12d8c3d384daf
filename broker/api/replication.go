// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// Replication of 5.x, as tools and masters see it:
//
//	907 GET_BROKER_HA_STATUS, 908 RESET_MASTER_FLUSH_OFFSET (which only a slave has)
//	1007 GET_BROKER_EPOCH_CACHE: there are no controllers
//	905 NOTIFY_MIN_BROKER_ID_CHANGE, 1008 NOTIFY_BROKER_ROLE_CHANGED: nothing follows for such a broker
type replication struct{ service Replication }

// Replication is a broker's part in a pair of master and slaves.
type Replication interface {
	Status() *protocol.HARuntimeInfo
	ResetMasterFlushOffset(offset int64)
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
	return &protocol.Response{}, nil
}

func (h *replication) noController(*remoting.Request) (*protocol.Response, error) {
	return nil, protocol.Errorf(protocol.RespSystemError, "this request only for controllerMode ")
}

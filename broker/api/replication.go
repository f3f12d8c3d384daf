// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// What a master without slaves and without a controller says of replication (5.x):
//
//	907 GET_BROKER_HA_STATUS, 908 RESET_MASTER_FLUSH_OFFSET (only a slave has one), 1007 GET_BROKER_EPOCH_CACHE
//	905 NOTIFY_MIN_BROKER_ID_CHANGE, 1008 NOTIFY_BROKER_ROLE_CHANGED: nothing follows for such a broker
type replication struct{ store Store }

func (h *replication) status(*remoting.Request) (*protocol.Response, error) {
	return answerJSON(&protocol.HARuntimeInfo{Master: true, MasterCommitLogMaxOffset: h.store.MaxPhyOffset()}), nil
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

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"errors"
	"log/slog"
	"strings"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// The broker's own configuration and state:
//
//	25 UPDATE_BROKER_CONFIG     all of a request's keys or none; unknown ones are ignored, and named in the remark
//	26 GET_BROKER_CONFIG        all keys, as text
//	28 GET_BROKER_RUNTIME_INFO  a table of texts
type configs struct {
	config  *config.Broker
	runtime func() map[string]string
	log     *slog.Logger
}

func (c *configs) update(r *remoting.Request) (*protocol.Response, error) {
	change, err := c.config.Update(r.Body)
	var blocked *config.BlackListError
	switch {
	case errors.As(err, &blocked):
		return nil, protocol.Errorf(protocol.RespNoPermission, "%s", err)
	case err != nil:
		return nil, protocol.Errorf(protocol.RespSystemError, "%s", err)
	}
	c.log.Info("configuration changed by a request", "client", r.Channel.RemoteAddr(), "keys", change.Keys)
	answer := &protocol.Response{}
	if change.Notes != nil {
		c.log.Warn("configuration changed by a request", "client", r.Channel.RemoteAddr(), "notes", change.Notes, "unknownKeys", len(change.Ignored))
		answer.Remark = protocol.Some(strings.Join(change.Notes, "; "))
	}
	if change.SaveErr != nil {
		c.log.Error("configuration file not written; the new values hold until the next start", "error", change.SaveErr)
	}
	return answer, nil
}

func (c *configs) get(*remoting.Request) (*protocol.Response, error) {
	v := c.config.DataVersion()
	version := fastjson.Marshal(&protocol.DataVersion{
		Counter: v.Counter, StateVersion: v.StateVersion, Timestamp: v.Timestamp,
	})
	return &protocol.Response{
		Header: &protocol.GetBrokerConfigResponseHeader{Version: protocol.Some(string(version))},
		Body:   []byte(c.config.Exposed()),
	}, nil
}

func (c *configs) runtimeInfo(*remoting.Request) (*protocol.Response, error) {
	b := &protocol.KVTable{}
	b.Table.Clear()
	for name, value := range c.runtime() {
		b.Table.Set(name, value)
	}
	return answerJSON(b), nil
}

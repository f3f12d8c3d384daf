// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package namesrv

import (
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// 100 PUT_KV_CONFIG, 101 GET_KV_CONFIG, 102 DELETE_KV_CONFIG, 219 GET_KVLIST_BY_NAMESPACE.
//
// A null key would stop every broker that reads the namespace, and a null value reads like no entry, so 100 refuses
// both. A change is answered once it is on disk. Deleting what does not exist succeeds.

func (s *Server) putKV(r *remoting.Request, _ *protocol.Response) error {
	var h protocol.PutKVConfigRequestHeader
	if err := h.ParseFields(&r.Fields); err != nil {
		return err
	}
	if h.Namespace.V == "" || h.Key.V == "" {
		return protocol.Errorf(protocol.RespSystemError, "namespace or key is null")
	}
	if !h.Value.Set {
		return protocol.Errorf(protocol.RespSystemError, "value is null")
	}
	return s.kv.Put(h.Namespace.V, h.Key.V, h.Value.V)
}

func (s *Server) getKV(r *remoting.Request, resp *protocol.Response) error {
	var h protocol.GetKVConfigRequestHeader
	var answer protocol.GetKVConfigResponseHeader
	resp.Header = &answer
	if err := h.ParseFields(&r.Fields); err != nil {
		return err
	}
	value, ok := s.kv.Get(h.Namespace.V, h.Key.V)
	if !ok {
		return protocol.Errorf(protocol.RespQueryNotFound, "No config item, Namespace: %s Key: %s",
			orNull(h.Namespace), orNull(h.Key))
	}
	answer.Value = protocol.Some(value)
	return nil
}

func (s *Server) deleteKV(r *remoting.Request, _ *protocol.Response) error {
	var h protocol.DeleteKVConfigRequestHeader
	if err := h.ParseFields(&r.Fields); err != nil {
		return err
	}
	if h.Namespace.V == "" || h.Key.V == "" {
		return protocol.Errorf(protocol.RespSystemError, "namespace or key is null")
	}
	return s.kv.Delete(h.Namespace.V, h.Key.V)
}

func (s *Server) listKV(r *remoting.Request, resp *protocol.Response) error {
	var h protocol.GetKVListByNamespaceRequestHeader
	if err := h.ParseFields(&r.Fields); err != nil {
		return err
	}
	body, ok := s.kv.Namespace(h.Namespace.V)
	if !ok {
		return protocol.Errorf(protocol.RespQueryNotFound, "No config item, Namespace: %s", orNull(h.Namespace))
	}
	resp.Body = body
	return nil
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package namesrv

import (
	"strings"

	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// 318 UPDATE_NAMESRV_CONFIG, 319 GET_NAMESRV_CONFIG.
//
// Bodies are properties texts. Keys that nobody knows are ignored and named in the remark, keys on the black list refuse the whole request.

func (s *Server) updateConfig(r *remoting.Request, resp *protocol.Response) error {
	change, err := s.cfg.Update(r.Body)
	if err != nil {
		s.log.Warn("configuration update refused", "err", err)
		forbidden, text := config.UpdateRefusal(err)
		if forbidden {
			return protocol.Errorf(protocol.RespNoPermission, "%s", text)
		}
		return protocol.Errorf(protocol.RespSystemError, "%s", text)
	}
	s.log.Info("configuration updated", "keys", change.Keys, "from", r.Channel.RemoteAddr())
	if change.Notes != nil {
		s.log.Warn("configuration updated", "notes", change.Notes, "unknownKeys", len(change.Ignored), "from", r.Channel.RemoteAddr())
		resp.Remark = protocol.Some(strings.Join(change.Notes, "; "))
	}
	if change.SaveErr != nil {
		s.log.Error("configuration holds in memory only", "err", change.SaveErr)
	}
	return nil
}

func (s *Server) getConfig(_ *remoting.Request, resp *protocol.Response) error {
	resp.Body = []byte(s.cfg.Exposed())
	return nil
}

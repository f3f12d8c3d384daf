// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"strings"

	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// Users and permissions of 5.x: 3001–3005 create, update, delete, get and list users, 3006–3010 the same for permissions.
// This broker keeps none. Java's answers like this where authenticationMetadataProvider is not set, though its remarks
// mostly only say that a system error has occurred.
var errNoUsers = protocol.Errorf(protocol.RespSystemError,
	"The authenticationMetadataProvider is not configured: this broker keeps no users and permissions.")

// noUsers makes the handler of one of the codes; field is what the request must name, or "".
func noUsers(field string, blank *protocol.Error) handler {
	return func(r *remoting.Request) (*protocol.Response, error) {
		if value, _ := r.Fields.Get(field); field != "" && strings.TrimSpace(value) == "" {
			return nil, blank
		}
		return nil, errNoUsers
	}
}

var (
	errBlankUser  = protocol.Errorf(protocol.RespInvalidParameter, "The username is blank")
	errNoUserName = protocol.Errorf(protocol.RespNoPermission, "username can not be blank")
	errNoSubject  = protocol.Errorf(protocol.RespNoPermission, "The subject is null.")
)

// userRoutes are the routes of the ten codes.
func userRoutes() []remoting.Route {
	return []remoting.Route{
		inline(protocol.ReqAuthCreateUser, noUsers("username", errBlankUser)),
		inline(protocol.ReqAuthUpdateUser, noUsers("username", errBlankUser)),
		inline(protocol.ReqAuthDeleteUser, noUsers("username", errNoUserName)),
		inline(protocol.ReqAuthGetUser, noUsers("username", errBlankUser)),
		inline(protocol.ReqAuthListUser, noUsers("", nil)),
		inline(protocol.ReqAuthCreateAcl, noUsers("", nil)),
		inline(protocol.ReqAuthUpdateAcl, noUsers("", nil)),
		inline(protocol.ReqAuthDeleteAcl, noUsers("subject", errNoSubject)),
		inline(protocol.ReqAuthGetAcl, noUsers("", nil)),
		inline(protocol.ReqAuthListAcl, noUsers("", nil)),
	}
}

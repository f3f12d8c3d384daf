// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"strconv"
	"strings"
	"sync/atomic"

	"rocketmq-go/auth"
	"rocketmq-go/auth/plain"
	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// access decides which requests reach their handlers. It is asked for each request on every port, before anything else.
// What a request needs is said once (rules); it must pass by each kind of access rules that is switched on.
//
//   - aclEnable: by the rules of 4.x, see package plain.
//   - authenticationEnabled: a request must be signed by a user that is known, unless its code is in the white list.
//   - authorizationEnabled: that user must be allowed what the request needs (rules), unless its code is in the other
//     white list. A user is believed only after their signature has been checked, whatever authenticationEnabled and its
//     white list say; Java believes the name.
type access struct {
	config func() *config.BrokerValues
	plain  func() *plain.Rules
	tables *auth.Tables
	known  map[int32]bool // codes that have a handler
	lists  atomic.Pointer[whiteLists]
}

// whiteLists are the two lists of request codes, parsed.
type whiteLists struct {
	authentication, authorization string // as configured
	noAuthentication              map[int32]bool
	noAuthorization               map[int32]bool
}

func (a *access) whiteLists(v *config.AuthConfig) *whiteLists {
	l := a.lists.Load()
	if l == nil || l.authentication != v.AuthenticationWhitelist || l.authorization != v.AuthorizationWhitelist {
		l = &whiteLists{
			authentication: v.AuthenticationWhitelist, authorization: v.AuthorizationWhitelist,
			noAuthentication: codes(v.AuthenticationWhitelist), noAuthorization: codes(v.AuthorizationWhitelist),
		}
		a.lists.Store(l)
	}
	return l
}

// codes reads request codes, separated by commas. What is no number is no code.
func codes(list string) map[int32]bool {
	m := map[int32]bool{}
	for word := range strings.SplitSeq(list, ",") {
		if n, err := strconv.ParseInt(strings.TrimSpace(word), 10, 32); err == nil {
			m[int32(n)] = true
		}
	}
	return m
}

// check is nil for a request that may be handled; otherwise the refusal.
func (a *access) check(r *remoting.Request) error {
	values := a.config()
	if values.AclEnable {
		if err := a.checkPlain(r); err != nil {
			return err
		}
	}
	v := &values.Auth
	if !v.AuthenticationEnabled && !v.AuthorizationEnabled {
		return nil
	}
	lists := a.whiteLists(v)
	var user *auth.User
	if v.AuthenticationEnabled && !lists.noAuthentication[r.Code] {
		var err error
		if user, err = a.tables.Authenticate(&r.Command); err != nil {
			return err
		}
	}
	if !v.AuthorizationEnabled || lists.noAuthorization[r.Code] || !a.known[r.Code] {
		return nil
	}
	list, err := a.needs(&r.Command)
	if err != nil {
		return protocol.Errorf(protocol.RespNoPermission, "parse authorization context error.")
	}
	return a.authorize(r, user, list)
}

// checkPlain is for aclEnable. White addresses are those of sockets: what a PROXY preamble names anybody can send.
func (a *access) checkPlain(r *remoting.Request) error {
	strict := rules[r.Code].strict
	pass, err := a.plain().Authenticate(&r.Command, r.Channel.SocketAddr().Addr(), strict)
	if err != nil || !a.known[r.Code] {
		return err
	}
	list, unclear := a.needs(&r.Command)
	if err := pass.Check(r.Code, list, strict); err != nil {
		return err
	}
	if unclear != nil {
		return plain.Refuse(unclear)
	}
	return nil
}

// needs is what a request needs. The error says why it cannot be understood.
func (a *access) needs(c *protocol.Command) ([]auth.Need, error) {
	n := needs{cluster: a.config().BrokerClusterName}
	rule, ok := rules[c.Code]
	if !ok {
		n.add(auth.Cluster, n.cluster, 0) // only All is enough
		return n.list, nil
	}
	err := n.of(c, &rule)
	return n.list, err
}

// authorize refuses a request unless its user may do what it needs. user is nil when the signature is still to be checked.
func (a *access) authorize(r *remoting.Request, user *auth.User, list []auth.Need) error {
	if _, signed := r.Fields.Get(auth.AccessKeyField); user == nil && signed && len(list) > 0 {
		var err error
		if user, err = a.tables.Authenticate(&r.Command); err != nil {
			return err
		}
	}
	return a.tables.Authorize(user, list, r.Channel.RemoteAddr().Addr())
}

// message refuses who may not read a message of the topic, which the broker has found for them.
func (a *access) message(r *remoting.Request, topic string) error {
	values := a.config()
	if values.AclEnable {
		pass, err := a.plain().Authenticate(&r.Command, r.Channel.SocketAddr().Addr(), false)
		if err == nil {
			err = pass.Check(r.Code, []auth.Need{{Resource: auth.Resource{Kind: auth.Topic, Name: topic}, Actions: sub}}, false)
		}
		if err != nil {
			return err
		}
	}
	v := &values.Auth
	if !v.AuthorizationEnabled || a.whiteLists(v).noAuthorization[r.Code] {
		return nil
	}
	var n needs
	n.topic(topic, "", get)
	return a.authorize(r, nil, n.list)
}

// bySuper tells whether whoever sent a request about users may make and change super users: a super user may, and, while
// no request needs to be signed, everybody who does not sign.
func (a *access) bySuper(c *protocol.Command) bool {
	if name, _ := c.Fields.Get(auth.AccessKeyField); name == "" {
		return !a.config().Auth.AuthenticationEnabled
	}
	u, err := a.tables.Authenticate(c)
	return err == nil && u.Super
}

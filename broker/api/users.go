// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"strings"

	"rocketmq-go/auth"
	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// Users and permissions of 5.x:
//
//		3001 to 3005 create, update, delete, get and list users
//		3006 to 3010 the same for what they may do
//
//	  - Successful answers have the remark of handlers that set none, and no body where there is nothing to tell.
//	  - The subject of 3006 and 3007 is that of the body; the header's counts when the body has none.
//	  - Without a metadata provider in the configuration there are no users; Java then mostly answers that a system error
//	    has occurred.
type users struct {
	config func() *config.BrokerValues
	tables *auth.Tables
	access *access
}

var (
	errNoProvider = protocol.Errorf(protocol.RespSystemError,
		"The authenticationMetadataProvider is not configured: this broker keeps no users and permissions.")
	errBlankUser  = protocol.Errorf(protocol.RespInvalidParameter, "The username is blank")
	errNoUserName = protocol.Errorf(protocol.RespNoPermission, "username can not be blank")
	errNoSubject  = protocol.Errorf(protocol.RespNoPermission, "The subject is null.")
	errNoAcl      = protocol.Errorf(protocol.RespSystemError, "The body of acl is null")
)

// userRoutes are the routes of the ten codes.
func (s *Services) userRoutes(access *access) []remoting.Route {
	u := &users{config: s.Config.Load, tables: s.Users, access: access}
	name := func(blank *protocol.Error, h named) handler { return u.named("username", blank, h) }
	return []remoting.Route{
		pooled(protocol.ReqAuthCreateUser, name(errBlankUser, u.create)),
		pooled(protocol.ReqAuthUpdateUser, name(errBlankUser, u.update)),
		pooled(protocol.ReqAuthDeleteUser, name(errNoUserName, u.delete)),
		inline(protocol.ReqAuthGetUser, name(errBlankUser, u.get)),
		inline(protocol.ReqAuthListUser, u.list),
		pooled(protocol.ReqAuthCreateAcl, u.putAcl),
		pooled(protocol.ReqAuthUpdateAcl, u.putAcl),
		pooled(protocol.ReqAuthDeleteAcl, u.named("subject", errNoSubject, u.deleteAcl)),
		inline(protocol.ReqAuthGetAcl, u.getAcl),
		inline(protocol.ReqAuthListAcl, u.listAcl),
	}
}

// named is a handler with the field that its request must name.
type named func(r *remoting.Request, name string) (*protocol.Response, error)

func (u *users) named(field string, blank *protocol.Error, h named) handler {
	return func(r *remoting.Request) (*protocol.Response, error) {
		value, _ := r.Fields.Get(field)
		if strings.TrimSpace(value) == "" {
			return nil, blank
		}
		if !u.configured() {
			return nil, errNoProvider
		}
		return h(r, value)
	}
}

func (u *users) configured() bool { return u.config().Auth.KeepsUsers() }

// done answers with a body, or none.
func done(v any) *protocol.Response {
	resp := &protocol.Response{}
	if v != nil {
		resp = answerJSON(v)
	}
	resp.Remark = protocol.Some(notSet)
	return resp
}

func (u *users) create(r *remoting.Request, name string) (*protocol.Response, error) {
	var b protocol.UserInfo
	if err := body(r, &b); err != nil {
		return nil, err
	}
	return done(nil), u.tables.CreateUser(name, &b, u.access.bySuper(&r.Command))
}

func (u *users) update(r *remoting.Request, name string) (*protocol.Response, error) {
	var b protocol.UserInfo
	if err := body(r, &b); err != nil {
		return nil, err
	}
	return done(nil), u.tables.UpdateUser(name, &b, u.access.bySuper(&r.Command))
}

func (u *users) delete(r *remoting.Request, name string) (*protocol.Response, error) {
	return done(nil), u.tables.DeleteUser(name, u.access.bySuper(&r.Command))
}

func (u *users) get(_ *remoting.Request, name string) (*protocol.Response, error) {
	if info, ok := u.tables.User(name); ok {
		return done(&info), nil
	}
	return done(nil), nil
}

func (u *users) list(r *remoting.Request) (*protocol.Response, error) {
	if !u.configured() {
		return nil, errNoProvider
	}
	h, err := remoting.ParseHeader[protocol.ListUsersRequestHeader](r)
	if err != nil {
		return nil, err
	}
	if list := u.tables.Users(h.Filter.V); list != nil {
		return done(list), nil
	}
	return done(nil), nil
}

func (u *users) putAcl(r *remoting.Request) (*protocol.Response, error) {
	if !u.configured() {
		return nil, errNoProvider
	}
	var b protocol.AclInfo
	if len(r.Body) > 0 {
		if err := body(r, &b); err != nil {
			return nil, err
		}
	}
	if len(b.Policies) == 0 {
		return nil, errNoAcl
	}
	if b.Subject == "" {
		b.Subject, _ = r.Fields.Get("subject")
	}
	return done(nil), u.tables.PutAcl(&b)
}

func (u *users) deleteAcl(r *remoting.Request, subject string) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.DeleteAclRequestHeader](r)
	if err != nil {
		return nil, err
	}
	return done(nil), u.tables.DeleteAcl(subject, h.PolicyType.V, h.Resource.V)
}

func (u *users) getAcl(r *remoting.Request) (*protocol.Response, error) {
	if !u.configured() {
		return nil, errNoProvider
	}
	h, err := remoting.ParseHeader[protocol.GetAclRequestHeader](r)
	if err != nil {
		return nil, err
	}
	info, ok, err := u.tables.Acl(h.Subject.V)
	if err != nil || !ok {
		return done(nil), err
	}
	return done(&info), nil
}

func (u *users) listAcl(r *remoting.Request) (*protocol.Response, error) {
	if !u.configured() {
		return nil, errNoProvider
	}
	h, err := remoting.ParseHeader[protocol.ListAclsRequestHeader](r)
	if err != nil {
		return nil, err
	}
	if list := u.tables.Acls(h.SubjectFilter.V, h.ResourceFilter.V); list != nil {
		return done(list), nil
	}
	return done(nil), nil
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"fmt"
	"strings"

	"rocketmq-go/remoting/protocol"
)

// codes with which brokers say that a user or an acl is not there; others answer an empty body.
const (
	userNotExist   = 3001
	policyNotExist = 3002
)

// onMasters sends a request that changes users or acls, and prints a line for each broker.
func (c *Call) onMasters(r request, success string) error {
	return c.onEach(func(n node) error {
		if _, err := c.exchange(n.addr, r); err != nil {
			return err
		}
		c.done(success+"\n", n.addr)
		return nil
	})
}

func createUser(c *Call) error {
	r := ask(protocol.ReqAuthCreateUser, &protocol.CreateUserRequestHeader{Username: protocol.Some(c.text("u"))})
	r.body = &protocol.UserInfo{Username: c.text("u"), Password: c.text("p"), UserType: c.text("t")}
	return c.onMasters(r, "create user to %s success.")
}

func updateUser(c *Call) error {
	r := ask(protocol.ReqAuthUpdateUser, &protocol.UpdateUserRequestHeader{Username: protocol.Some(c.text("u"))})
	r.body = &protocol.UserInfo{Username: c.text("u"), Password: c.text("p"), UserType: c.text("t"), UserStatus: c.text("s")}
	return c.onMasters(r, "update user to %s success.")
}

func deleteUser(c *Call) error {
	r := ask(protocol.ReqAuthDeleteUser, &protocol.DeleteUserRequestHeader{Username: protocol.Some(c.text("u"))})
	return c.onMasters(r, "delete user to %s success.")
}

// user is nil when it is not there.
func (c *Call) user(addr, name string) (*protocol.UserInfo, error) {
	u, err := fetchPlain[protocol.UserInfo](c, addr, ask(protocol.ReqAuthGetUser, &protocol.GetUserRequestHeader{Username: protocol.Some(name)}))
	if answered(err, userNotExist) || err == nil && u.Username == "" {
		return nil, nil
	}
	return u, err
}

func (c *Call) users(addr, filter string) ([]protocol.UserInfo, error) {
	list, err := fetchPlain[[]protocol.UserInfo](c, addr, ask(protocol.ReqAuthListUser, &protocol.ListUsersRequestHeader{Filter: protocol.Some(filter)}))
	if err != nil {
		return nil, err
	}
	return *list, nil
}

func (c *Call) userTable(list []protocol.UserInfo) {
	const format = "%-16v  %-22v  %-22v  %-22v\n"
	t := c.table("users", format, format, "#UserName", "#Password", "#UserType", "#UserStatus")
	for _, u := range list {
		t.add(u.Username, u.Password, u.UserType, u.UserStatus)
	}
}

func getUser(c *Call) error {
	return c.onEach(func(n node) error {
		u, err := c.user(n.addr, c.text("u"))
		if err != nil {
			return err
		}
		if u == nil {
			return fmt.Errorf("broker %s has no user %s", n.addr, c.text("u"))
		}
		c.userTable([]protocol.UserInfo{*u})
		return nil
	})
}

func listUser(c *Call) error {
	return c.onEach(func(n node) error {
		list, err := c.users(n.addr, c.text("f"))
		if err != nil {
			return err
		}
		if len(list) > 0 {
			c.userTable(list)
		}
		if c.Has("c") {
			c.printf("get user from %s success.\n", n.addr)
		}
		return nil
	})
}

// names are the words of an option, nil if it was not given.
func (c *Call) names(option string) []string {
	var list []string
	for name := range strings.SplitSeq(c.text(option), ",") {
		if name = strings.TrimSpace(name); name != "" {
			list = append(list, name)
		}
	}
	return list
}

func copyUser(c *Call) error {
	from, to := c.text("f"), c.text("t")
	var list []protocol.UserInfo
	if names := c.names("u"); names != nil {
		for _, name := range names {
			u, err := c.user(from, name)
			if err != nil {
				return err
			}
			if u == nil {
				return fmt.Errorf("broker %s has no user %s", from, name)
			}
			list = append(list, *u)
		}
	} else {
		var err error
		if list, err = c.users(from, ""); err != nil {
			return err
		}
	}
	for i := range list {
		u := &list[i]
		old, err := c.user(to, u.Username)
		if err != nil {
			return err
		}
		r := ask(protocol.ReqAuthCreateUser, &protocol.CreateUserRequestHeader{Username: protocol.Some(u.Username)})
		if old != nil {
			r = ask(protocol.ReqAuthUpdateUser, &protocol.UpdateUserRequestHeader{Username: protocol.Some(u.Username)})
		}
		r.body = u
		if _, err := c.exchange(to, r); err != nil {
			return err
		}
		c.done("copy user of %s from %s to %s success.\n", u.Username, from, to)
	}
	return nil
}

// acl is what createAcl and updateAcl send: the same rule for each of some resources.
func (c *Call) acl() *protocol.AclInfo {
	var entries []protocol.PolicyEntryInfo
	for _, resource := range c.names("r") {
		entries = append(entries, protocol.PolicyEntryInfo{
			Resource: resource, Actions: c.names("a"), SourceIps: c.names("i"), Decision: c.text("d"),
		})
	}
	return &protocol.AclInfo{Subject: c.text("s"), Policies: []protocol.PolicyInfo{{Entries: entries}}}
}

func createAcl(c *Call) error {
	r := ask(protocol.ReqAuthCreateAcl, &protocol.CreateAclRequestHeader{Subject: protocol.Some(c.text("s"))})
	r.body = c.acl()
	return c.onMasters(r, "create acl to %s success.")
}

func updateAcl(c *Call) error {
	r := ask(protocol.ReqAuthUpdateAcl, &protocol.UpdateAclRequestHeader{Subject: protocol.Some(c.text("s"))})
	r.body = c.acl()
	return c.onMasters(r, "update acl to %s success.")
}

func deleteAcl(c *Call) error {
	h := &protocol.DeleteAclRequestHeader{Subject: protocol.Some(c.text("s"))}
	if c.Has("r") {
		h.Resource = protocol.Some(c.text("r"))
	}
	return c.onMasters(ask(protocol.ReqAuthDeleteAcl, h), "delete acl to %s success.")
}

// aclOf is nil when the subject has none.
func (c *Call) aclOf(addr, subject string) (*protocol.AclInfo, error) {
	a, err := fetchPlain[protocol.AclInfo](c, addr, ask(protocol.ReqAuthGetAcl, &protocol.GetAclRequestHeader{Subject: protocol.Some(subject)}))
	if answered(err, policyNotExist) || err == nil && a.Subject == "" {
		return nil, nil
	}
	return a, err
}

func (c *Call) acls(addr, subject, resource string) ([]protocol.AclInfo, error) {
	list, err := fetchPlain[[]protocol.AclInfo](c, addr, ask(protocol.ReqAuthListAcl, &protocol.ListAclsRequestHeader{
		SubjectFilter: protocol.Some(subject), ResourceFilter: protocol.Some(resource),
	}))
	if err != nil {
		return nil, err
	}
	return *list, nil
}

func (c *Call) aclTable(list []protocol.AclInfo) {
	const format = "%-16v  %-10v  %-22v  %-20v  %-24v  %-10v\n"
	t := c.table("acls", format, format, "#Subject", "#PolicyType", "#Resource", "#Actions", "#SourceIp", "#Decision")
	for _, a := range list {
		for _, p := range a.Policies {
			for _, e := range p.Entries {
				ips := cell{"null", []any{}}
				if e.SourceIps != nil {
					ips = cell{listText(e.SourceIps), e.SourceIps}
				}
				t.add(a.Subject, p.PolicyType, e.Resource, cell{listText(e.Actions), e.Actions}, ips, e.Decision)
			}
		}
	}
}

func getAcl(c *Call) error {
	return c.onEach(func(n node) error {
		a, err := c.aclOf(n.addr, c.text("s"))
		if err != nil {
			return err
		}
		if a == nil {
			return fmt.Errorf("broker %s has no acl of %s", n.addr, c.text("s"))
		}
		c.aclTable([]protocol.AclInfo{*a})
		return nil
	})
}

func listAcl(c *Call) error {
	return c.onEach(func(n node) error {
		list, err := c.acls(n.addr, c.text("s"), c.text("r"))
		if err == nil && len(list) > 0 {
			c.aclTable(list)
		}
		return err
	})
}

func copyAcl(c *Call) error {
	from, to := c.text("f"), c.text("t")
	var list []protocol.AclInfo
	if subjects := c.names("s"); subjects != nil {
		for _, subject := range subjects {
			a, err := c.aclOf(from, subject)
			if err != nil {
				return err
			}
			if a == nil {
				return fmt.Errorf("broker %s has no acl of %s", from, subject)
			}
			list = append(list, *a)
		}
	} else {
		var err error
		if list, err = c.acls(from, "", ""); err != nil {
			return err
		}
	}
	for i := range list {
		a := &list[i]
		old, err := c.aclOf(to, a.Subject)
		if err != nil {
			return err
		}
		r := ask(protocol.ReqAuthCreateAcl, &protocol.CreateAclRequestHeader{Subject: protocol.Some(a.Subject)})
		if old != nil {
			r = ask(protocol.ReqAuthUpdateAcl, &protocol.UpdateAclRequestHeader{Subject: protocol.Some(a.Subject)})
		}
		r.body = a
		if _, err := c.exchange(to, r); err != nil {
			return err
		}
		c.done("copy acl of %s from %s to %s success.\n", a.Subject, from, to)
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package plain

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"rocketmq-go/auth"
	"rocketmq-go/remoting/protocol"
)

// Rules are those of all files at one moment. They do not change.
type Rules struct {
	white    []Addresses
	accounts map[string]*Account
}

// Account is what one access key may do.
type Account struct {
	AccessKey    string
	secret       string
	white        Addresses
	admin        bool
	topic, group perm            // where there is no entry
	topics       map[string]perm // as those of groups, nil without entries
	groups       map[string]perm
	written      protocol.PlainAccessConfig // as the file has it
}

// perm is a set of permissions; 0: DENY.
type perm uint8

const (
	pub perm = 1 << iota
	sub
)

// parsePerm reads a word of a file. What is not known denies, as in Java; so does ANY, which allows nothing that requests need.
func parsePerm(word string) perm {
	switch strings.TrimSpace(word) {
	case "PUB":
		return pub
	case "SUB":
		return sub
	case "PUB|SUB", "SUB|PUB":
		return pub | sub
	}
	return 0
}

const (
	retryPrefix = "%RETRY%"
	traceTopic  = "RMQ_SYS_TRACE_TOPIC" // to which everybody who is known may send
)

// refuse is how a broker of 4.x answers; behind the text it adds the place in its code.
func refuse(format string, args ...any) error {
	return protocol.Errorf(protocol.RespSystemError, "org.apache.rocketmq.acl.common.AclException: %s", fmt.Sprintf(format, args...))
}

// javaError is an error in Java's words, which are what clients see.
type javaError string

func (e javaError) Error() string { return string(e) }

func inJava(format string, args ...any) error { return javaError(fmt.Sprintf(format, args...)) }

// Refuse is the refusal of a request that cannot be understood.
func Refuse(err error) error {
	var e *protocol.Error
	if errors.As(err, &e) {
		return refuse("%s", e.Remark)
	}
	return refuse("%s", err)
}

// Pass is what somebody may do who is known.
type Pass struct {
	account *Account // nil: everything
	trusted bool     // comes from an address that is white for the account
}

// Authenticate tells who sent a request. strict requests need an account wherever they come from. The error is the
// refusal; it never tells a secret.
func (r *Rules) Authenticate(cmd *protocol.Command, source netip.Addr, strict bool) (Pass, error) {
	if !strict {
		for i := range r.white {
			if r.white[i].Contains(source) {
				return Pass{}, nil
			}
		}
	}
	key, ok := cmd.Fields.Get(auth.AccessKeyField)
	if !ok {
		return Pass{}, refuse("No accessKey is configured")
	}
	a := r.accounts[key]
	switch {
	case a == nil:
		return Pass{}, refuse("No acl config for %s", key)
	case a.white.Contains(source):
		return Pass{a, true}, nil
	case !auth.Signed4(cmd, a.secret):
		return Pass{}, refuse("Check signature failed for accessKey=%s", key)
	}
	return Pass{account: a}, nil
}

// Check refuses a request with a code unless it may do all that it needs. What needs to publish or subscribe is up to the
// permissions of topics and groups, what only reads is free, and all else is for admins, as strict requests are.
func (p Pass) Check(code int32, needs []auth.Need, strict bool) error {
	a := p.account
	if a == nil {
		return nil
	}
	admin := strict
	for _, n := range needs {
		admin = admin || n.Actions&(auth.Pub|auth.Sub|auth.Get|auth.List) == 0
	}
	switch {
	case admin && !a.admin:
		return refuse("Need admin permission for request code=%d, but accessKey=%s is not", code, a.AccessKey)
	case admin, p.trusted, a.admin && a.topics == nil && a.groups == nil:
		return nil
	}
	for _, n := range needs {
		if err := a.check(n); err != nil {
			return err
		}
	}
	return nil
}

func (a *Account) check(n auth.Need) error {
	var needed perm
	switch {
	case n.Actions&auth.Sub != 0:
		needed = sub
	case n.Actions&auth.Pub != 0:
		needed = pub
	default:
		return nil
	}
	name := n.Resource.Name
	owner, retry := strings.CutPrefix(name, retryPrefix)
	if n.Resource.Kind == auth.Group || retry {
		if n.Resource.Kind == auth.Group {
			owner = name
		}
		if a.groupPerm(owner)&needed == 0 {
			return refuse("No default permission for group:%s", owner)
		}
		return nil
	}
	if name == traceTopic && needed == pub {
		return nil
	}
	have, ok := a.topics[name]
	if !ok {
		have = a.topic
	}
	if have&needed == 0 {
		return refuse("No default permission for topic:%s", name)
	}
	return nil
}

func (a *Account) groupPerm(name string) perm {
	if p, ok := a.groups[name]; ok {
		return p
	}
	return a.group
}

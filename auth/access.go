// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package auth

import (
	"fmt"
	"net/netip"

	"rocketmq-go/remoting/protocol"
)

// Authenticate tells who signed a request. The error is the refusal: code 16, which never tells a secret.
func (t *Tables) Authenticate(cmd *protocol.Command) (*User, error) {
	name, _ := cmd.Fields.Get(AccessKeyField)
	if name == "" {
		return nil, refuse("username cannot be null.")
	}
	u, _ := t.find(name)
	switch {
	case u == nil:
		return nil, refuse(fmt.Sprintf("%s is not found.", Subject(name)))
	case u.Disabled:
		return nil, refuse(fmt.Sprintf("%s is disabled.", Subject(name)))
	case !Signed(cmd, u.Password):
		return nil, refuse("check signature failed.")
	}
	return u, nil
}

// Authorize tells whether a user, whom Authenticate returned, may do all that a request needs. nil needs nothing to be
// known of the user. The error is the refusal.
func (t *Tables) Authorize(u *User, needs []Need, source netip.Addr) error {
	if len(needs) == 0 {
		return nil
	}
	if u == nil {
		return refuse("Authorization failed. Please verify your access rights and try again.")
	}
	if u.Super {
		return nil
	}
	_, a := t.find(u.Name)
	for _, n := range needs {
		verdict := NoMatch
		if a != nil {
			verdict = a.Decide(n, source.Unmap().WithZone(""))
		}
		why := "no matched policies."
		switch verdict {
		case Allowed:
			continue
		case Denied:
			why = "the decision is deny."
		}
		return refuse(fmt.Sprintf("%s has no permission to access %s from %s, %s",
			Subject(u.Name), n.Resource, printable(source), why))
	}
	return nil
}

func printable(a netip.Addr) string {
	if !a.IsValid() {
		return "unknown"
	}
	return a.String()
}

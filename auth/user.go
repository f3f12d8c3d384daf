// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package auth

import (
	"strings"

	"rocketmq-go/remoting/protocol"
)

// User is somebody who may send requests.
type User struct {
	Name     string
	Password string // the secret key of the signature: in clear text, as the protocol needs it
	Super    bool
	Disabled bool
}

// Words of types and states, as answers have them; they are read without regard to case.
const (
	super, normal    = "Super", "Normal"
	enable, disable  = "enable", "disable"
	userSubject      = "User"
	subjectSeparator = ":"
)

func (u *User) info() protocol.UserInfo {
	i := protocol.UserInfo{Username: u.Name, Password: u.Password, UserType: normal, UserStatus: enable}
	if u.Super {
		i.UserType = super
	}
	if u.Disabled {
		i.UserStatus = disable
	}
	return i
}

// apply changes what the request names; words that are not known change nothing, as in Java.
func (u *User) apply(i *protocol.UserInfo) {
	if strings.TrimSpace(i.Password) != "" {
		u.Password = i.Password
	}
	switch {
	case strings.EqualFold(i.UserType, super):
		u.Super = true
	case strings.EqualFold(i.UserType, normal):
		u.Super = false
	}
	switch {
	case strings.EqualFold(i.UserStatus, enable):
		u.Disabled = false
	case strings.EqualFold(i.UserStatus, disable):
		u.Disabled = true
	}
}

// ParseSubject reads "User:name", the only kind of subject there is.
func ParseSubject(subject string) (user string, ok bool) {
	kind, name, ok := strings.Cut(subject, subjectSeparator)
	return name, ok && strings.EqualFold(kind, userSubject) && name != ""
}

// Subject names a user in Acls and remarks.
func Subject(user string) string { return userSubject + subjectSeparator + user }

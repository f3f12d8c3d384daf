// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package plain

import (
	"log/slog"
	"slices"
	"strings"

	"rocketmq-go/auth"
	"rocketmq-go/remoting/protocol"
)

// Users makes users and permissions of 5.x of the accounts (migrateAuthFromV1Enabled): admins become super users, entries
// the Custom policy, what holds without an entry the Default one. White addresses have no counterpart there; log is told of
// those that are lost.
//
// As Java does, but for words that are no permission, which deny as they do here (Java allows everything), and for names
// with a star, which name no topic here and would match many there.
func (f *Files) Users(log *slog.Logger) []auth.Import {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []auth.Import
	rules := f.Rules()
	for _, p := range f.files {
		if len(p.written) > 0 {
			log.Warn("global white addresses are not migrated: users of 5.x must sign", "file", p.path, "addresses", p.written)
		}
		for _, a := range p.accounts {
			if rules.accounts[a.AccessKey] != a {
				continue
			}
			if strings.TrimSpace(a.written.WhiteRemoteAddress) != "" {
				log.Warn("the white address of an account is not migrated: users of 5.x must sign", "accessKey", a.AccessKey)
			}
			list = append(list, a.user(log))
		}
	}
	return list
}

func (a *Account) user(log *slog.Logger) auth.Import {
	u := auth.Import{User: protocol.UserInfo{Username: a.AccessKey, Password: a.secret, UserType: "Normal"}}
	if a.admin {
		u.User.UserType = "Super"
	}
	entries := func(list []string, kind auth.Kind) (e []protocol.PolicyEntryInfo) {
		for _, text := range list {
			name, word, _ := splitPerm(text)
			k := kind
			if owner, retry := strings.CutPrefix(name, retryPrefix); retry && kind == auth.Topic {
				name, k = owner, auth.Group
			}
			if strings.Contains(name, "*") {
				log.Warn("an entry with a star, which means nothing in 4.x, is not migrated", "accessKey", a.AccessKey, "entry", text)
				continue
			}
			e = append(e, entry(auth.Resource{Kind: k, Name: name}, parsePerm(word)))
		}
		return e
	}
	custom := slices.Concat(entries(a.written.TopicPerms, auth.Topic), entries(a.written.GroupPerms, auth.Group))
	var byDefault []protocol.PolicyEntryInfo
	if strings.TrimSpace(a.written.DefaultTopicPerm) != "" {
		byDefault = append(byDefault, entry(auth.Resource{Kind: auth.Topic, Name: "*"}, a.topic))
	}
	if strings.TrimSpace(a.written.DefaultGroupPerm) != "" {
		byDefault = append(byDefault, entry(auth.Resource{Kind: auth.Group, Name: "*"}, a.group))
	}
	for _, p := range []protocol.PolicyInfo{{PolicyType: "Custom", Entries: custom}, {PolicyType: "Default", Entries: byDefault}} {
		if p.Entries != nil {
			u.Policies = append(u.Policies, p)
		}
	}
	return u
}

func entry(r auth.Resource, p perm) protocol.PolicyEntryInfo {
	e := protocol.PolicyEntryInfo{Resource: r.String(), Decision: "Allow"}
	if p&pub != 0 {
		e.Actions = append(e.Actions, "Pub")
	}
	if p&sub != 0 {
		e.Actions = append(e.Actions, "Sub")
	}
	if p == 0 {
		e.Actions, e.Decision = []string{"All"}, "Deny"
	}
	return e
}

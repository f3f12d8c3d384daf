// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package auth

import (
	"net/netip"
	"slices"
	"strings"

	"rocketmq-go/remoting/protocol"
)

// Acl is what one user may do. Custom policies come first; the default ones count where no custom one matches.
type Acl struct {
	Policies []Policy // at most one of each kind, in the order in which they were made
}

// Policy is the entries of one kind.
type Policy struct {
	Default bool
	Entries []Entry
}

// Entry is one rule.
type Entry struct {
	Pattern Pattern
	Actions []Actions      // each a single one, in the order in which they were given
	Sources []netip.Prefix // nil: from anywhere
	sources []string       // as they were given
	Deny    bool
}

// Need is something that a request wants to do: one of the Actions on the Resource is enough.
type Need struct {
	Resource Resource
	Actions  Actions
}

// Verdict is what the entries say of a need.
type Verdict uint8

const (
	NoMatch Verdict = iota
	Allowed
	Denied
)

// Decide finds the most special of the entries that match: the whole name, then the longest prefix, then any name; of a
// kind before "*". Of two that are equally special the one that denies counts.
//
// So says Java's documentation. Java 5.3.3 itself lets shorter patterns win over longer ones and both over whole names
// (asked).
func (a *Acl) Decide(need Need, source netip.Addr) Verdict {
	for _, byDefault := range []bool{false, true} {
		for i := range a.Policies {
			if p := &a.Policies[i]; p.Default == byDefault {
				if v := decide(p.Entries, need, source); v != NoMatch {
					return v
				}
			}
		}
	}
	return NoMatch
}

func decide(entries []Entry, need Need, source netip.Addr) Verdict {
	var best *Entry
	for i := range entries {
		e := &entries[i]
		if !e.match(need, source) {
			continue
		}
		if best == nil {
			best = e
			continue
		}
		if c := e.Pattern.compare(best.Pattern); c < 0 || c == 0 && e.Deny {
			best = e
		}
	}
	switch {
	case best == nil:
		return NoMatch
	case best.Deny:
		return Denied
	}
	return Allowed
}

func (e *Entry) match(need Need, source netip.Addr) bool {
	if !e.Pattern.match(need.Resource) {
		return false
	}
	if !slices.ContainsFunc(e.Actions, func(a Actions) bool { return a == All || a&need.Actions != 0 }) {
		return false
	}
	return e.Sources == nil || slices.ContainsFunc(e.Sources, func(p netip.Prefix) bool { return p.Contains(source) })
}

const (
	custom, byDefault = "Custom", "Default"
	allow, deny       = "Allow", "Deny"
)

// refuse is how Java answers what is wrong with users and permissions.
func refuse(remark string) error { return protocol.Errorf(protocol.RespNoPermission, "%s", remark) }

// parseEntry checks one entry of a request.
func parseEntry(i *protocol.PolicyEntryInfo) (Entry, error) {
	var e Entry
	var ok bool
	if e.Pattern, ok = ParsePattern(i.Resource); !ok {
		return e, refuse("The resource is null.")
	}
	for _, word := range i.Actions {
		if strings.EqualFold(word, "Any") {
			return e, refuse("The actions can not be Any.")
		}
		// Words that are not known are left out, as in Java: an entry for less than what was meant.
		if a := parseAction(word); a != 0 && !slices.Contains(e.Actions, a) {
			e.Actions = append(e.Actions, a)
		}
	}
	if len(e.Actions) == 0 {
		return e, refuse("The actions is empty.")
	}
	for _, text := range i.SourceIps {
		if strings.TrimSpace(text) == "" {
			return e, refuse("The source ip is empty.")
		}
		p, ok := parseSource(text)
		if !ok {
			return e, refuse("The source ip is invalid.")
		}
		e.Sources, e.sources = append(e.Sources, p), append(e.sources, text)
	}
	switch {
	case strings.EqualFold(i.Decision, deny):
		e.Deny = true
	case !strings.EqualFold(i.Decision, allow):
		return e, refuse("The decision is null or illegal.")
	}
	return e, nil
}

// parseSource reads an address or a network such as 10.0.0.0/8.
func parseSource(text string) (netip.Prefix, bool) {
	if strings.Contains(text, "/") {
		p, err := netip.ParsePrefix(text)
		if err == nil && p.Addr().Is4In6() {
			if p.Bits() < 96 {
				return p, false
			}
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		return p, err == nil
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, false
	}
	a = a.Unmap().WithZone("")
	return netip.PrefixFrom(a, a.BitLen()), true
}

func (e *Entry) info() protocol.PolicyEntryInfo {
	i := protocol.PolicyEntryInfo{Resource: e.Pattern.String(), Decision: allow, SourceIps: e.sources}
	for _, a := range e.Actions {
		i.Actions = append(i.Actions, a.String())
	}
	if e.Deny {
		i.Decision = deny
	}
	return i
}

// info is the Acl as answers have it; only entries whose pattern, as text, contains the filter. ok tells whether there are
// any.
func (a *Acl) info(user, filter string) (info protocol.AclInfo, ok bool) {
	info.Subject = Subject(user)
	for i := range a.Policies {
		p := &a.Policies[i]
		policy := protocol.PolicyInfo{PolicyType: custom}
		if p.Default {
			policy.PolicyType = byDefault
		}
		for j := range p.Entries {
			if e := p.Entries[j].info(); strings.Contains(e.Resource, filter) {
				policy.Entries = append(policy.Entries, e)
			}
		}
		if policy.Entries != nil {
			info.Policies = append(info.Policies, policy)
		}
	}
	return info, info.Policies != nil
}

// parsePolicies checks the policies of a request or file.
func parsePolicies(list []protocol.PolicyInfo) (*Acl, error) {
	a := &Acl{}
	for i := range list {
		p := &list[i]
		if len(p.Entries) == 0 {
			return nil, refuse("The policies is empty.")
		}
		for j := range p.Entries {
			e, err := parseEntry(&p.Entries[j])
			if err != nil {
				return nil, err
			}
			a.put(isDefault(p.PolicyType), e)
		}
	}
	return a, nil
}

// isDefault reads the type of a policy: Custom, unless it is the other one.
func isDefault(policyType string) bool { return strings.EqualFold(policyType, byDefault) }

// put adds an entry, or replaces the one with the same pattern.
func (a *Acl) put(byDefault bool, e Entry) {
	i := slices.IndexFunc(a.Policies, func(p Policy) bool { return p.Default == byDefault })
	if i < 0 {
		i = len(a.Policies)
		a.Policies = append(a.Policies, Policy{Default: byDefault})
	}
	p := &a.Policies[i]
	if j := slices.IndexFunc(p.Entries, func(o Entry) bool { return o.Pattern == e.Pattern }); j >= 0 {
		p.Entries[j] = e
		return
	}
	p.Entries = append(p.Entries, e)
}

// clone is a copy for changes: others may be reading a.
func (a *Acl) clone() *Acl {
	c := &Acl{slices.Clone(a.Policies)}
	for i := range c.Policies {
		c.Policies[i].Entries = slices.Clone(c.Policies[i].Entries)
	}
	return c
}

// merge is a with the entries of b put into it.
func (a *Acl) merge(b *Acl) *Acl {
	m := a.clone()
	for _, p := range b.Policies {
		for _, e := range p.Entries {
			m.put(p.Default, e)
		}
	}
	return m
}

// without is a without the entry of a pattern in the policy of one kind; nil when nothing is left.
func (a *Acl) without(p Pattern, byDefault bool) *Acl {
	m := a.clone()
	for i := range m.Policies {
		if q := &m.Policies[i]; q.Default == byDefault {
			q.Entries = slices.DeleteFunc(q.Entries, func(e Entry) bool { return e.Pattern == p })
		}
	}
	m.Policies = slices.DeleteFunc(m.Policies, func(p Policy) bool { return len(p.Entries) == 0 })
	if len(m.Policies) == 0 {
		return nil
	}
	return m
}

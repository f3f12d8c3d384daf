// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package auth

import (
	"math/bits"
	"strings"
)

// Kind is what a resource is.
type Kind uint8

const (
	Anything Kind = iota // only of patterns: "*"
	Cluster
	Namespace
	Topic
	Group
)

var kinds = [...]string{Anything: "Any", Cluster: "Cluster", Namespace: "Namespace", Topic: "Topic", Group: "Group"}

func (k Kind) String() string { return kinds[k] }

// Resource is one topic, group or cluster that a request is about.
type Resource struct {
	Kind Kind
	Name string
}

func (r Resource) String() string { return kinds[r.Kind] + ":" + r.Name }

// Pattern is which resources an entry is for: the literal name, all that begin with it, or all.
//
//	Topic:orders     one topic
//	Topic:orders-*   all topics whose names begin with "orders-"
//	Topic:*          all topics
//	*                everything
type Pattern struct {
	Kind   Kind
	Name   string // without the star
	Prefix bool   // Name == "": any name
}

// ParsePattern reads a pattern; its kind is read without regard to case.
func ParsePattern(text string) (Pattern, bool) {
	if text == "*" {
		return Pattern{Kind: Anything, Prefix: true}, true
	}
	kind, name, ok := strings.Cut(text, ":")
	if !ok {
		return Pattern{}, false
	}
	for k, word := range kinds {
		if strings.EqualFold(kind, word) {
			p := Pattern{Kind: Kind(k)}
			p.Name, p.Prefix = strings.CutSuffix(name, "*")
			// Java takes "Any:x" for "*".
			return p, p.Kind != Anything || p.Prefix && p.Name == ""
		}
	}
	return Pattern{}, false
}

func (p Pattern) String() string {
	star := ""
	if p.Prefix {
		star = "*"
	}
	if p.Kind == Anything {
		return star
	}
	return kinds[p.Kind] + ":" + p.Name + star
}

func (p Pattern) match(r Resource) bool {
	if p.Kind != Anything && p.Kind != r.Kind {
		return false
	}
	if p.Prefix {
		return strings.HasPrefix(r.Name, p.Name)
	}
	return p.Name == r.Name
}

// compare is negative when p is more special than q: a name before all prefixes, a longer prefix before a shorter one, a
// kind before everything.
func (p Pattern) compare(q Pattern) int {
	if p.Prefix != q.Prefix {
		if q.Prefix {
			return -1
		}
		return 1
	}
	if p.Prefix && len(p.Name) != len(q.Name) {
		return len(q.Name) - len(p.Name)
	}
	switch {
	case p.Kind == q.Kind, p.Kind != Anything && q.Kind != Anything:
		return 0
	case q.Kind == Anything:
		return -1
	}
	return 1
}

// Actions is a set of actions.
type Actions uint16

const (
	All Actions = 1 << iota // of entries: each of the others
	Pub
	Sub
	Create
	Update
	Delete
	Get
	List
)

var actionWords = [...]string{"All", "Pub", "Sub", "Create", "Update", "Delete", "Get", "List"}

// parseAction reads one word without regard to case; 0 for an unknown one.
func parseAction(word string) Actions {
	for i, w := range actionWords {
		if strings.EqualFold(word, w) {
			return 1 << i
		}
	}
	return 0
}

func (a Actions) String() string {
	var words []string
	for s := a; s != 0; s &= s - 1 {
		words = append(words, actionWords[bits.TrailingZeros16(uint16(s))])
	}
	return strings.Join(words, "|")
}

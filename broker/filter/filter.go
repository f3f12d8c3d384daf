// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package filter chooses messages for consumers: it turns a subscription expression into a store.Matcher.
//
// Tag expressions are compared by Java's String.hashCode only, so "Aa" and "BB" match each other; clients compare the
// text again. SQL92 expressions plug in through the Compiler of Matchers.
package filter

import (
	"slices"
	"strings"

	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// Expression types.
const (
	TypeTag   = "TAG"
	TypeSQL92 = "SQL92"
)

// All is the expression that matches everything.
const All = "*"

// IsTag tells whether an expression type means tags: absent, empty or exactly "TAG".
func IsTag(expressionType string) bool { return expressionType == "" || expressionType == TypeTag }

// errNoTag is what an expression such as "||" leads to: not "all", but no tag either.
var errNoTag = protocol.Errorf(protocol.RespSubscriptionParseFailed, "parse the consumer's subscription failed")

// split gives the tags of an expression, nil for all. The result's strings are views of the expression.
func split(expression string) ([]string, error) {
	if expression == "" || expression == All {
		return nil, nil
	}
	var tags []string
	seen := map[string]bool{}
	for part := range strings.SplitSeq(expression, "||") {
		// Java's trim: everything up to and including the blank.
		part = strings.TrimFunc(part, func(r rune) bool { return r <= ' ' })
		if part != "" && !seen[part] {
			seen[part] = true
			tags = append(tags, part)
		}
	}
	if tags == nil {
		return nil, errNoTag
	}
	return tags, nil
}

// Tags makes the matcher of a tag expression such as "TagA || TagB". A nil matcher means everything ("*" or empty).
// The error carries code 23 and is returned when no tag is left.
func Tags(expression string) (store.Matcher, error) {
	tags, err := split(expression)
	if err != nil || tags == nil {
		return nil, err
	}
	codes := make([]int32, len(tags))
	for i, tag := range tags {
		codes[i] = message.HashCode(0, tag)
	}
	return newTagMatcher(codes), nil
}

// Build makes the subscription of a pull request that brings its own expression (sysFlag bit 4). Its strings are
// copies. subVersion is left 0.
func Build(topic, expression, expressionType string) (*protocol.SubscriptionData, error) {
	s := &protocol.SubscriptionData{
		Topic: strings.Clone(topic), SubString: strings.Clone(expression), ExpressionType: strings.Clone(expressionType),
	}
	if !IsTag(expressionType) {
		if expression == "" {
			return nil, errNoTag
		}
		return s, nil
	}
	s.ExpressionType = TypeTag
	tags, err := split(s.SubString)
	if err != nil {
		return nil, err
	}
	if tags == nil {
		s.SubString = All
	}
	for _, tag := range tags {
		s.TagsSet = append(s.TagsSet, tag)
		s.CodeSet = append(s.CodeSet, message.HashCode(0, tag))
	}
	return s, nil
}

// Compiler makes the matcher of an expression that is not about tags.
type Compiler func(s *protocol.SubscriptionData) (store.Matcher, error)

// Of gives the matcher of a subscription as a consumer's heartbeat describes it; nil means everything. As in Java the
// codes decide, not the text, and an expression that is neither tags nor known to compile (which may be nil) matches
// everything.
func Of(s *protocol.SubscriptionData, compile Compiler) store.Matcher {
	if !IsTag(s.ExpressionType) {
		if compile == nil {
			return nil
		}
		m, err := compile(s)
		if err != nil {
			return nil
		}
		return m
	}
	if s.SubString == All {
		return nil
	}
	if len(s.CodeSet) == 0 && len(s.TagsSet) == 0 {
		// Clients that send the text only.
		m, err := Tags(s.SubString)
		if err != nil {
			return newTagMatcher(nil)
		}
		return m
	}
	if len(s.CodeSet) == 0 {
		codes := make([]int32, len(s.TagsSet))
		for i, tag := range s.TagsSet {
			codes[i] = message.HashCode(0, tag)
		}
		return newTagMatcher(codes)
	}
	return newTagMatcher(s.CodeSet)
}

// tagMatcher compares a queue unit's tags code with a set of hashes.
type tagMatcher struct {
	codes []int32            // few: a scan is fastest
	set   map[int32]struct{} // many
}

// scanUpTo is the number of tags up to which a scan beats a map.
const scanUpTo = 16

func newTagMatcher(codes []int32) *tagMatcher {
	m := &tagMatcher{codes: slices.Clone(codes)}
	if len(codes) > scanUpTo {
		m.set = make(map[int32]struct{}, len(codes))
		for _, c := range codes {
			m.set[c] = struct{}{}
		}
	}
	return m
}

// MatchUnit compares the low 32 bits, where the tag hash stands.
func (m *tagMatcher) MatchUnit(tagsCode int64) bool {
	if m.set != nil {
		_, ok := m.set[int32(tagsCode)]
		return ok
	}
	return slices.Contains(m.codes, int32(tagsCode))
}

// MatchRecord is never needed: tags are decided by the queue unit.
func (*tagMatcher) MatchRecord([]byte) bool { return true }

// NeedRecord is false: see MatchRecord.
func (*tagMatcher) NeedRecord() bool { return false }

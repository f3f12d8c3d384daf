// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package filter

import (
	"strings"

	"rocketmq-go/broker/filter/sql92"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// SQL is the Compiler of SQL92 expressions. The error carries code 23 and the remark that consumers show when they ask
// before they start (code 46).
func SQL(s *protocol.SubscriptionData) (store.Matcher, error) {
	f, err := compileSQL(s)
	if err != nil {
		return nil, err
	}
	return sqlMatcher{f}, nil
}

func compileSQL(s *protocol.SubscriptionData) (*sql92.Filter, error) {
	if s.ExpressionType != TypeSQL92 {
		return nil, protocol.Errorf(protocol.RespSubscriptionParseFailed, "unknown expression type %s", s.ExpressionType)
	}
	f, err := sql92.Compile(s.SubString)
	if err != nil {
		return nil, protocol.Errorf(protocol.RespSubscriptionParseFailed, "%s", err)
	}
	return f, nil
}

// sqlMatcher decides by the properties.
type sqlMatcher struct{ *sql92.Filter }

// MatchUnit knows nothing: a queue unit has no properties.
func (sqlMatcher) MatchUnit(int64) bool { return true }

// NeedRecord is true: see MatchUnit.
func (sqlMatcher) NeedRecord() bool { return true }

func (m sqlMatcher) MatchRecord(properties []byte) bool { return m.Match(properties) }

const retryPrefix = "%RETRY%"

// Retry is the matcher of a group's retry topic with filterSupportRetry: own, the matcher of the subscription to the retry
// topic, must match, and the group's expression for the topic that the message came from, if it has one. For other
// topics it is own.
func (t *Table) Retry(topic, group string, own store.Matcher) store.Matcher {
	if !strings.HasPrefix(topic, retryPrefix) {
		return own
	}
	return &retryMatcher{own, t, strings.Clone(group)}
}

type retryMatcher struct {
	own   store.Matcher // nil: everything
	table *Table
	group string
}

func (m *retryMatcher) MatchUnit(tagsCode int64) bool {
	return m.own == nil || m.own.MatchUnit(tagsCode)
}
func (m *retryMatcher) NeedRecord() bool { return true }

// MatchExt asks own.
func (m *retryMatcher) MatchExt(x store.ExtUnit) bool {
	own, ok := m.own.(store.ExtMatcher)
	return !ok || own.MatchExt(x)
}

func (m *retryMatcher) MatchRecord(properties []byte) bool {
	if m.own != nil && m.own.NeedRecord() && !m.own.MatchRecord(properties) {
		return false
	}
	topic, ok := message.Property(properties, "RETRY_TOPIC")
	if !ok {
		return true
	}
	d := m.table.get(topic, m.group)
	return d == nil || d.Matcher.MatchRecord(properties)
}

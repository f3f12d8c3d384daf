// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package filter

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

func code(tag string) int64 { return message.TagsCode([]byte(tag)) }

// matches names those of the tags that a matcher takes.
func matches(m store.Matcher, tags ...string) string {
	var got []string
	for _, tag := range tags {
		if m == nil || m.MatchUnit(code(tag)) {
			got = append(got, tag)
		}
	}
	return strings.Join(got, " ")
}

func TestTags(t *testing.T) {
	for expression, want := range map[string]string{
		"":                       "none TagA TagB Aa BB *",
		"*":                      "none TagA TagB Aa BB *",
		"TagA":                   "TagA",
		" TagA ":                 "TagA",
		"TagA||TagB":             "TagA TagB",
		" TagA || || TagB || \t": "TagA TagB",
		"Aa":                     "Aa BB", // equal hashes
		"*||TagA":                "TagA *",
		"TagC":                   "",
	} {
		m, err := Tags(expression)
		if err != nil {
			t.Errorf("%q: %v", expression, err)
			continue
		}
		if got := matches(m, "none", "TagA", "TagB", "Aa", "BB", "*"); got != want {
			t.Errorf("%q matches %q, want %q", expression, got, want)
		}
		if m != nil && m.MatchUnit(0) {
			t.Errorf("%q matches a message without tags", expression)
		}
		if m != nil && (m.NeedRecord() || !m.MatchRecord(nil)) {
			t.Errorf("%q wants to see the record", expression)
		}
	}
	for _, expression := range []string{"||", " || ", " "} {
		_, err := Tags(expression)
		var refusal *protocol.Error
		if !errors.As(err, &refusal) || refusal.Code != protocol.RespSubscriptionParseFailed {
			t.Errorf("%q: %v", expression, err)
		}
	}
}

// The queue unit holds the hash sign-extended, and other things above it with batches: only 32 bits count.
func TestTagsNegativeHash(t *testing.T) {
	tag := "polygenelubricants" // its hash is -2^31
	m, err := Tags(tag)
	if err != nil || code(tag) != -1<<31 || !m.MatchUnit(-1<<31) || !m.MatchUnit(1<<31) {
		t.Error(code(tag), err)
	}
}

// An expression may fill a frame; reading it must not take time in proportion to the square of its tags.
func TestVeryManyTags(t *testing.T) {
	var b strings.Builder
	for i := range 300_000 {
		fmt.Fprintf(&b, "%d||", i)
	}
	begin := time.Now()
	m, err := Tags(b.String())
	if took := time.Since(begin); err != nil || took > time.Minute || !m.MatchUnit(code("299999")) {
		t.Error(err, took)
	}
}

func TestManyTags(t *testing.T) {
	var tags []string
	for i := range 100 {
		tags = append(tags, fmt.Sprint("tag", i))
	}
	m, err := Tags(strings.Join(tags, "||"))
	if err != nil {
		t.Fatal(err)
	}
	if got := matches(m, tags...); got != strings.Join(tags, " ") || m.MatchUnit(code("tag100")) {
		t.Error(got)
	}
}

func TestBuild(t *testing.T) {
	for _, c := range []struct{ expression, kind, want string }{
		{"A||B", "", "T A||B TAG [A B]"},
		{"A", "TAG", "T A TAG [A]"},
		{"*", "TAG", "T * TAG []"},
		{"", "TAG", "T * TAG []"},
		{"a > 1", "SQL92", "T a > 1 SQL92 []"},
		{"x", "GROOVY", "T x GROOVY []"},
		{"||", "TAG", "code 23: parse the consumer's subscription failed"},
		{"", "SQL92", "code 23: parse the consumer's subscription failed"},
	} {
		s, err := Build("T", c.expression, c.kind)
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(s.Topic, " ", s.SubString, " ", s.ExpressionType, " ", s.TagsSet)
		}
		if got != c.want {
			t.Errorf("%q %q: %s, want %s", c.expression, c.kind, got, c.want)
		}
	}
}

type anyRecord struct{ store.Matcher }

func TestOf(t *testing.T) {
	compile := func(s *protocol.SubscriptionData) (store.Matcher, error) {
		if s.SubString == "bad" {
			return nil, errors.New("syntax")
		}
		return anyRecord{}, nil
	}
	hash := int32(code("A"))
	for _, c := range []struct {
		sub  protocol.SubscriptionData
		want string
	}{
		{protocol.SubscriptionData{SubString: "*", ExpressionType: "TAG"}, "A B"},
		{protocol.SubscriptionData{SubString: "", ExpressionType: "TAG"}, "A B"},
		{protocol.SubscriptionData{SubString: "A", CodeSet: []int32{hash}}, "A"},
		{protocol.SubscriptionData{SubString: "B", CodeSet: []int32{hash}}, "A"}, // codes decide, as in Java
		{protocol.SubscriptionData{SubString: "A", TagsSet: []string{"A"}}, "A"},
		{protocol.SubscriptionData{SubString: "B"}, "B"},
		{protocol.SubscriptionData{SubString: "||"}, ""},
		{protocol.SubscriptionData{SubString: "bad", ExpressionType: "SQL92"}, "A B"},
	} {
		if got := matches(Of(&c.sub, compile), "A", "B"); got != c.want {
			t.Errorf("%+v matches %q", c.sub, got)
		}
	}
	sql := protocol.SubscriptionData{SubString: "a > 1", ExpressionType: "SQL92"}
	if Of(&sql, compile) == nil || Of(&sql, nil) != nil {
		t.Error("SQL expressions")
	}
}

func FuzzTags(f *testing.F) {
	f.Add("A || B")
	f.Add("||")
	f.Add("\u00e4||\xff||\U0001F600")
	f.Fuzz(func(t *testing.T, expression string) {
		m, err := Tags(expression)
		if err != nil || m == nil {
			return
		}
		s, err := Build("T", expression, "")
		if err != nil {
			t.Fatal("Build refuses what Tags takes")
		}
		for _, tag := range s.TagsSet {
			if !m.MatchUnit(code(tag)) || !Of(s, nil).MatchUnit(code(tag)) {
				t.Errorf("%q does not match its own %q", expression, tag)
			}
		}
	})
}

func BenchmarkMatchUnit(b *testing.B) {
	m, err := Tags("TagA||TagB||TagC")
	if err != nil {
		b.Fatal(err)
	}
	c := code("TagC")
	b.ReportAllocs()
	for b.Loop() {
		if !m.MatchUnit(c) {
			b.Fatal("no match")
		}
	}
}

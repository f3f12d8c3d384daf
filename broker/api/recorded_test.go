// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api_test

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// exchange is a request of Java's mqadmin 5.3.3, as it was on the wire, and what a Java broker answered.
type exchange struct {
	File    string
	Request []byte
	Code    int32
	Remark  *string
	Body    string
	Fields  []string
}

//go:embed testdata/mqadmin.jsonl
var recorded []byte

// running is what a Java consumer answered to 307.
//
//go:embed testdata/running.json
var running string

// The requests of Java's tools, byte by byte, get answers with the code, the remark, the header fields and the names in
// the body that a Java broker's answers have. The broker is in the state in which the recorded one was.
func TestRecordedTools(t *testing.T) {
	b := start(t)
	b.topic("TopicA", 2)
	b.topic("TopicAdm", 2)
	b.group("CG_adm")
	b.group("CG_adm2")
	b.group("CG_pop")
	consumer := b.client(func(r *remoting.Request) {
		if r.Code == protocol.ReqGetConsumerRunningInfo {
			r.Reply(&protocol.Response{Body: []byte(strings.TrimSpace(running)), Remark: protocol.Some("not set any response code")})
			return
		}
		r.Reply(&protocol.Response{})
	})
	consumer.online("192.0.2.2@live", "CG_adm", "TopicA")
	b.client(nil).producer("producer", "PG_adm")
	for queue := range int32(2) {
		for range 3 {
			b.send("TopicA", queue, "KEYS\x01admkey\x02")
		}
		consumer.pull("CG_adm", "TopicA", queue, 3)
		consumer.commit("CG_adm", "TopicA", queue, 2)
		consumer.commit("CG_pop", "TopicA", queue, 1) // a group that is offline
	}
	b.eventually("the key is in the index", func() bool {
		return b.call(protocol.ReqQueryMessage, nil, "topic", "TopicA", "key", "admkey", "maxNum", "64", "beginTimestamp", "0",
			"endTimestamp", "9223372036854775807").Code == 0
	})

	conn := b.dial()
	for line := range bytes.Lines(recorded) {
		var want exchange
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(want.Request); err != nil {
			t.Fatal(err)
		}
		var asked protocol.Command
		if err := asked.Decode(want.Request); err != nil {
			t.Fatal(err)
		}
		compareAnswers(t, &want, &asked, answerOn(t, conn))
	}
}

func answerOn(t *testing.T, conn net.Conn) *protocol.Command {
	t.Helper()
	for {
		size := make([]byte, 4)
		if _, err := io.ReadFull(conn, size); err != nil {
			t.Fatal(err)
		}
		frame := slices.Grow(size, int(binary.BigEndian.Uint32(size)))[:4+binary.BigEndian.Uint32(size)]
		if _, err := io.ReadFull(conn, frame[4:]); err != nil {
			t.Fatal(err)
		}
		var answer protocol.Command
		if err := answer.Decode(frame); err != nil {
			t.Fatal(err)
		}
		if answer.Flag&1 != 0 {
			return &answer
		}
	}
}

func compareAnswers(t *testing.T, want *exchange, asked, got *protocol.Command) {
	t.Helper()
	name := protocol.RequestName(asked.Code)
	if got.Code != want.Code {
		t.Errorf("%s of %s: code %d %s, want %d", name, want.File, got.Code, got.Remark.V, want.Code)
		return
	}
	if got.Remark.Set != (want.Remark != nil) || want.Remark != nil && got.Remark.V != *want.Remark {
		t.Errorf("%s of %s: remark %v, want %v", name, want.File, got.Remark, want.Remark)
	}
	var fields []string
	for _, f := range got.Fields.List {
		fields = append(fields, f.Key)
	}
	slices.Sort(fields)
	if !slices.Equal(fields, want.Fields) {
		t.Errorf("%s of %s: fields %q, want %q", name, want.File, fields, want.Fields)
	}
	if asked.Code == protocol.ReqGetConsumerRunningInfo {
		if string(got.Body) != strings.TrimSpace(running) {
			t.Errorf("%s: the client's answer was changed to %s", name, got.Body)
		}
		return
	}
	if asked.Code == protocol.ReqQueryMessage {
		return // records
	}
	g, w := names(string(got.Body)), names(want.Body)
	for name := range g {
		if !w[name] && !onlyHere[name] {
			t.Errorf("%s of %s: %s is not in the recorded answer", protocol.RequestName(asked.Code), want.File, name)
		}
	}
	for name := range w {
		if !g[name] {
			t.Errorf("%s of %s: %s is missing", protocol.RequestName(asked.Code), want.File, name)
		}
	}
}

// onlyHere are names that Java's answer does not have: 4.x tools look for the first in a broker's runtime table.
var onlyHere = map[string]bool{"getTransferedTps": true}

// ofTheState are names that are there only in some states or configurations.
var ofTheState = regexp.MustCompile(`^(scheduleMessageOffset_\d+|storePathCommitLog)$`)

var memberName = regexp.MustCompile(`"([a-z]\w*)":|(?m:^(\w+)=)`)

// names are the names of members in a JSON body that do not depend on the broker's content, or the keys of a text.
func names(body string) map[string]bool {
	all := map[string]bool{}
	for _, m := range memberName.FindAllStringSubmatch(body, -1) {
		if name := m[1] + m[2]; !ofTheState.MatchString(name) {
			all[name] = true
		}
	}
	return all
}

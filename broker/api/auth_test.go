// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rocketmq-go/auth"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

// first is who is made at the start in these tests.
var first = auth.Credentials{AccessKey: "rocketmq", SecretKey: "12345678"}

// startSecured starts a broker that lets in only who is known and allowed.
func startSecured(t testing.TB, o ...rocketmqtest.Option) *broker {
	return start(t, append([]rocketmqtest.Option{
		rocketmqtest.WithConfig("authenticationEnabled", "true"),
		rocketmqtest.WithConfig("authorizationEnabled", "true"),
		rocketmqtest.WithConfig("initAuthenticationUser", `{"username":"rocketmq","password":"12345678"}`),
	}, o...)...)
}

// step is a request that Java's broker was asked, and its answer.
type step struct {
	Note    string
	Code    int32
	Ext     map[string]string
	Body    string
	User    *[]string // name and password; nil: first; empty: not signed
	Version int32
	Want    struct {
		Any    bool // not recorded
		Code   int32
		Remark *string
		Body   string
	}
	// Ours says why the answer here is another one: OursCode and OursRemark.
	Ours       string
	OursCode   int32
	OursRemark string
}

func (s *step) command() *protocol.Command {
	cmd := &protocol.Command{Code: s.Code, Body: []byte(s.Body), Version: s.Version}
	for k, v := range s.Ext {
		cmd.Fields.Add(k, v)
	}
	switch {
	case s.User == nil:
		first.Sign(cmd)
	case len(*s.User) == 2:
		c := auth.Credentials{AccessKey: (*s.User)[0], SecretKey: (*s.User)[1]}
		c.Sign(cmd)
	}
	return cmd
}

func readSteps(t *testing.T, path string) []step {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var steps []step
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var s step
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, s)
	}
	return steps
}

// Java 5.3.3 was asked all this with authentication and authorization on; each file from an empty broker.
func TestRecordedAuth(t *testing.T) {
	files, err := filepath.Glob("testdata/auth/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			b := startSecured(t)
			for i, s := range readSteps(t, path) {
				answer := b.ask(s.command())
				if s.Want.Any {
					continue
				}
				code, remark := s.Want.Code, ""
				if s.Want.Remark != nil {
					remark = *s.Want.Remark
				}
				if s.Ours != "" {
					code, remark = s.OursCode, s.OursRemark
				}
				users := s.Code >= protocol.ReqAuthCreateUser && s.Code <= protocol.ReqAuthListAcl
				switch refused := protocol.RespNoPermission; {
				case code == int32(refused) || users:
					// Texts of Java exceptions are its own.
					if answer.Code != code || !strings.Contains(remark, "java") && answer.Remark.V != remark {
						t.Errorf("%d, %s, %d %v %s:\n got %d %q\nwant %d %q", i+1, s.Note, s.Code, s.Ext, s.Body, answer.Code, answer.Remark.V, code, remark)
					}
					if s.Ours == "" && string(answer.Body) != s.Want.Body {
						t.Errorf("%d, %s, %d %v %s:\n got %s\nwant %s", i+1, s.Note, s.Code, s.Ext, s.Body, answer.Body, s.Want.Body)
					}
				case answer.Code == int32(refused) && !strings.HasPrefix(answer.Remark.V, "recall"):
					t.Errorf("%d, %s, %d %v %s: refused, %s", i+1, s.Note, s.Code, s.Ext, s.Body, answer.Remark.V)
				}
			}
		})
	}
}

func (b *broker) ask(cmd *protocol.Command) *protocol.Command {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	answer, err := b.c.c.Call(ctx, b.mq.BrokerAddr, cmd)
	if err != nil {
		b.t.Fatalf("%s: %v", protocol.RequestName(cmd.Code), err)
	}
	return answer
}

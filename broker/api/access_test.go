// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"rocketmq-go/auth"
	"rocketmq-go/broker/api"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

func codesOf(b *broker) []int32 {
	codes := b.mq.Broker.Dispatcher().(*api.Table).Codes()
	slices.Sort(codes)
	return codes
}

// Whoever adds a request code must say what it takes to send it.
func TestEveryCodeHasARule(t *testing.T) {
	for _, release := range []string{"5.3.3", "4.9.7"} {
		b := start(t, rocketmqtest.WithConfig("compatVersion", release))
		for _, code := range codesOf(b) {
			if _, ok := api.RuleOf(code); !ok {
				t.Errorf("%s: %d %s has no rule in access_rules.go", release, code, protocol.RequestName(code))
			}
		}
	}
}

// What can be sent without credentials, with wrong ones, and by somebody who may do nothing.
func TestNobodyElseGetsIn(t *testing.T) {
	b := startSecured(t)
	b.signed(&first, protocol.ReqAuthCreateUser, `{"password":"pass"}`, "username", "norm")
	b.signed(&first, protocol.ReqAuthCreateUser, `{"password":"pass","userStatus":"disable"}`, "username", "gone")
	// Requests without fields and body. These are free, or need nothing when they name nothing.
	open := []int32{
		protocol.ReqViewMessageByID, protocol.ReqUnregisterClient, protocol.ReqEndTransaction, protocol.ReqCheckClientConfig,
		protocol.ReqQueryAssignment,
	}
	for _, code := range append(codesOf(b), 13, 99999) {
		for _, c := range []struct {
			who  *auth.Credentials
			want string
		}{
			{nil, "username cannot be null."},
			{&auth.Credentials{SecretKey: "x"}, "username cannot be null."},
			{&auth.Credentials{AccessKey: "who", SecretKey: "x"}, "User:who is not found."},
			{&auth.Credentials{AccessKey: "gone", SecretKey: "pass"}, "User:gone is disabled."},
			{&auth.Credentials{AccessKey: "rocketmq", SecretKey: "x"}, "check signature failed."},
		} {
			if a := b.signed(c.who, code, ""); a.Code != protocol.RespNoPermission || a.Remark.V != c.want {
				t.Errorf("%d %s by %+v: %d %q", code, protocol.RequestName(code), c.who, a.Code, a.Remark.V)
			}
		}
		known := code != 13 && code != 99999
		refused := b.signed(&auth.Credentials{AccessKey: "norm", SecretKey: "pass"}, code, "").Code == protocol.RespNoPermission
		if want := known && !slices.Contains(open, code); refused != want {
			t.Errorf("%d %s by a user without permissions: refused %t", code, protocol.RequestName(code), refused)
		}
	}
}

// A signature is good for exactly one request.
func TestChangedRequests(t *testing.T) {
	b := startSecured(t)
	make := func() *protocol.Command {
		cmd := &protocol.Command{Code: protocol.ReqGetMaxOffset, Body: []byte("b")}
		cmd.Fields.Add("topic", "T")
		cmd.Fields.Add("queueId", "0")
		first.Sign(cmd)
		return cmd
	}
	if a := b.ask(make()); a.Code != protocol.RespSuccess {
		t.Fatalf("as it was signed: %d %s", a.Code, a.Remark.V)
	}
	for what, change := range map[string]func(*protocol.Command){
		"body":       func(c *protocol.Command) { c.Body = []byte("c") },
		"value":      func(c *protocol.Command) { c.Fields.List[0].Value = "U" },
		"more":       func(c *protocol.Command) { c.Fields.Add("x", "y") },
		"again":      func(c *protocol.Command) { c.Fields.Add("topic", "U") },
		"unique key": func(c *protocol.Command) { c.Fields.Add("_UNIQUE_KEY_QUERY", "true") }, // by a new client
		"order":      func(c *protocol.Command) { c.Fields.List[1].Key = "zzz" },
		"signature":  func(c *protocol.Command) { c.Fields.Add("Signature", "") },
		"long one":   func(c *protocol.Command) { c.Fields.Add("Signature", "AAAA") },
	} {
		cmd := make()
		change(cmd)
		if a := b.ask(cmd); a.Code != protocol.RespNoPermission {
			t.Errorf("%s changed: %d", what, a.Code)
		}
	}
}

func TestWhiteLists(t *testing.T) {
	b := startSecured(t,
		rocketmqtest.WithConfig("authenticationWhitelist", "34,30, 3001 ,x"), rocketmqtest.WithConfig("authorizationWhitelist", "31,34"))
	b.signed(&first, protocol.ReqAuthCreateUser, `{"password":"pass"}`, "username", "norm")
	norm := &auth.Credentials{AccessKey: "norm", SecretKey: "pass"}
	forged := &auth.Credentials{AccessKey: "rocketmq", SecretKey: "?"}
	const heartbeat = `{"clientID":"c","consumerDataSet":[{"groupName":"G","subscriptionDataSet":[{"topic":"T","subString":"*"}]}]}`
	for _, c := range []struct {
		who  *auth.Credentials
		code int32
		body string
		want string // "": let in
	}{
		{nil, protocol.ReqHeartBeat, heartbeat, ""},
		{nil, protocol.ReqGetMaxOffset, "", "Authorization failed. Please verify your access rights and try again."},
		{norm, protocol.ReqGetMaxOffset, "", "User:norm has no permission to access Topic:T from 127.0.0.1, no matched policies."},
		{forged, protocol.ReqGetMaxOffset, "", "check signature failed."},
		{&first, protocol.ReqGetMaxOffset, "", ""},
		{nil, protocol.ReqGetMinOffset, "", "username cannot be null."},
		{norm, protocol.ReqGetMinOffset, "", ""},
		{nil, protocol.ReqAuthCreateUser, `{"password":"p","userType":"Super"}`, "Authorization failed. Please verify your access rights and try again."},
		{forged, protocol.ReqAuthCreateUser, `{"password":"p","userType":"Super"}`, "check signature failed."},
	} {
		a := b.signed(c.who, c.code, c.body, "topic", "T", "queueId", "0", "username", "u")
		if refused := a.Code == protocol.RespNoPermission; refused != (c.want != "") || refused && a.Remark.V != c.want {
			t.Errorf("%s by %v: %d %q, want %q", protocol.RequestName(c.code), c.who, a.Code, a.Remark.V, c.want)
		}
	}
}

// Authorization without authentication: names are not believed either.
func TestAuthorizationAlone(t *testing.T) {
	b := start(t, rocketmqtest.WithConfig("authorizationEnabled", "true"),
		rocketmqtest.WithConfig("initAuthenticationUser", `{"username":"rocketmq","password":"12345678"}`))
	for want, who := range map[string]*auth.Credentials{
		"Authorization failed. Please verify your access rights and try again.": nil,
		"check signature failed.": {AccessKey: "rocketmq", SecretKey: "?"},
		"User:who is not found.":  {AccessKey: "who", SecretKey: "?"},
	} {
		if a := b.signed(who, protocol.ReqGetBrokerConfig, ""); a.Code != protocol.RespNoPermission || a.Remark.V != want {
			t.Errorf("%v: %d %q, want %q", who, a.Code, a.Remark.V, want)
		}
	}
	if a := b.signed(&first, protocol.ReqGetBrokerConfig, ""); a.Code != protocol.RespSuccess {
		t.Errorf("%d %q", a.Code, a.Remark.V)
	}
}

// Changes hold for the next request, on connections that are open, and after a restart.
func TestChangesHoldAtOnce(t *testing.T) {
	b := startSecured(t)
	norm := &auth.Credentials{AccessKey: "norm", SecretKey: "pass"}
	b.signed(&first, protocol.ReqAuthCreateUser, `{"password":"pass"}`, "username", "norm")
	max := func(who *auth.Credentials) int32 {
		return b.signed(who, protocol.ReqGetMaxOffset, "", "topic", "T", "queueId", "0").Code
	}
	const allow = `{"subject":"User:norm","policies":[{"entries":[{"resource":"Topic:T","actions":["Get"],"decision":"Allow"}]}]}`
	for _, s := range []struct {
		what string
		do   func()
		want int32
	}{
		{"no entry", func() {}, protocol.RespNoPermission},
		{"allowed", func() { b.signed(&first, protocol.ReqAuthCreateAcl, allow) }, protocol.RespSuccess},
		{"restarted", func() { b.mq.RestartBroker() }, protocol.RespSuccess},
		{"disabled", func() { b.signed(&first, protocol.ReqAuthUpdateUser, `{"userStatus":"disable"}`, "username", "norm") }, protocol.RespNoPermission},
		{"enabled", func() { b.signed(&first, protocol.ReqAuthUpdateUser, `{"userStatus":"enable"}`, "username", "norm") }, protocol.RespSuccess},
		{"another password", func() { b.signed(&first, protocol.ReqAuthUpdateUser, `{"password":"x"}`, "username", "norm") }, protocol.RespNoPermission},
		{"the new one", func() { norm.SecretKey = "x" }, protocol.RespSuccess},
		{"no entry", func() { b.signed(&first, protocol.ReqAuthDeleteAcl, "", "subject", "User:norm") }, protocol.RespNoPermission},
	} {
		s.do()
		if got := max(norm); got != s.want {
			t.Errorf("%s: code %d, want %d", s.what, got, s.want)
		}
	}
}

// A oneway request that is refused does nothing and is not answered.
func TestOnewayIsDropped(t *testing.T) {
	b := startSecured(t)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	cmd := &protocol.Command{Code: protocol.ReqSendMessageV2, Body: []byte("x")}
	for _, f := range [][2]string{{"a", "PG"}, {"b", "T"}, {"c", "TBW102"}, {"d", "1"}, {"e", "0"}, {"f", "0"}, {"g", "1"}, {"h", "0"}} {
		cmd.Fields.Add(f[0], f[1])
	}
	if err := b.c.c.Oneway(ctx, b.mq.BrokerAddr, cmd); err != nil {
		t.Fatal(err)
	}
	a := b.signed(&first, protocol.ReqGetMaxOffset, "", "topic", "T", "queueId", "0") // on the same connection, thus later
	var h protocol.GetMaxOffsetResponseHeader
	if err := h.ParseFields(&a.Fields); err != nil || a.Code != protocol.RespSuccess || h.Offset.V != 0 {
		t.Errorf("%d %s, offset %d %v", a.Code, a.Remark.V, h.Offset.V, err)
	}
}

// signed sends a request that who has signed; nil: nobody.
func (b *broker) signed(who *auth.Credentials, code int32, body string, fields ...string) *protocol.Command {
	b.t.Helper()
	cmd := &protocol.Command{Code: code, Body: []byte(body)}
	for i := 0; i < len(fields); i += 2 {
		cmd.Fields.Add(fields[i], fields[i+1])
	}
	if who != nil {
		who.Sign(cmd)
	}
	return b.ask(cmd)
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api_test

import (
	"net"
	"testing"
	"time"

	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

// On both ports, and behind a proxy that says where the client is: access is asked for, and by the client's address.
func TestSourceAddresses(t *testing.T) {
	mq := rocketmqtest.Start(t,
		rocketmqtest.WithConfig("authenticationEnabled", "true"), rocketmqtest.WithConfig("authorizationEnabled", "true"),
		rocketmqtest.WithConfig("initAuthenticationUser", `{"username":"rocketmq","password":"12345678"}`))
	main, fast := mq.Broker.Addr().String(), mq.Broker.FastAddr().String()
	root := &step{Code: protocol.ReqAuthCreateUser, Ext: map[string]string{"username": "norm"}, Body: `{"password":"pass"}`}
	if code, remark := askAlone(t, fast, "", root); code != protocol.RespSuccess {
		t.Fatal(code, remark)
	}
	acl := &step{Code: protocol.ReqAuthCreateAcl, Body: `{"subject":"User:norm","policies":[{"entries":[{"resource":"Topic:*","actions":["Get"],"sourceIps":["10.1.0.0/16"],"decision":"Allow"}]}]}`}
	if code, remark := askAlone(t, main, "", acl); code != protocol.RespSuccess {
		t.Fatal(code, remark)
	}
	norm, nobody := &[]string{"norm", "pass"}, &[]string{}
	for _, c := range []struct {
		addr, preamble string
		user           *[]string
		want           string
	}{
		{main, "", nobody, "username cannot be null."},
		{fast, "", nobody, "username cannot be null."},
		{main, "", norm, "User:norm has no permission to access Topic:T from 127.0.0.1, no matched policies."},
		{fast, "", norm, "User:norm has no permission to access Topic:T from 127.0.0.1, no matched policies."},
		{main, "PROXY TCP4 10.1.2.3 10.0.0.1 4000 10911\r\n", norm, ""},
		{fast, "PROXY TCP4 10.1.2.3 10.0.0.1 4000 10911\r\n", norm, ""},
		{main, "PROXY TCP4 10.2.2.3 10.0.0.1 4000 10911\r\n", norm, "User:norm has no permission to access Topic:T from 10.2.2.3, no matched policies."},
		{main, "PROXY TCP4 10.1.2.3 10.0.0.1 4000 10911\r\n", nobody, "username cannot be null."},
	} {
		get := &step{Code: protocol.ReqGetMaxOffset, Ext: map[string]string{"topic": "T", "queueId": "0"}, User: c.user}
		code, remark := askAlone(t, c.addr, c.preamble, get)
		if refused := code == protocol.RespNoPermission; refused != (c.want != "") || refused && remark != c.want {
			t.Errorf("%s %q %v: %d %q, want %q", c.addr, c.preamble, *c.user, code, remark, c.want)
		}
	}
}

// askAlone sends one request on a connection of its own.
func askAlone(t *testing.T, addr, preamble string, s *step) (int32, string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(15 * time.Second)); err != nil {
		t.Fatal(err)
	}
	frame, err := protocol.AppendFrame([]byte(preamble), s.command())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(frame); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1<<16)
	for n := 0; ; {
		m, err := conn.Read(buf[n:])
		if err != nil {
			t.Fatal(err)
		}
		n += m
		if size, err := protocol.FrameSize(buf[:n], protocol.MaxFrame); err != nil || size > 0 && size <= n {
			var answer protocol.Command
			if err := answer.Decode(buf[:size]); err != nil {
				t.Fatal(err)
			}
			return answer.Code, answer.Remark.V
		}
	}
}

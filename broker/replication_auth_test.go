// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rocketmq-go/auth"
	"rocketmq-go/remoting/protocol"
)

// A slave of a master that lets in only who signs: with the credentials of an administrator it copies everything; with others
// it says once what is wrong, and goes on asking every ten seconds.
func TestSlaveOfASecuredMaster(t *testing.T) {
	const providers = "org.apache.rocketmq.auth."
	secured := map[string][]string{
		"aclEnable": {"aclEnable=true"},
		"authenticationEnabled": {
			"authenticationEnabled=true", "authorizationEnabled=true",
			"authenticationMetadataProvider=" + providers + "authentication.provider.LocalAuthenticationMetadataProvider",
			"authorizationMetadataProvider=" + providers + "authorization.provider.LocalAuthorizationMetadataProvider",
			`initAuthenticationUser={"username":"administrator","password":"rootsecret"}`,
		},
	}
	for kind, keys := range secured {
		for credentials, works := range map[string]bool{
			`{"accessKey":"administrator","secretKey":"rootsecret"}`:  true,
			`{"accessKey":"administrator","secretKey":"wrongsecret"}`: false,
			`{"accessKey":"who","secretKey":"rootsecret"}`:            false,
			"": false,
		} {
			t.Run(kind+credentials, func(t *testing.T) {
				inBubble(t, func(t *testing.T) {
					p := newPair(t, keys...)
					conf := filepath.Join(p.dir, "conf")
					if err := os.Mkdir(conf, 0o755); err != nil {
						t.Fatal(err)
					}
					rules := "accounts:\n- {accessKey: administrator, secretKey: rootsecret, admin: true}\n"
					if err := os.WriteFile(filepath.Join(conf, "plain_acl.yml"), []byte(rules), 0o600); err != nil {
						t.Fatal(err)
					}
					p.signer = &auth.Credentials{AccessKey: "administrator", SecretKey: "rootsecret"}
					p.master()
					p.topic("T", 1)
					p.send("T", "one")
					slave := p.slave("slaveReadEnable=true", "innerClientAuthenticationCredentials="+credentials)
					for range 10 {
						p.settle()
					}
					lines := strings.Count(p.said.String(), "level=ERROR") + strings.Count(p.said.String(), "level=WARN")
					copied := strings.Contains(string(p.do(slaveHost, protocol.ReqGetAllTopicConfig).Body), `"T":{`)
					ready := slave.Ready()
					if works != (ready == nil) || works != copied || works != (lines == 0) || lines > 1 {
						t.Errorf("ready: %v, copied %t, log:\n%s", ready, copied, &p.said)
					}
					if !works && (!strings.Contains(ready.Error(), "refuses to have its tables copied: GET_BROKER_RUNTIME_INFO") ||
						!strings.Contains(p.said.String(), "innerClientAuthenticationCredentials")) {
						t.Errorf("%v\n%s", ready, &p.said)
					}
					// the log needs no credentials
					if m, s := p.logEnd(masterHost), p.logEnd(slaveHost); m != s || m == "0" {
						t.Errorf("the slave's log ends at %s, the master's at %s", s, m)
					}
					time.Sleep(time.Second)
				})
			})
		}
	}
}

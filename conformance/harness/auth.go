// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"rocketmq-go/auth"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// Runs with --auth have a broker that lets in only who signs: "acl" by the access rules of 4.x, "users" by those of 5.x.
// The suites know the accounts.

const authRules = `accounts:
- {accessKey: conf-admin, secretKey: admin-secret, admin: true}
- {accessKey: conf-both, secretKey: both-secret, defaultTopicPerm: PUB|SUB, defaultGroupPerm: SUB}
- {accessKey: conf-publisher, secretKey: publisher-secret, defaultTopicPerm: PUB}
`

const authProviders = "org.apache.rocketmq.auth."

var authKeys = map[string]map[string]string{
	"acl": {"aclEnable": "true"},
	"users": {
		"authenticationEnabled": "true", "authorizationEnabled": "true",
		"authenticationProvider":               authProviders + "authentication.provider.DefaultAuthenticationProvider",
		"authenticationMetadataProvider":       authProviders + "authentication.provider.LocalAuthenticationMetadataProvider",
		"authorizationProvider":                authProviders + "authorization.provider.DefaultAuthorizationProvider",
		"authorizationMetadataProvider":        authProviders + "authorization.provider.LocalAuthorizationMetadataProvider",
		"initAuthenticationUser":               `{"username":"conf-admin","password":"admin-secret"}`,
		"innerClientAuthenticationCredentials": `{"accessKey":"conf-admin","secretKey":"admin-secret"}`,
	},
}

// secure adds the settings of --auth.
func (s *settings) secure() error {
	if s.auth == "" {
		return nil
	}
	keys, ok := authKeys[s.auth]
	if !ok {
		return fmt.Errorf("unknown access rules %q (acl, users)", s.auth)
	}
	if s.extra == nil {
		s.extra = map[string]string{}
	}
	maps.Copy(s.extra, keys)
	return nil
}

// writeRules puts the accounts where a broker of 4.x looks for them.
func (s *settings) writeRules(home string) error {
	if s.auth != "acl" {
		return nil
	}
	conf := filepath.Join(home, "conf")
	if err := os.MkdirAll(conf, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(conf, "plain_acl.yml"), []byte(authRules), 0o600)
}

// makeUsers makes the accounts of 5.x by requests.
func (c *cluster) makeUsers(ctx context.Context) error {
	if c.auth != "users" {
		return nil
	}
	client := remoting.NewClient(remoting.ClientConfig{Version: 479})
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, u := range []struct{ name, secret, topic, group string }{
		{"conf-both", "both-secret", `"Pub","Sub","Get"`, `"Sub","Get"`}, {"conf-publisher", "publisher-secret", `"Pub"`, ""},
	} {
		entries := fmt.Sprintf(`{"resource":"Topic:*","actions":[%s],"decision":"Allow"}`, u.topic)
		if u.group != "" {
			entries += fmt.Sprintf(`,{"resource":"Group:*","actions":[%s],"decision":"Allow"}`, u.group)
		}
		for _, r := range []struct {
			code        int32
			field, name string
			body        string
		}{
			{protocol.ReqAuthCreateUser, "username", u.name, fmt.Sprintf(`{"username":%q,"password":%q}`, u.name, u.secret)},
			{protocol.ReqAuthCreateAcl, "subject", "User:" + u.name, fmt.Sprintf(`{"subject":"User:%s","policies":[{"policyType":"Custom","entries":[%s]}]}`, u.name, entries)},
		} {
			cmd := &protocol.Command{Code: r.code, Body: []byte(r.body)}
			cmd.Fields.Add(r.field, r.name)
			(&auth.Credentials{AccessKey: "conf-admin", SecretKey: "admin-secret"}).Sign(cmd)
			answer, err := client.Call(ctx, c.broker.addr(), cmd)
			if err != nil {
				return err
			}
			if answer.Code != protocol.RespSuccess {
				return fmt.Errorf("%s: %d %s", r.name, answer.Code, answer.Remark.V)
			}
		}
	}
	return nil
}

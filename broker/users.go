// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"rocketmq-go/auth"
	"rocketmq-go/remoting/protocol"
)

// openUsers loads users and permissions and makes the first user, who makes the others.
func (b *Broker) openUsers() error {
	v := b.values()
	var err error
	if b.users, err = auth.Open(filepath.Join(v.Store.StorePathRootDir, "config", "auth")); err != nil {
		return err
	}
	text := v.Auth.InitAuthenticationUser
	if text == "" || !v.Auth.KeepsUsers() {
		return nil
	}
	var first struct{ Username, Password string }
	if err := json.Unmarshal([]byte(text), &first); err != nil || first.Username == "" || first.Password == "" {
		return fmt.Errorf(`initAuthenticationUser: not {"username":"…","password":"…"}`)
	}
	if _, ok := b.users.User(first.Username); ok {
		return nil
	}
	b.log.Info("the first user is made", "user", first.Username)
	return b.users.CreateUser(first.Username, &protocol.UserInfo{Password: first.Password, UserType: "Super"}, true)
}

// signer signs the broker's own requests to name servers and other brokers; nil: they are not signed.
func (b *Broker) signer() (func(*protocol.Command), error) {
	text := b.values().Auth.InnerClientAuthenticationCredentials
	if text == "" {
		return nil, nil
	}
	var c auth.Credentials
	if err := json.Unmarshal([]byte(text), &c); err != nil || c.AccessKey == "" || c.SecretKey == "" {
		return nil, fmt.Errorf(`innerClientAuthenticationCredentials: not {"accessKey":"…","secretKey":"…"}`)
	}
	return c.Sign, nil
}

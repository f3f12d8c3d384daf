// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"rocketmq-go/auth"
	"rocketmq-go/auth/plain"
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

// openPlain reads the access rules of 4.x, to enforce them, or to make users of them, or both.
func (b *Broker) openPlain() error {
	v := b.values()
	if !v.AclEnable && !v.Auth.MigrateAuthFromV1Enabled {
		return nil
	}
	files, err := plain.Open(plain.Options{Default: v.PlainACLFile(), Dir: v.PlainACLDir(), Now: b.o.Now, Log: b.log})
	if err != nil {
		return fmt.Errorf("access rules: %w", err)
	}
	if v.AclEnable {
		b.plain = files
	}
	if !v.Auth.MigrateAuthFromV1Enabled {
		return nil
	}
	made, err := b.users.Import(files.Users(b.log))
	if err != nil {
		return fmt.Errorf("migrateAuthFromV1Enabled=true: %w", err)
	}
	b.log.Info("access rules of 4.x are users and permissions now", "new", made)
	return nil
}

// runPlain notices changes of the access rules.
func (b *Broker) runPlain(ctx context.Context) error {
	if b.plain == nil {
		return nil
	}
	return b.plain.Run(ctx)
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

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package auth

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the protocol's
	"encoding/base64"
	"hash"
	"slices"
	"strings"

	"rocketmq-go/remoting/protocol"
)

// Fields of a signed request.
const (
	AccessKeyField     = "AccessKey"
	SignatureField     = "Signature"
	SecurityTokenField = "SecurityToken"
)

// uniqueKeyQuery is a field that clients until 4.9.3 add after they have signed.
const (
	uniqueKeyQuery  = "_UNIQUE_KEY_QUERY"
	newestUnsigned  = 399 // ordinal of 4.9.3
	usualFieldCount = 32
)

// Credentials are how a client signs.
type Credentials struct {
	AccessKey     string
	SecretKey     string
	SecurityToken string // of temporary credentials; usually empty
}

// Sign adds AccessKey, SecurityToken and Signature to a request: Base64 of the HMAC-SHA1 of the values of all other
// fields in the order of their names, followed by the body.
func (c *Credentials) Sign(cmd *protocol.Command) {
	cmd.Fields.Add(AccessKeyField, c.AccessKey)
	if c.SecurityToken != "" {
		cmd.Fields.Add(SecurityTokenField, c.SecurityToken)
	}
	cmd.Fields.Add(SignatureField, base64.StdEncoding.EncodeToString(digest(cmd, c.SecretKey, "").Sum(nil)))
}

// Signed tells whether a request bears the signature of the secret key. The time it takes says nothing about the key.
func Signed(cmd *protocol.Command, secret string) bool {
	if cmd.Version <= newestUnsigned {
		return signed(cmd, secret, uniqueKeyQuery)
	}
	return signed(cmd, secret, "")
}

// Signed4 is Signed by the rule of brokers of 4.x: they leave that field out whatever the client's version is. The
// signatures of newer clients, which they refuse, are taken too.
func Signed4(cmd *protocol.Command, secret string) bool {
	return signed(cmd, secret, uniqueKeyQuery) || signed(cmd, secret, "")
}

// signed leaves out the field left, if that is not empty.
func signed(cmd *protocol.Command, secret, left string) bool {
	text, _ := cmd.Fields.Get(SignatureField)
	// Strict: what Sign prints and nothing that merely decodes to the same.
	got, err := base64.StdEncoding.Strict().DecodeString(text)
	return err == nil && hmac.Equal(got, digest(cmd, secret, left).Sum(nil))
}

// digest is over everything but the signature and the field left, if that is not empty.
func digest(cmd *protocol.Command, secret, left string) hash.Hash {
	var array [usualFieldCount]protocol.Field
	fields := array[:0]
	for _, f := range cmd.Fields.List {
		if f.Key != SignatureField && (left == "" || f.Key != left) {
			fields = append(fields, f)
		}
	}
	// A name that stands twice counts once, the last time, as it does for the handlers.
	slices.SortStableFunc(fields, func(a, b protocol.Field) int { return strings.Compare(a.Key, b.Key) })
	h := hmac.New(sha1.New, []byte(secret))
	for i, f := range fields {
		if i+1 < len(fields) && fields[i+1].Key == f.Key {
			continue
		}
		h.Write([]byte(f.Value))
	}
	h.Write(cmd.Body)
	return h
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the protocol's
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rocketmq-go/remoting/protocol"
)

// credentials reads conf/tools.yml below ROCKETMQ_HOME, as Java's tool does: accessKey, secretKey and, for temporary ones,
// securityToken. Without that file requests are not signed.
func credentials(e Env) (func(*protocol.Command), error) {
	home := e.Getenv("ROCKETMQ_HOME")
	if home == "" {
		return nil, nil
	}
	path := filepath.Join(home, "conf", "tools.yml")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	keys := map[string]string{}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, " #")
		name, value, ok := strings.Cut(line, ":")
		if ok && !strings.HasPrefix(strings.TrimSpace(line), "#") {
			keys[strings.TrimSpace(name)] = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	access, secret := keys["accessKey"], keys["secretKey"]
	if access == "" {
		return nil, nil
	}
	if secret == "" {
		return nil, fmt.Errorf("%s has an accessKey and no secretKey", path)
	}
	return func(cmd *protocol.Command) { sign(cmd, access, secret, keys["securityToken"]) }, nil
}

// sign adds the fields AccessKey and Signature: HMAC-SHA1 of the values of all fields, in the order of their names, and the
// body.
func sign(cmd *protocol.Command, access, secret, token string) {
	cmd.Fields.Add("AccessKey", access)
	if token != "" {
		cmd.Fields.Add("SecurityToken", token)
	}
	fields := slices.Clone(cmd.Fields.List)
	slices.SortStableFunc(fields, func(a, b protocol.Field) int { return strings.Compare(a.Key, b.Key) })
	h := hmac.New(sha1.New, []byte(secret))
	for _, f := range fields {
		h.Write([]byte(f.Value))
	}
	h.Write(cmd.Body)
	cmd.Fields.Add("Signature", base64.StdEncoding.EncodeToString(h.Sum(nil)))
}

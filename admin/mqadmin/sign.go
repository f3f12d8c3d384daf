// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"rocketmq-go/admin/client"
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
	return client.Signer(access, secret, keys["securityToken"]), nil
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package plain

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"strings"

	"go.yaml.in/yaml/v3"

	"rocketmq-go/remoting/protocol"
)

// shortestKey is how long an access key and a secret key must be, in UTF-16 units.
const shortestKey = 7

// file is one file as it was read.
type file struct {
	path     string
	root     *yaml.Node // the document, with all that its author wrote
	white    []Addresses
	written  []string // white, as it is written
	accounts []*Account
	version  protocol.DataVersion // 0, 0 when there is none
}

var errEmpty = errors.New("is empty")

// document is a file as YAML has it.
type document struct {
	White    []scalar         `yaml:"globalWhiteRemoteAddresses"`
	Accounts []accountElement `yaml:"accounts"`
	Version  []struct {
		Counter   int64 `yaml:"counter"`
		Timestamp int64 `yaml:"timestamp"`
	} `yaml:"dataVersion"`
}

type accountElement struct {
	AccessKey          scalar   `yaml:"accessKey"`
	SecretKey          scalar   `yaml:"secretKey"`
	WhiteRemoteAddress scalar   `yaml:"whiteRemoteAddress"`
	Admin              boolean  `yaml:"admin"`
	DefaultTopicPerm   scalar   `yaml:"defaultTopicPerm"`
	DefaultGroupPerm   scalar   `yaml:"defaultGroupPerm"`
	TopicPerms         []scalar `yaml:"topicPerms"`
	GroupPerms         []scalar `yaml:"groupPerms"`
}

// scalar is the text that Java takes a value for: of a number its decimal digits, however it is written.
type scalar string

func (s *scalar) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: not a text", n.Line)
	}
	*s = scalar(n.Value)
	switch n.ShortTag() {
	case "!!str":
	case "!!null":
		*s = ""
	default:
		i, ok := new(big.Int).SetString(n.Value, 0)
		if !ok { // a fraction, a date: nobody knows what text was meant
			return fmt.Errorf("line %d: write the value in quotes", n.Line)
		}
		*s = scalar(i.String())
	}
	return nil
}

// boolean is read as Java does, "yes" and 1 included.
type boolean bool

func (b *boolean) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: neither true nor false", n.Line)
	}
	switch strings.ToLower(n.Value) {
	case "true", "yes", "on", "1", "y", "t":
		*b = true
	case "false", "no", "off", "0", "n", "f", "", "null", "~":
		*b = false
	default:
		return fmt.Errorf("line %d: neither true nor false", n.Line)
	}
	return nil
}

// parseFile reads the text of a file. The error tells neither path nor secrets.
func parseFile(path string, text []byte) (*file, error) {
	f := &file{path: path, root: &yaml.Node{}}
	if len(bytes.TrimSpace(text)) == 0 {
		return f, errEmpty
	}
	var d document
	if err := yaml.Unmarshal(text, f.root); err != nil {
		return nil, err
	}
	if f.root.Kind == 0 { // comments only
		return f, errEmpty
	}
	if err := f.root.Decode(&d); err != nil {
		return nil, withoutValues(err)
	}
	for _, text := range d.White {
		a, err := ParseAddresses(string(text))
		if err != nil {
			return nil, err
		}
		f.white, f.written = append(f.white, a), append(f.written, string(text))
	}
	for i := range d.Accounts {
		a, err := newAccount(d.Accounts[i].config())
		if err != nil {
			return nil, err
		}
		f.accounts = append(f.accounts, a)
	}
	if len(d.Version) > 0 {
		f.version = protocol.DataVersion{Counter: d.Version[0].Counter, Timestamp: d.Version[0].Timestamp}
	}
	return f, nil
}

// withoutValues drops what the YAML library quotes from the file, which may be a secret.
func withoutValues(err error) error {
	var te *yaml.TypeError
	if !errors.As(err, &te) {
		return err
	}
	var where []string
	for _, text := range te.Errors {
		line, _, _ := strings.Cut(text, ": ")
		where = append(where, line)
	}
	return fmt.Errorf("%s: not what stands in a file of access rules", strings.Join(where, ", "))
}

func (e *accountElement) config() *protocol.PlainAccessConfig {
	return &protocol.PlainAccessConfig{
		AccessKey: string(e.AccessKey), SecretKey: string(e.SecretKey), WhiteRemoteAddress: string(e.WhiteRemoteAddress), Admin: bool(e.Admin),
		DefaultTopicPerm: string(e.DefaultTopicPerm), DefaultGroupPerm: string(e.DefaultGroupPerm),
		TopicPerms: texts(e.TopicPerms), GroupPerms: texts(e.GroupPerms),
	}
}

func texts(list []scalar) []string {
	var t []string
	for _, s := range list {
		t = append(t, string(s))
	}
	return t
}

// newAccount checks an account. Errors are Java's, but for the secret key, which it shows.
func newAccount(c *protocol.PlainAccessConfig) (*Account, error) {
	if utf16Len(c.AccessKey) < shortestKey || utf16Len(c.SecretKey) < shortestKey {
		return nil, shortKeys(c.AccessKey)
	}
	a := &Account{
		AccessKey: c.AccessKey, secret: c.SecretKey, admin: c.Admin, topic: parsePerm(c.DefaultTopicPerm), group: parsePerm(c.DefaultGroupPerm),
		written: *c,
	}
	var err error
	if a.white, err = ParseAddresses(c.WhiteRemoteAddress); err != nil {
		return nil, err
	}
	if a.topics, err = parsePerms("topic", c.TopicPerms); err != nil {
		return nil, err
	}
	if a.groups, err = parsePerms("group", c.GroupPerms); err != nil {
		return nil, err
	}
	// A group is known by its retry topic too.
	for name, p := range maps.Clone(a.topics) {
		if owner, ok := strings.CutPrefix(name, retryPrefix); ok {
			if _, named := a.groups[owner]; !named {
				if a.groups == nil {
					a.groups = map[string]perm{}
				}
				a.groups[owner] = p
			}
		}
	}
	return a, nil
}

func shortKeys(accessKey string) error {
	return inJava("The accessKey=%s and secretKey=*** cannot be null and length should longer than 6", accessKey)
}

// utf16Len is the length of a text in Java.
func utf16Len(s string) (n int) {
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}

func parsePerms(kind string, list []string) (map[string]perm, error) {
	if len(list) == 0 {
		return nil, nil
	}
	m := map[string]perm{}
	for _, text := range list {
		name, word, ok := splitPerm(text)
		if !ok {
			return nil, inJava("Parse resource permission failed for %s:%s", kind, text)
		}
		m[name] = parsePerm(word)
	}
	return m, nil
}

// splitPerm reads NAME=PERM.
func splitPerm(text string) (name, word string, ok bool) {
	name, word, ok = strings.Cut(text, "=")
	name, word = strings.TrimSpace(name), strings.TrimSpace(word)
	return name, word, ok && name != "" && word != "" && !strings.Contains(word, "=")
}

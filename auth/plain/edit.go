// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package plain

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"rocketmq-go/remoting/protocol"
)

// Edits change the nodes of a file, so that comments, and keys that are not known here, stay.

var errShape = errors.New("the file is written in a way that cannot be changed by requests")

// top is the mapping of a file; a new one when the file is empty.
func (f *file) top() (*yaml.Node, error) {
	if f.root.Kind == 0 {
		f.root.Kind = yaml.DocumentNode
	}
	if len(f.root.Content) == 0 {
		f.root.Content = []*yaml.Node{{Kind: yaml.MappingNode}}
	}
	m := f.root.Content[0]
	if m.Kind != yaml.MappingNode {
		return nil, errShape
	}
	return m, nil
}

// value is that of a key, nil if there is none.
func value(m *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	return nil
}

// put gives a key a value; comments behind the old one stay.
func put(m *yaml.Node, key string, v *yaml.Node) {
	if old := value(m, key); old != nil {
		v.HeadComment, v.LineComment, v.FootComment = old.HeadComment, old.LineComment, old.FootComment
		*old = *v
		return
	}
	m.Content = append(m.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, v)
}

// plainText is for words that YAML cannot take for anything else.
func plainText(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }

// quoted is for texts of others.
func quoted(s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.SingleQuotedStyle, Value: s}
}

func quotedList(list []string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode}
	if len(list) == 0 {
		n.Style = yaml.FlowStyle
	}
	for _, s := range list {
		n.Content = append(n.Content, quoted(s))
	}
	return n
}

// accountList is the list of accounts; a new one when there is none.
func accountList(m *yaml.Node) (*yaml.Node, error) {
	list := value(m, "accounts")
	if list == nil || list.ShortTag() == "!!null" {
		put(m, "accounts", &yaml.Node{Kind: yaml.SequenceNode})
		list = value(m, "accounts")
	}
	if list.Kind != yaml.SequenceNode {
		return nil, errShape
	}
	return list, nil
}

// find is the place of an account in the list, -1 for none.
func find(list *yaml.Node, accessKey string) int {
	return slices.IndexFunc(list.Content, func(n *yaml.Node) bool {
		var e accountElement
		return n.Decode(&e) == nil && string(e.AccessKey) == accessKey
	})
}

// putAccount sets what the request names of an account; it is made if it is not there.
func putAccount(m *yaml.Node, h *protocol.CreateAccessConfigRequestHeader) error {
	list, err := accountList(m)
	if err != nil {
		return err
	}
	i := find(list, h.AccessKey.V)
	if i < 0 {
		i = len(list.Content)
		list.Style &^= yaml.FlowStyle
		list.Content = append(list.Content, &yaml.Node{Kind: yaml.MappingNode})
		put(list.Content[i], "accessKey", quoted(h.AccessKey.V))
	}
	a := list.Content[i]
	if a.Kind != yaml.MappingNode {
		return errShape
	}
	put(a, "secretKey", quoted(h.SecretKey.V))
	put(a, "admin", plainText(strconv.FormatBool(h.Admin)))
	for _, f := range []struct {
		key  string
		text protocol.Opt[string]
	}{
		{"defaultTopicPerm", h.DefaultTopicPerm}, {"defaultGroupPerm", h.DefaultGroupPerm},
	} {
		if strings.TrimSpace(f.text.V) != "" {
			put(a, f.key, quoted(f.text.V))
		}
	}
	if h.WhiteRemoteAddress.Set {
		put(a, "whiteRemoteAddress", quoted(h.WhiteRemoteAddress.V))
	}
	if h.TopicPerms.Set {
		put(a, "topicPerms", quotedList(splitList(h.TopicPerms.V)))
	}
	if h.GroupPerms.Set {
		put(a, "groupPerms", quotedList(splitList(h.GroupPerms.V)))
	}
	return nil
}

// splitList reads a list of a request; as in Java empty words at its end are dropped.
func splitList(text string) []string {
	list := strings.Split(text, ",")
	for len(list) > 0 && list[len(list)-1] == "" && text != "" {
		list = list[:len(list)-1]
	}
	return list
}

func removeAccount(m *yaml.Node, accessKey string) error {
	list, err := accountList(m)
	if err != nil {
		return err
	}
	for i := find(list, accessKey); i >= 0; i = find(list, accessKey) {
		list.Content = slices.Delete(list.Content, i, i+1)
	}
	if len(list.Content) == 0 {
		list.Style |= yaml.FlowStyle
	}
	return nil
}

// raise counts a change.
func raise(m *yaml.Node, old protocol.DataVersion, now int64) {
	v := &yaml.Node{Kind: yaml.MappingNode}
	put(v, "counter", plainText(strconv.FormatInt(old.Counter+1, 10)))
	put(v, "timestamp", plainText(strconv.FormatInt(now, 10)))
	put(m, "dataVersion", &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{v}})
}

func (f *file) text() ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := e.Encode(f.root)
	return b.Bytes(), errors.Join(err, e.Close())
}

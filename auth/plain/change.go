// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package plain

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"rocketmq-go/broker/metafile"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

// Changes by requests: 50 to 54. A change is on disk, and holds, before its method returns; if it fails nothing is
// changed. Refusals are *protocol.Error with Java's codes and remarks.

// PutAccount makes an account or changes what the request names of one (request 50), in the file that has it, otherwise in
// the default one.
func (f *Files) PutAccount(h *protocol.CreateAccessConfigRequestHeader) error {
	failed := func(err error) error {
		return protocol.Errorf(protocol.RespUpdateAndCreateAclConfigFailed, "%s", err)
	}
	if utf16Len(h.AccessKey.V) < shortestKey || utf16Len(h.SecretKey.V) < shortestKey {
		return failed(shortKeys(h.AccessKey.Or("null")))
	}
	for _, list := range []protocol.Opt[string]{h.TopicPerms, h.GroupPerms} {
		for _, text := range splitList(list.V) {
			if err := checkPerm(text); list.Set && err != nil {
				return failed(err)
			}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.change(f.fileOf(h.AccessKey.V), func(m *yaml.Node) error { return putAccount(m, h) }); err != nil {
		return failed(err)
	}
	return nil
}

// checkPerm is strict, as files are not.
func checkPerm(text string) error {
	_, word, ok := splitPerm(text)
	if !ok {
		return inJava("Parse Resource format error for %s.\nThe expected resource format is 'Res=Perm'. For example: topicA=SUB", text)
	}
	if word != "DENY" && parsePerm(word) == 0 {
		return inJava("Parse resource permission error for %s.\nThe expected permissions are 'SUB' or 'PUB' or 'SUB|PUB' or 'PUB|SUB'.", text)
	}
	return nil
}

// DeleteAccount removes an account (request 51).
func (f *Files) DeleteAccount(accessKey protocol.Opt[string]) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := inJava("The accesskey[%s] corresponding to accessConfig has been deleted failed.", accessKey.Or("null"))
	if f.Rules().accounts[accessKey.V] != nil {
		err = f.change(f.fileOf(accessKey.V), func(m *yaml.Node) error { return removeAccount(m, accessKey.V) })
	}
	if err != nil {
		return protocol.Errorf(protocol.RespDeleteAclConfigFailed, "%s", err)
	}
	return nil
}

// SetWhite replaces the addresses that may do everything (request 53), in one of the files that are there: the default one
// if path is blank.
func (f *Files) SetWhite(addresses protocol.Opt[string], path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var known string
	if p := f.find(path); p != nil {
		known = p.path
	} else if strings.TrimSpace(path) == "" || path == f.o.Default {
		known = f.o.Default
	}
	err := inJava("The globalWhiteAddresses[%s] has been updated failed.", addresses.Or("null"))
	if addresses.Set && known != "" {
		list := slices.DeleteFunc(splitList(addresses.V), func(s string) bool { return s == "" })
		err = f.change(known, func(m *yaml.Node) error { put(m, "globalWhiteRemoteAddresses", quotedList(list)); return nil })
	}
	if err != nil {
		return protocol.Errorf(protocol.RespUpdateGlobalWhiteAddrsConfigFailed, "%s", err)
	}
	return nil
}

// fileOf is the path of the file that has the account that counts, otherwise the default one.
func (f *Files) fileOf(accessKey string) string {
	for _, p := range f.files {
		if slices.ContainsFunc(p.accounts, func(a *Account) bool { return a.AccessKey == accessKey }) {
			return p.path
		}
	}
	return f.o.Default
}

// change edits the file at path as it is on disk now, which is made if it is not there. f.mu is held.
func (f *Files) change(path string, edit func(*yaml.Node) error) error {
	texts, err := f.read()
	if err != nil {
		return err
	}
	files, err := f.parse(texts)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(files, func(p *file) bool { return p.path == path })
	if i < 0 { // the default one is the last
		i = len(files)
		files = append(files, &file{path: path, root: &yaml.Node{}})
		texts = append(texts, text{path: path})
	}
	m, err := files[i].top()
	if err != nil {
		return err
	}
	if err := edit(m); err != nil {
		return err
	}
	raise(m, files[i].version, f.o.Now().UnixMilli())
	old := texts[i].bytes
	if texts[i].bytes, err = files[i].text(); err != nil {
		return err
	}
	if files[i], err = parseFile(path, texts[i].bytes); err != nil {
		return err
	}
	if err := write(path, old, texts[i].bytes); err != nil {
		return err
	}
	f.use(files, texts)
	return nil
}

// write replaces a file, or what it is a link to, and keeps the old one as .bak. Who could read it still can, nobody else.
func write(path string, old, text []byte) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	mode := os.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	return metafile.Existing(path, old, mode).Write(text)
}

// Config is all that the files say, secret keys included (request 54).
func (f *Files) Config() *protocol.AclConfig {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &protocol.AclConfig{GlobalWhiteAddrs: []string{}, PlainAccessConfigs: []protocol.PlainAccessConfig{}}
	rules := f.Rules()
	for _, p := range f.files {
		c.GlobalWhiteAddrs = append(c.GlobalWhiteAddrs, p.written...)
		for _, a := range p.accounts {
			if rules.accounts[a.AccessKey] == a {
				c.PlainAccessConfigs = append(c.PlainAccessConfigs, a.written)
			}
		}
	}
	return c
}

// Versions are the data versions of all files by path, and that of the default one (request 52).
func (f *Files) Versions() (of protocol.DataVersion, all fastjson.Map[string, protocol.DataVersion]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all = fastjson.MapOf[string, protocol.DataVersion](len(f.files))
	for _, p := range f.files {
		all.Set(p.path, p.version)
		if p.path == f.o.Default {
			of = p.version
		}
	}
	return of, all
}

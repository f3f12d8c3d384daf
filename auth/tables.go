// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package auth

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"rocketmq-go/broker/metafile"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

// Tables are the users and what they may do, in two files of one directory that only its owner may read:
//
//	users.json   {"users":[{"username":"…","password":"…","userType":"Normal","userStatus":"enable"}, …]}
//	acls.json    {"acls":[{"subject":"User:…","policies":[{"policyType":"Custom","entries":[…]}]}, …]}
//
// with objects as in the bodies of requests 3001 to 3010. A change is on disk before its method returns; if that fails
// it is not made. All methods may be called concurrently. Refusals are *protocol.Error with Java's codes and remarks.
type Tables struct {
	writing           sync.Mutex // of changes, one after the other
	userFile, aclFile *metafile.File
	directory         string

	mu    sync.RWMutex
	users map[string]*User // never changed in place, as the Acls
	acls  map[string]*Acl  // by the name of the user
}

// The files as fastjson reads and writes them.
type usersFile struct {
	Users []protocol.UserInfo `fastjson:"users"`
}

type aclsFile struct {
	Acls []protocol.AclInfo `fastjson:"acls"`
}

// Open reads the tables. Without files they are empty. A file that cannot be used fails, as does its .bak: with other
// users than were made nobody would be safe.
func Open(dir string) (*Tables, error) {
	t := &Tables{directory: dir, users: map[string]*User{}, acls: map[string]*Acl{}}
	var source metafile.Source
	var err error
	if t.userFile, source, err = metafile.Load(filepath.Join(dir, "users.json"), t.loadUsers); err != nil {
		return nil, err
	}
	if source == metafile.FromBroken {
		return nil, fmt.Errorf("%s: not a table of users; a copy of it is users.json.broken", filepath.Join(dir, "users.json"))
	}
	if t.aclFile, source, err = metafile.Load(filepath.Join(dir, "acls.json"), t.loadAcls); err != nil {
		return nil, err
	}
	if source == metafile.FromBroken {
		return nil, fmt.Errorf("%s: not a table of permissions; a copy of it is acls.json.broken", filepath.Join(dir, "acls.json"))
	}
	return t, nil
}

func (t *Tables) loadUsers(text []byte) error {
	var f usersFile
	if err := fastjson.Unmarshal(text, &f); err != nil {
		return err
	}
	users := map[string]*User{}
	for i := range f.Users {
		u := &User{Name: f.Users[i].Username}
		u.apply(&f.Users[i])
		if u.Name == "" || u.Password == "" || users[u.Name] != nil {
			return fmt.Errorf("user %d has no name or no password, or is there twice", i+1)
		}
		users[u.Name] = u
	}
	t.users = users
	return nil
}

func (t *Tables) loadAcls(text []byte) error {
	var f aclsFile
	if err := fastjson.Unmarshal(text, &f); err != nil {
		return err
	}
	acls := map[string]*Acl{}
	for i := range f.Acls {
		name, ok := ParseSubject(f.Acls[i].Subject)
		if !ok || acls[name] != nil {
			return fmt.Errorf("acl %d: subject %q is no User:NAME, or is there twice", i+1, f.Acls[i].Subject)
		}
		a, err := parsePolicies(f.Acls[i].Policies)
		if err != nil {
			return fmt.Errorf("acl of %s: %w", f.Acls[i].Subject, err)
		}
		acls[name] = a
	}
	t.acls = acls
	return nil
}

// saveUsers writes the table and then lets it hold.
func (t *Tables) saveUsers(users map[string]*User) error {
	var f usersFile
	for _, u := range sorted(users) {
		f.Users = append(f.Users, u.info())
	}
	if err := t.save(t.userFile, fastjson.Marshal(&f)); err != nil {
		return err
	}
	t.mu.Lock()
	t.users = users
	t.mu.Unlock()
	return nil
}

func (t *Tables) saveAcls(acls map[string]*Acl) error {
	var f aclsFile
	for _, name := range slices.Sorted(maps.Keys(acls)) {
		info, _ := acls[name].info(name, "")
		f.Acls = append(f.Acls, info)
	}
	if err := t.save(t.aclFile, fastjson.Marshal(&f)); err != nil {
		return err
	}
	t.mu.Lock()
	t.acls = acls
	t.mu.Unlock()
	return nil
}

// save keeps secrets from other users of the machine: they cannot enter the directory.
func (t *Tables) save(f *metafile.File, text []byte) error {
	if err := os.MkdirAll(t.directory, 0o700); err != nil {
		return err
	}
	return f.Write(append(text, '\n'))
}

func sorted(users map[string]*User) []*User {
	return slices.SortedFunc(maps.Values(users), func(a, b *User) int { return cmp.Compare(a.Name, b.Name) })
}

// find is the user of that name and what they may do; nil for none.
func (t *Tables) find(name string) (*User, *Acl) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.users[name], t.acls[name]
}

var errOnlySuper = refuse("The super user can only be update by super user")

// CreateUser makes the user that info describes, under the name. bySuper tells that whoever asks may make super users.
func (t *Tables) CreateUser(name string, info *protocol.UserInfo, bySuper bool) error {
	u := &User{Name: strings.Clone(name)}
	u.apply(info)
	if u.Super && !bySuper {
		return protocol.Errorf(protocol.RespSystemError, "The super user can only be create by super user")
	}
	if u.Password == "" {
		return refuse("password can not be blank")
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	if old, _ := t.find(name); old != nil {
		return refuse("The user is existed")
	}
	return t.changeUsers(func(users map[string]*User) { users[u.Name] = u.own() })
}

// Import is a user from elsewhere, with what they may do.
type Import struct {
	User     protocol.UserInfo
	Policies []protocol.PolicyInfo
}

// Import makes those of the users who are not there yet, all of them or none. It returns their names.
func (t *Tables) Import(list []Import) (made []string, err error) {
	t.writing.Lock()
	defer t.writing.Unlock()
	users, acls := maps.Clone(t.users), maps.Clone(t.acls)
	for i := range list {
		u := &User{Name: list[i].User.Username}
		if users[u.Name] != nil {
			continue
		}
		u.apply(&list[i].User)
		a, err := parsePolicies(list[i].Policies)
		if err != nil {
			return nil, fmt.Errorf("user %s: %w", u.Name, err)
		}
		if users[u.Name] = u; len(a.Policies) > 0 {
			acls[u.Name] = a
		}
		made = append(made, u.Name)
	}
	if made == nil {
		return nil, nil
	}
	// The users last: an Acl without its user lets nobody in, and they are all made anew after a crash.
	if err := t.saveAcls(acls); err != nil {
		return nil, err
	}
	return made, t.saveUsers(users)
}

// own has no memory of a request.
func (u *User) own() *User {
	u.Password = strings.Clone(u.Password)
	return u
}

// changeUsers changes a copy of the table.
func (t *Tables) changeUsers(change func(map[string]*User)) error {
	users := maps.Clone(t.users)
	change(users)
	return t.saveUsers(users)
}

// UpdateUser changes what info names of a user.
func (t *Tables) UpdateUser(name string, info *protocol.UserInfo, bySuper bool) error {
	if strings.EqualFold(info.UserType, super) && !bySuper {
		return protocol.Errorf(protocol.RespSystemError, "%s", "The super user can only be update by super user")
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	old, _ := t.find(name)
	switch {
	case old == nil:
		return refuse("The user is not exist")
	case old.Super && !bySuper:
		return errOnlySuper
	}
	u := *old
	u.apply(info)
	return t.changeUsers(func(users map[string]*User) { users[u.Name] = u.own() })
}

// DeleteUser removes a user, if they are there, with what they may do.
func (t *Tables) DeleteUser(name string, bySuper bool) error {
	t.writing.Lock()
	defer t.writing.Unlock()
	old, acl := t.find(name)
	if old == nil {
		return nil
	}
	if old.Super && !bySuper {
		return errOnlySuper
	}
	// The user first: an Acl without its user lets nobody in.
	if err := t.changeUsers(func(users map[string]*User) { delete(users, name) }); err != nil || acl == nil {
		return err
	}
	return t.changeAcl(name, nil)
}

// User describes the user of that name.
func (t *Tables) User(name string) (info protocol.UserInfo, ok bool) {
	u, _ := t.find(name)
	if u == nil {
		return info, false
	}
	return u.info(), true
}

// Users describes those whose names contain the filter, sorted by name.
func (t *Tables) Users(filter string) []protocol.UserInfo {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var list []protocol.UserInfo
	for _, u := range sorted(t.users) {
		if strings.Contains(u.Name, filter) {
			list = append(list, u.info())
		}
	}
	return list
}

// changeAcl sets the Acl of a user; nil removes it. t.writing is held.
func (t *Tables) changeAcl(name string, a *Acl) error {
	acls := maps.Clone(t.acls)
	if a == nil {
		delete(acls, name)
	} else {
		acls[strings.Clone(name)] = a
	}
	return t.saveAcls(acls)
}

// PutAcl adds entries to what a user may do, or replaces those with the same resource (requests 3006 and 3007).
func (t *Tables) PutAcl(info *protocol.AclInfo) error {
	name, ok := ParseSubject(info.Subject)
	if !ok {
		return protocol.Errorf(protocol.RespSystemError, "An system error occurred, please try again later.")
	}
	added, err := parsePolicies(info.Policies)
	if err != nil {
		return err
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	u, old := t.find(name)
	switch {
	case u == nil:
		return refuse(fmt.Sprintf("The subject of %s is not exist.", Subject(name)))
	case old != nil:
		added = old.merge(added)
	}
	return t.changeAcl(name, added)
}

// DeleteAcl removes the entry of a resource from the policy of a type (Custom if that is empty or unknown), or, without
// resource, all that the user may do.
func (t *Tables) DeleteAcl(subject, policyType, resource string) error {
	name, ok := ParseSubject(subject)
	if !ok {
		return refuse("The subject is null.")
	}
	var pattern Pattern
	if resource != "" {
		if pattern, ok = ParsePattern(resource); !ok {
			return refuse("The resource is null.") // Java removes all that the user may do
		}
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	u, old := t.find(name)
	switch {
	case u == nil:
		return refuse("The subject is not exist.")
	case old == nil:
		return refuse("The acl is not exist.")
	case resource == "":
		return t.changeAcl(name, nil)
	}
	return t.changeAcl(name, old.without(pattern, isDefault(policyType)))
}

// Acl describes what a user may do; ok is false when there are no entries.
func (t *Tables) Acl(subject string) (info protocol.AclInfo, ok bool, err error) {
	name, ok := ParseSubject(subject)
	if !ok {
		return info, false, protocol.Errorf(protocol.RespSystemError, "request has no subject")
	}
	u, a := t.find(name)
	if u == nil {
		return info, false, refuse("The subject is not exist.")
	}
	if a == nil {
		return info, false, nil
	}
	info, ok = a.info(name, "")
	return info, ok, nil
}

// Acls describes the entries whose resources contain one filter, of the users whose subjects contain the other, sorted by
// user.
func (t *Tables) Acls(subjectFilter, resourceFilter string) []protocol.AclInfo {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var list []protocol.AclInfo
	for _, name := range slices.Sorted(maps.Keys(t.acls)) {
		if !strings.Contains(Subject(name), subjectFilter) {
			continue
		}
		if info, ok := t.acls[name].info(name, resourceFilter); ok {
			list = append(list, info)
		}
	}
	return list
}

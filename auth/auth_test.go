// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package auth

import (
	"bufio"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rocketmq-go/remoting/protocol"
)

// Requests of the official clients, signed with secret 12345678. The Go client leaves its security token out of what it
// signs, so that no server takes it.
func TestSignaturesOfClients(t *testing.T) {
	f, err := os.Open("testdata/signed.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		var recorded struct {
			From  string
			Frame []byte
		}
		if err := json.Unmarshal(lines.Bytes(), &recorded); err != nil {
			t.Fatal(err)
		}
		var cmd protocol.Command
		if err := cmd.Decode(recorded.Frame); err != nil {
			t.Fatal(err)
		}
		want := recorded.From != "go-acltoken"
		if got := Signed(&cmd, "12345678"); got != want {
			t.Errorf("%d, %s, code %d: %t", n+1, recorded.From, cmd.Code, got)
		}
		if Signed(&cmd, "12345679") {
			t.Errorf("%d: signed with another secret", n+1)
		}
		// What we sign ourselves is the same.
		signature, _ := cmd.Fields.Get(SignatureField)
		access, _ := cmd.Fields.Get(AccessKeyField)
		token, _ := cmd.Fields.Get(SecurityTokenField)
		again := protocol.Command{Body: cmd.Body}
		for _, field := range cmd.Fields.List {
			if field.Key != SignatureField && field.Key != AccessKeyField && field.Key != SecurityTokenField {
				again.Fields.Add(field.Key, field.Value)
			}
		}
		(&Credentials{access, "12345678", token}).Sign(&again)
		if ours, _ := again.Fields.Get(SignatureField); want && ours != signature {
			t.Errorf("%d: %s, want %s", n+1, ours, signature)
		}
	}
	if n < 15 {
		t.Errorf("only %d requests", n)
	}
}

// Clients until 4.9.3 add a field to queries after they have signed them.
func TestUniqueKeyQuery(t *testing.T) {
	for version, want := range map[int32]bool{393: true, 399: true, 400: false, 479: false} {
		cmd := protocol.Command{Version: version}
		cmd.Fields.Add("key", "k")
		(&Credentials{AccessKey: "a", SecretKey: "s"}).Sign(&cmd)
		cmd.Fields.Add("_UNIQUE_KEY_QUERY", "true")
		if got := Signed(&cmd, "s"); got != want {
			t.Errorf("version %d: %t", version, got)
		}
	}
}

func entry(text string) Entry {
	w := strings.Fields(text) // resource actions decision [source]
	i := protocol.PolicyEntryInfo{Resource: w[0], Actions: strings.Split(w[1], "|"), Decision: w[2]}
	if len(w) > 3 {
		i.SourceIps = strings.Split(w[3], ",")
	}
	e, err := parseEntry(&i)
	if err != nil {
		panic(text + ": " + err.Error())
	}
	return e
}

func TestDecide(t *testing.T) {
	topic := func(name string, a Actions) Need { return Need{Resource{Topic, name}, a} }
	for _, c := range []struct {
		entries string // default ones behind "/"
		need    Need
		source  string
		want    Verdict
	}{
		{"", topic("a", Pub), "1.2.3.4", NoMatch},
		{"Topic:a Pub Allow", topic("a", Pub), "1.2.3.4", Allowed},
		{"Topic:a Pub Allow", topic("a", Sub), "1.2.3.4", NoMatch},
		{"Topic:a Pub Allow", topic("a", Sub|Pub), "1.2.3.4", Allowed},
		{"Topic:a Pub Allow", topic("ab", Pub), "1.2.3.4", NoMatch},
		{"Topic:a Pub Allow", topic("A", Pub), "1.2.3.4", NoMatch},
		{"Group:a Pub Allow", topic("a", Pub), "1.2.3.4", NoMatch},
		{"Topic:a* Pub Allow", topic("ab", Pub), "1.2.3.4", Allowed},
		{"Topic:a* Pub Allow", topic("a", Pub), "1.2.3.4", Allowed},
		{"Topic:a* Pub Allow", topic("ba", Pub), "1.2.3.4", NoMatch},
		{"Topic:a*b Pub Allow", topic("axb", Pub), "1.2.3.4", NoMatch},
		{"Topic: Pub Allow", topic("", Pub), "1.2.3.4", Allowed},
		{"* All Allow", Need{Resource{Cluster, "c"}, Update}, "1.2.3.4", Allowed},
		{"Topic:* All Allow", Need{Resource{Cluster, "c"}, Update}, "1.2.3.4", NoMatch},
		// Nothing but All is enough for what has no rule.
		{"Cluster:* Update|Get|List|Create|Delete Allow", Need{Resource{Cluster, "c"}, 0}, "1.2.3.4", NoMatch},
		{"Cluster:* All Allow", Need{Resource{Cluster, "c"}, 0}, "1.2.3.4", Allowed},
		// The most special one decides, wherever it stands.
		{"Topic:ab Get Allow, Topic:a* Get Deny", topic("ab", Get), "1.2.3.4", Allowed},
		{"Topic:a* Get Deny, Topic:ab Get Allow", topic("ab", Get), "1.2.3.4", Allowed},
		{"Topic:a* Get Allow, Topic:ab Get Deny", topic("ab", Get), "1.2.3.4", Denied},
		{"Topic:a* Get Allow, Topic:abc* Get Deny", topic("abcd", Get), "1.2.3.4", Denied},
		{"Topic:abc* Get Allow, Topic:a* Get Deny", topic("abcd", Get), "1.2.3.4", Allowed},
		{"Topic:abc* Get Allow, Topic:a* Get Deny", topic("abx", Get), "1.2.3.4", Denied},
		{"Topic:* Get Deny, Topic:a* Get Allow", topic("ab", Get), "1.2.3.4", Allowed},
		{"* Get Deny, Topic:* Get Allow", topic("ab", Get), "1.2.3.4", Allowed},
		{"* Get Allow, Topic:* Get Deny", topic("ab", Get), "1.2.3.4", Denied},
		{"Topic:a Sub Deny, Topic:a* Get Allow", topic("a", Sub|Get), "1.2.3.4", Denied},
		// Custom entries before default ones, however special.
		{"Topic:* Pub Allow / Topic:a Pub Deny", topic("a", Pub), "1.2.3.4", Allowed},
		{"Topic:b Pub Allow / Topic:a Pub Deny", topic("a", Pub), "1.2.3.4", Denied},
		{"/ Topic:a Pub Allow", topic("a", Pub), "1.2.3.4", Allowed},
		// Entries for other sources do not count.
		{"Topic:a Pub Allow 1.2.3.4", topic("a", Pub), "1.2.3.4", Allowed},
		{"Topic:a Pub Allow 1.2.3.4", topic("a", Pub), "1.2.3.5", NoMatch},
		{"Topic:a Pub Allow 10.0.0.0/8,1.2.3.0/24", topic("a", Pub), "1.2.3.5", Allowed},
		{"Topic:a Pub Deny 10.0.0.0/8, Topic:* Pub Allow", topic("a", Pub), "1.2.3.5", Allowed},
		{"Topic:a Pub Allow ::ffff:1.2.3.4", topic("a", Pub), "1.2.3.4", Allowed},
		{"Topic:a Pub Allow fd00::/8", topic("a", Pub), "fd12::1", Allowed},
		{"Topic:a Pub Allow fd00::/8", topic("a", Pub), "1.2.3.4", NoMatch},
		{"Topic:a Pub Allow 1.2.3.4/0", topic("a", Pub), "9.9.9.9", Allowed},
		{"Topic:a Pub Allow 1.2.3.4/0", topic("a", Pub), "fd12::1", NoMatch},
		{"Topic:a Pub Allow 0.0.0.0/0", topic("a", Pub), "", NoMatch}, // the address is not known
		{"Topic:a Pub Allow", topic("a", Pub), "", Allowed},
	} {
		a := &Acl{}
		customs, defaults, _ := strings.Cut(c.entries, "/ ")
		for i, list := range []string{customs, defaults} {
			for text := range strings.SplitSeq(list, ", ") {
				if text = strings.TrimSpace(text); text != "" {
					a.put(i == 1, entry(text))
				}
			}
		}
		source, _ := netip.ParseAddr(c.source)
		if got := a.Decide(c.need, source); got != c.want {
			t.Errorf("%s for %s %s from %s: %d, want %d", c.entries, c.need.Actions, c.need.Resource, c.source, got, c.want)
		}
	}
}

// What is denied by the name itself no other entry allows, in whatever order they come; and an entry never lets in what its
// pattern, as it is printed, does not say.
func FuzzDecide(f *testing.F) {
	f.Add("Topic:a*", "Pub", "Topic:ab", "ab")
	f.Add("*", "All", "Topic:*", "x")
	f.Add("Any:x", "all", "group:", "")
	f.Fuzz(func(t *testing.T, one, action, two, name string) {
		if strings.HasSuffix(name, "*") || name == "" {
			return
		}
		a := &Acl{}
		for _, text := range []string{one, two} {
			e, err := parseEntry(&protocol.PolicyEntryInfo{Resource: text, Actions: []string{action}, Decision: "Allow"})
			if err != nil {
				continue
			}
			again, ok := ParsePattern(e.Pattern.String())
			if !ok || again != e.Pattern {
				t.Errorf("%q is printed as %q and read as %v", text, e.Pattern, again)
			}
			r := Resource{Topic, name}
			prefix, star := strings.CutSuffix(e.Pattern.String(), "*")
			says := star && strings.HasPrefix(r.String(), prefix) || r.String() == e.Pattern.String()
			if e.Pattern.match(r) != says {
				t.Errorf("%q matches %s: %t", e.Pattern, r, !says)
			}
			a.put(false, e)
		}
		a.put(false, entry("Topic:x All Deny"))
		a.Policies[0].Entries[len(a.Policies[0].Entries)-1].Pattern.Name = name
		need := Need{Resource{Topic, name}, Pub}
		if got := a.Decide(need, netip.Addr{}); got != Denied {
			t.Errorf("%q is denied and %q, %q let it in: %d", name, one, two, got)
		}
	})
}

func code(err error) int32 {
	var e *protocol.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// Tables are on disk before a change is acknowledged, readable for their owner only, and refused when they are damaged.
func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "auth")
	tables, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(tables.CreateUser("b", &protocol.UserInfo{Password: "secret", UserType: "super"}, true))
	must(tables.CreateUser("a", &protocol.UserInfo{Password: "pass", UserStatus: "disable"}, false))
	must(tables.PutAcl(&protocol.AclInfo{Subject: "User:a", Policies: []protocol.PolicyInfo{
		{PolicyType: "Default", Entries: []protocol.PolicyEntryInfo{{Resource: "Topic:t*", Actions: []string{"pub", "SUB"}, SourceIps: []string{"10.0.0.0/8"}, Decision: "deny"}}},
	}}))
	for file, want := range map[string]string{
		"users.json": `{"users":[{"password":"pass","userStatus":"disable","userType":"Normal","username":"a"},{"password":"secret","userStatus":"enable","userType":"Super","username":"b"}]}`,
		"acls.json":  `{"acls":[{"policies":[{"entries":[{"actions":["Pub","Sub"],"decision":"Deny","resource":"Topic:t*","sourceIps":["10.0.0.0/8"]}],"policyType":"Default"}],"subject":"User:a"}]}`,
	} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		must(err)
		if string(text) != want+"\n" {
			t.Errorf("%s:\n got %s\nwant %s", file, text, want)
		}
	}
	info, err := os.Stat(dir)
	must(err)
	if info.Mode().Perm() != 0o700 {
		t.Errorf("the directory has mode %o", info.Mode().Perm())
	}
	again, err := Open(dir)
	must(err)
	if u, a := again.find("a"); u == nil || !u.Disabled || a == nil || a.Decide(Need{Resource{Topic, "tx"}, Pub}, netip.MustParseAddr("10.1.1.1")) != Denied {
		t.Errorf("read again: %+v %+v", u, a)
	}
	// Neither copy is good: nobody must be let in by an empty table, and the first user must not be made again.
	must(os.Remove(filepath.Join(dir, "users.json.bak")))
	for _, text := range []string{`{"users":[{"username":"x"}]}`, `{"users":[{"username":"","password":"p"}]}`, "{", `{"users":[{"username":"a","password":"p"},{"username":"a","password":"q"}]}`} {
		must(os.WriteFile(filepath.Join(dir, "users.json"), []byte(text), 0o600))
		if _, err := Open(dir); err == nil {
			t.Errorf("%s: read", text)
		}
	}
}

// A change that cannot be written does not hold.
func TestDiskFull(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "auth")
	tables, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // where the directory should be made
		t.Fatal(err)
	}
	if err := tables.CreateUser("a", &protocol.UserInfo{Password: "p"}, true); err == nil || code(err) != 0 {
		t.Errorf("created: %v", err)
	}
	if _, ok := tables.User("a"); ok {
		t.Error("the user is there")
	}
}

// Only super users change super users.
func TestSuperUsers(t *testing.T) {
	tables, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := tables.CreateUser("root", &protocol.UserInfo{Password: "p", UserType: "SUPER"}, true); err != nil {
		t.Fatal(err)
	}
	if err := tables.CreateUser("norm", &protocol.UserInfo{Password: "p"}, false); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"create": tables.CreateUser("s", &protocol.UserInfo{Password: "p", UserType: "Super"}, false),
		"raise":  tables.UpdateUser("norm", &protocol.UserInfo{UserType: "Super"}, false),
		"lower":  tables.UpdateUser("root", &protocol.UserInfo{UserType: "Normal"}, false),
		"steal":  tables.UpdateUser("root", &protocol.UserInfo{Password: "mine"}, false),
		"delete": tables.DeleteUser("root", false),
	} {
		if err == nil {
			t.Errorf("%s: done", what)
		}
	}
	if u, _ := tables.find("root"); u == nil || !u.Super || u.Password != "p" || u.Disabled {
		t.Errorf("%+v", u)
	}
	if u, _ := tables.find("norm"); u == nil || u.Super {
		t.Errorf("%+v", u)
	}
}

// Any text of the files is refused or gives tables that can be written and read again.
func FuzzFiles(f *testing.F) {
	f.Add([]byte(`{"users":[{"username":"a","password":"p","userType":"Super","userStatus":"disable"}]}`),
		[]byte(`{"acls":[{"subject":"User:a","policies":[{"policyType":"Custom","entries":[{"resource":"*","actions":["All"],"decision":"Allow","sourceIps":["::1"]}]}]}]}`))
	f.Fuzz(func(t *testing.T, users, acls []byte) {
		tables := &Tables{}
		if tables.loadUsers(users) != nil || tables.loadAcls(acls) != nil {
			return
		}
		dir := t.TempDir()
		written, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(written.saveUsers(tables.users), written.saveAcls(tables.acls)); err != nil {
			t.Fatal(err)
		}
		again, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(again.Users("")) != len(tables.Users("")) || len(again.Acls("", "")) != len(tables.Acls("", "")) {
			t.Errorf("%s %s: other tables", users, acls)
		}
	})
}

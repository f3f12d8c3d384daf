// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package plain

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/auth"
	"rocketmq-go/remoting/protocol"
)

// sources are the addresses from which Java 4.9.7 was asked for each pattern.
var sources = []string{
	"127.0.0.1", "127.0.0.5", "127.0.0.6", "127.0.0.20", "127.0.0.21", "127.0.1.5", "127.1.2.3", "127.255.0.4", "127.0.3.5",
}

func TestRecordedAddresses(t *testing.T) {
	f, err := os.Open("testdata/addresses.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		var s struct {
			Pattern string
			Refused string
			In      []string
			Ours    *[]string // those that it says, where Java matches others or refuses it
		}
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		want, refused := s.In, s.Refused != ""
		if s.Ours != nil {
			want, refused = *s.Ours, false
		}
		a, err := ParseAddresses(s.Pattern)
		if (err != nil) != refused {
			t.Errorf("%q: got %v, want %q", s.Pattern, err, s.Refused)
		}
		if err != nil {
			continue
		}
		got := slices.DeleteFunc(slices.Clone(sources), func(s string) bool { return !a.Contains(netip.MustParseAddr(s)) })
		if !slices.Equal(got, want) {
			t.Errorf("%q: matches %v, want %v", s.Pattern, got, want)
		}
	}
	if n < 50 {
		t.Errorf("only %d patterns", n)
	}
}

// Java was asked from IPv4 only: from ::1 it matches nothing at all.
func TestAddresses6(t *testing.T) {
	for _, c := range []struct {
		pattern, address string
		want             bool
	}{
		{"*", "::1", true},
		{"*.*.*.*", "fd00::1", true},
		{"*", "", true},
		{"", "::1", false},
		{"::1", "::1", true},
		{"::1", "fe80::1%eth0", false},
		{"fe80::1", "fe80::1%eth0", true},
		{"FD00::A", "fd00::a", true},
		{"1050:0:0:0:5:600:300c:326b", "1050::5:600:300c:326b", true},
		{"1050::5:600:300c:{1,2}", "1050::5:600:300c:2", true},
		{"1050::5:600:300c:{1,2}", "1050::5:600:300c:3", false},
		{"1050::5:600:300c:*", "1050::5:600:300c:ffff", true},
		{"1050::5:600:300c:*", "1050::5:600:300d:ffff", false},
		{"1050::5:600:3-200:*", "1050::5:600:200:1", true},
		{"1050::5:600:3-200:*", "1050::5:600:201:1", false},
		{"1050:*", "1050:1:2:3::", true},
		{"1050:*", "1051::", false},
		{"::*", "::ff", true},
		{"::*", "::1:1", false},
		{"1050::5:1-2", "1050::5:2", true},
		{"10.0.0.1", "::ffff:10.0.0.1", true},
		{"0-255.*.*.*", "::1", false},
		{"10.0.0.1", "", false},
	} {
		a, err := ParseAddresses(c.pattern)
		addr, _ := netip.ParseAddr(c.address)
		if err != nil || a.Contains(addr) != c.want {
			t.Errorf("%q, %q: %t, %v", c.pattern, c.address, !c.want, err)
		}
	}
	for _, pattern := range []string{"1:2:3:4:5:6:7", "1::2::3", "1::*-2", "g::*", "1:2-1:*", "1:2:3:4:5:6:7:8:*", "::10000-2", "::-1", ":::*"} {
		if _, err := ParseAddresses(pattern); err == nil {
			t.Errorf("%q: taken", pattern)
		}
	}
}

// A pattern that names an address matches it, and one without "*" or "-" nothing else; no pattern is for everybody but those
// that say so.
func FuzzAddresses(f *testing.F) {
	for _, s := range []string{"*", "10.1.1.{1,2}", "10.1.*.5-9", "::1,1.2.3.4", "fd00::1-2:*", "1050:*", "{", "::{*}", "a-b"} {
		f.Add(s, []byte{10, 1, 1, 7})
	}
	f.Fuzz(func(t *testing.T, text string, b []byte) {
		a, err := ParseAddresses(text)
		if err != nil {
			return
		}
		addr, ok := netip.AddrFromSlice(b)
		if !ok {
			return
		}
		in := a.Contains(addr)
		if in && text != addr.String() && !strings.ContainsAny(text, "*-{,") {
			if one, err := netip.ParseAddr(text); err != nil || one.Unmap().WithZone("") != addr.Unmap() {
				t.Errorf("%q matches %s", text, addr)
			}
		}
		if a.all && !slices.Contains(everybody, text) {
			t.Errorf("%q is for everybody", text)
		}
	})
}

const rules = "accounts:\n- {accessKey: rootroot, secretKey: 12345678, admin: true}\n- {accessKey: somebody, secretKey: 87654321}\n"

func store(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

// home is where the files of a test are.
func home(t testing.TB) Options {
	dir := t.TempDir()
	return Options{Default: filepath.Join(dir, "conf/plain_acl.yml"), Dir: filepath.Join(dir, "conf/acl")}
}

func keys(f *Files) string {
	var k []string
	for key := range f.Rules().accounts {
		k = append(k, key)
	}
	slices.Sort(k)
	return strings.Join(k, " ")
}

// What starts a broker of 4.9.7 and what does not, and with which accounts.
func TestOpen(t *testing.T) {
	other := "accounts: [{accessKey: other77, secretKey: 12345678}, {accessKey: somebody, secretKey: 12345678, admin: true}]"
	for name, c := range map[string]struct {
		plain string
		dir   map[string]string
		want  string
		fails string
	}{
		"nothing":            {},
		"empty":              {plain: "\n"},
		"comments":           {plain: "# none\n"},
		"only white":         {plain: "globalWhiteRemoteAddresses: [10.0.0.1]"},
		"one file":           {plain: rules, want: "rootroot somebody"},
		"two files":          {plain: rules, dir: map[string]string{"x.yml": other}, want: "other77 rootroot somebody"},
		"a directory only":   {dir: map[string]string{"a/b/x.yaml": other, "tools.yml": "accounts: [", "x.txt": "accounts: ["}, want: "other77 somebody"},
		"kubernetes":         {dir: map[string]string{"..2026/x.yml": "accounts: ["}},
		"not known":          {plain: "foo: [1]\n" + strings.ReplaceAll(rules, "}", ", foo: bar}"), want: "rootroot somebody"},
		"null":               {plain: "accounts:\nglobalWhiteRemoteAddresses:\ndataVersion:\n"},
		"no YAML":            {plain: "accounts: [", fails: "plain_acl.yml: yaml: line 1:"},
		"broken in dir":      {plain: rules, dir: map[string]string{"x.yml": "accounts: ["}, fails: "x.yml: yaml:"},
		"short secret":       {plain: "accounts: [{accessKey: rootroot, secretKey: secret}]", fails: "The accessKey=rootroot and secretKey=*** cannot be null and length should longer than 6"},
		"no secret":          {plain: "accounts: [{accessKey: rootroot}]", fails: "The accessKey=rootroot and"},
		"bad address":        {plain: "globalWhiteRemoteAddresses: [1.2.3]", fails: "Netaddress examine Exception netaddress is 1.2.3"},
		"bad white":          {plain: "accounts: [{accessKey: rootroot, secretKey: 12345678, whiteRemoteAddress: x}]", fails: "Netaddress examine Exception netaddress is x"},
		"bad perm":           {plain: "accounts: [{accessKey: rootroot, secretKey: 12345678, groupPerms: [c=]}]", fails: "Parse resource permission failed for group:c="},
		"bad admin":          {plain: "accounts: [{accessKey: rootroot, secretKey: 12345678, admin: perhaps}]", fails: "neither true nor false"},
		"a fraction":         {plain: "accounts: [{accessKey: rootroot, secretKey: 1234567.8}]", fails: "line 1: write the value in quotes"},
		"a list":             {plain: "[secretsecret]", fails: "line 1"},
		"a secret elsewhere": {plain: "accounts: [secretsecret]", fails: "line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			o := home(t)
			if c.plain != "" {
				store(t, o.Default, c.plain)
			}
			for file, text := range c.dir {
				store(t, filepath.Join(o.Dir, file), text)
			}
			f, err := Open(o)
			switch {
			case c.fails != "":
				if err == nil || !strings.Contains(err.Error(), c.fails) || strings.Contains(err.Error(), "secretsecret") || strings.Contains(err.Error(), "secret,") {
					t.Errorf("got %v, want %s", err, c.fails)
				}
			case err != nil || keys(f) != c.want:
				t.Errorf("got %s %v, want %s", keys(f), err, c.want)
			}
		})
	}
}

func signed(key, secret string) *protocol.Command {
	cmd := &protocol.Command{Code: protocol.ReqGetMaxOffset}
	(&auth.Credentials{AccessKey: key, SecretKey: secret}).Sign(cmd)
	return cmd
}

func (f *Files) lets(key, secret string) bool {
	_, err := f.Rules().Authenticate(signed(key, secret), netip.Addr{}, false)
	return err == nil
}

// The directory's file counts, its account is not mixed with the other one.
func TestFirstFileCounts(t *testing.T) {
	o := home(t)
	store(t, o.Default, rules)
	store(t, filepath.Join(o.Dir, "x.yml"), "accounts: [{accessKey: rootroot, secretKey: another1}]")
	f, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if f.lets("rootroot", "12345678") || !f.lets("rootroot", "another1") {
		t.Error("the other account counts")
	}
	if p := (Pass{account: f.Rules().accounts["rootroot"]}); p.Check(1, nil, true) == nil {
		t.Error("an admin")
	}
}

// lines is a log that may be read while it is written.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Files that an operator changes hold within half a second; what cannot be read is reported once, and the old rules stay.
func TestReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := home(t)
		var log lines
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
		store(t, o.Default, rules)
		f, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go f.Run(ctx)
		more := filepath.Join(o.Dir, "more.yml")
		for _, s := range []struct {
			what   string
			do     func()
			want   string
			errors int // lines so far
		}{
			{"as it was", func() {}, "rootroot somebody", 0},
			{"an account more", func() { store(t, o.Default, rules+"- {accessKey: another, secretKey: 12345678}\n") }, "another rootroot somebody", 0},
			{"broken", func() { store(t, o.Default, "accounts: [") }, "another rootroot somebody", 1},
			{"a short secret", func() { store(t, o.Default, "accounts: [{accessKey: rootroot, secretKey: secret}]") }, "another rootroot somebody", 2},
			{"empty", func() { store(t, o.Default, "") }, "another rootroot somebody", 3},
			{"whole", func() { store(t, o.Default, rules) }, "rootroot somebody", 3},
			{"a file more", func() { store(t, more, "accounts: [{accessKey: another, secretKey: 12345678}]") }, "another rootroot somebody", 3},
			{"an empty file", func() { store(t, filepath.Join(o.Dir, "new.yml"), "") }, "another rootroot somebody", 3},
			{"a broken file", func() { store(t, filepath.Join(o.Dir, "new.yml"), "[") }, "another rootroot somebody", 4},
			{"gone", func() { os.Remove(filepath.Join(o.Dir, "new.yml")); os.Remove(more) }, "rootroot somebody", 4},
			{"replaced", func() { store(t, o.Default+".x", "accounts: []"); os.Rename(o.Default+".x", o.Default) }, "", 4},
			{"all gone", func() { os.Remove(o.Default) }, "", 4},
			{"back", func() { store(t, o.Default, rules) }, "rootroot somebody", 4},
		} {
			s.do()
			time.Sleep(10 * pollInterval)
			synctest.Wait()
			if got := keys(f); got != s.want {
				t.Errorf("%s: %s, want %s", s.what, got, s.want)
			}
			if n := strings.Count(log.String(), "level=ERROR"); n != s.errors {
				t.Errorf("%s: %d errors, want %d\n%s", s.what, n, s.errors, log.String())
			}
		}
		for _, secret := range []string{"12345678", "87654321", "=secret", "secret}"} {
			if strings.Contains(log.String(), secret) {
				t.Errorf("the log tells %s:\n%s", secret, log.String())
			}
		}
	})
}

// Changes keep the mode of a file, go where a link leads, and are not made when the new file would be no good.
func TestChanges(t *testing.T) {
	o := home(t)
	real := filepath.Join(t.TempDir(), "real.yml")
	store(t, real, "# mine\n"+rules)
	os.Chmod(real, 0o640)
	os.MkdirAll(filepath.Dir(o.Default), 0o755)
	if err := os.Symlink(real, o.Default); err != nil {
		t.Fatal(err)
	}
	now := time.UnixMilli(1_700_000_000_000)
	o.Now = func() time.Time { return now }
	f, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	some := protocol.Some[string]
	account := func(key, secret, white string) *protocol.CreateAccessConfigRequestHeader {
		return &protocol.CreateAccessConfigRequestHeader{AccessKey: some(key), SecretKey: some(secret), WhiteRemoteAddress: some(white)}
	}
	if err := f.PutAccount(account("another", "0123456_7", "10.0.0.1")); err != nil {
		t.Fatal(err)
	}
	if !f.lets("another", "0123456_7") {
		t.Error("the new account does not hold")
	}
	text, _ := os.ReadFile(real)
	if want := "timestamp: 1700000000000"; !strings.Contains(string(text), want) || !strings.HasPrefix(string(text), "# mine\n") {
		t.Errorf("%s", text)
	}
	for _, path := range []string{real, real + ".bak"} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	if info, err := os.Lstat(o.Default); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
	// An operator's change that has not been noticed yet is not lost.
	store(t, real, string(text)+"more: 1\n")
	if err := f.DeleteAccount(some("another")); err != nil {
		t.Fatal(err)
	}
	if text, _ = os.ReadFile(real); !strings.Contains(string(text), "more: 1") || strings.Contains(string(text), "another") || f.lets("another", "0123456_7") {
		t.Errorf("%s", text)
	}
	for what, err := range map[string]error{
		"address":       f.PutAccount(account("another", "12345678", "10.0.0")),
		"white":         f.SetWhite(some("10.0.0"), ""),
		"another file":  f.SetWhite(some("10.0.0.1"), real),
		"any file":      f.SetWhite(some("10.0.0.1"), "/etc/passwd"),
		"unknown":       f.DeleteAccount(some("another")),
		"short":         f.PutAccount(account("another", "123456", "")),
		"line too long": f.PutAccount(account("short", "12345678", "")),
	} {
		if err == nil {
			t.Errorf("%s: done", what)
		}
	}
	if after, _ := os.ReadFile(real); string(after) != string(text) {
		t.Errorf("changed:\n%s", after)
	}
	// Nor are changes made upon files that cannot be read.
	store(t, real, "accounts: [")
	if err := f.PutAccount(account("another", "12345678", "")); err == nil {
		t.Error("changed a broken file")
	}
	if after, _ := os.ReadFile(real); string(after) != "accounts: [" || keys(f) != "rootroot somebody" {
		t.Errorf("%s, %s", after, keys(f))
	}
}

// Any file is refused or gives rules that an edit does not change but for what it is about.
func FuzzFile(f *testing.F) {
	f.Add([]byte(rules))
	f.Add([]byte("globalWhiteRemoteAddresses: [10.1.1.{1,2}]\naccounts:\n- accessKey: 12345678\n  secretKey: 0x1234567\n  admin: yes\n  topicPerms: [a=PUB, '%RETRY%g=SUB']\n"))
	f.Add([]byte("a: &x {accessKey: rootroot, secretKey: 12345678}\naccounts: [*x]\ndataVersion: [{counter: 3}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := parseFile("x", text)
		if err != nil {
			return
		}
		m, err := p.top()
		if err != nil {
			return
		}
		some := protocol.Some[string]
		if err := putAccount(m, &protocol.CreateAccessConfigRequestHeader{AccessKey: some("fuzzfuzz"), SecretKey: some("12345678")}); err != nil {
			return
		}
		raise(m, p.version, 5)
		edited, err := p.text()
		if err != nil {
			return // nothing is written
		}
		again, err := parseFile("x", edited)
		if err != nil {
			return // nor here
		}
		if again.version.Counter != p.version.Counter+1 {
			t.Errorf("version %d after %d", again.version.Counter, p.version.Counter)
		}
		list := func(p *file) (l []string) {
			for _, a := range p.accounts {
				if a.AccessKey != "fuzzfuzz" {
					l = append(l, fmt.Sprintf("%+v", a.written))
				}
			}
			return append(l, p.written...)
		}
		if got, want := list(again), list(p); !slices.Equal(got, want) {
			t.Errorf("%s\nbecame\n%s\n got %q\nwant %q", text, edited, got, want)
		}
	})
}

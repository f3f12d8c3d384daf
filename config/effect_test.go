// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var rewriteFiles = flag.Bool("rewrite", false, "write ../conf/KEYS.md and testdata/unread.txt anew")

// allObjects are the objects of all roles, each once.
func allObjects() []object {
	return append((&BrokerValues{}).objects(), object{value: &NamesrvConfig{}}, object{value: &ControllerConfig{}})
}

// A key that is said to work must be read somewhere. testdata/unread.txt names those that are not read yet; it may only
// shrink, and what is still in it at a release gets a tag that says so.
func TestWorkingKeysAreRead(t *testing.T) {
	read := selectors(t)
	known := strings.Fields(golden(t, "unread.txt"))
	var unread []string
	for _, o := range allObjects() {
		fields := reflect.TypeOf(o.value).Elem()
		for _, k := range keysOf(0, o) {
			if k.NoEffect == "" && k.Feature == "" && !read[fields.Field(k.field).Name] && k.Name != tlsFileKey { // the loader reads that
				unread = append(unread, k.id())
			}
		}
	}
	if *rewriteFiles {
		write(t, "testdata/unread.txt", strings.Join(unread, "\n")+"\n")
		return
	}
	for _, id := range unread {
		if !slices.Contains(known, id) {
			t.Errorf("%s is said to work, but no code reads it: give it a tag none or later", id)
		}
	}
	if gone := len(known) - len(unread); gone > 0 {
		t.Logf("%d keys of testdata/unread.txt are read now; go test ./config -run TestWorkingKeysAreRead -rewrite", gone)
	}
	t.Logf("%d keys are said to work and not read", len(unread))
}

// A key that is said to wait for a feature must not be read by the servers: then it works.
func TestWaitingKeysAreNotRead(t *testing.T) {
	alsoFieldsOfBodies := []string{"CgColdReadThreshold", "GlobalColdReadThreshold"}
	read := selectors(t, "../config")
	for _, o := range allObjects() {
		fields := reflect.TypeOf(o.value).Elem()
		for _, k := range keysOf(0, o) {
			name := fields.Field(k.field).Name
			if k.Feature != "" && read[name] && !slices.Contains(alsoFieldsOfBodies, name) {
				t.Errorf("%s is said to wait for %s, but code reads it: take the tag away", k.id(), k.Feature)
			}
		}
	}
}

// selectors collects all names behind a dot in the module's code, the key structs and the given packages aside.
func selectors(t *testing.T, without ...string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && slices.Contains(without, path) {
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil // files of others may come and go
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				names[s.Sel.Name] = true
			}
			return true
		})
		return nil
	})
	if err != nil || len(names) < 1000 {
		t.Fatalf("%d names, %v", len(names), err)
	}
	return names
}

// conf/KEYS.md is the table for readers.
func TestKeysDocument(t *testing.T) {
	var b strings.Builder
	b.WriteString(keysHead)
	meanings := meaningOfKeys(t)
	for _, o := range allObjects() {
		keys := keysOf(0, o)
		fmt.Fprintf(&b, "\n## %s\n\n| key | type | default | effect | meaning |\n| --- | --- | --- | --- | --- |\n", keys[0].Object)
		for i := range keys {
			k := &keys[i]
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", k.Name, k.Type, defaultsText(k), effectText(k), meanings[k.Object+"."+fieldName(o, k)])
		}
	}
	if *rewriteFiles {
		write(t, "../conf/KEYS.md", b.String())
		return
	}
	data, err := os.ReadFile("../conf/KEYS.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(data) != b.String() {
		t.Error("conf/KEYS.md is not up to date: go test ./config -run TestKeysDocument -rewrite")
	}
}

const keysHead = `# Configuration keys

Made from the sources by ` + "`go test ./config -run TestKeysDocument -rewrite`" + `. ` + "`rocketmq config check FILE`" + ` says the same of one file.

Keys of a broker's file: all tables but NamesrvConfig and ControllerConfig. Keys of a name server's file: NamesrvConfig,
NettyServerConfig and OwnConfig; with enableControllerInNamesrv those of a controller's too, which are ControllerConfig,
NettyServerConfig and OwnConfig. Times that end in Mills, Millis, Ms or Interval count milliseconds. "at start" means that a hot update is
accepted and written down, but holds from the next start on.
`

func defaultsText(k *Key) string {
	text := func(version string) string {
		d, exists := k.in(version)
		switch {
		case !exists:
			return "no such key"
		case d == "":
			return "(empty)"
		case d == null:
			return "(none)"
		}
		return "`" + strings.TrimPrefix(d, "$") + "`"
	}
	if text(V533) == text(V497) || k.Default497 == absent {
		return text(V533)
	}
	return text(V533) + "; 4.9.7: " + text(V497)
}

func effectText(k *Key) string {
	e := effect([]*Key{k})
	if e == "works" && k.AtStart {
		e += ", at start"
	}
	if k.SetName == "" {
		e += "; cannot be set"
	} else if k.SetName != k.Name {
		e += "; set by " + k.SetName
	}
	return e
}

func fieldName(o object, k *Key) string { return reflect.TypeOf(o.value).Elem().Field(k.field).Name }

// meaningOfKeys takes the comments of the key structs' fields.
func meaningOfKeys(t *testing.T) map[string]string {
	t.Helper()
	meanings := map[string]string{}
	files, _ := filepath.Glob("keys_*.go")
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			for _, field := range spec.Type.(*ast.StructType).Fields.List {
				text := strings.Join(strings.Fields(field.Doc.Text()), " ")
				meanings[spec.Name.Name+"."+field.Names[0].Name] = strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(text)
			}
			return false
		})
	}
	if n := len(slices.Collect(maps.Keys(meanings))); n < 500 {
		t.Fatalf("only %d fields", n)
	}
	return meanings
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package architecture holds the rules between packages that ARCHITECTURE.md draws; its test fails when one is broken.
package architecture

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "rocketmq-go/"

// mayImport lists, for each top-level folder, the other top-level folders that its non-test code may import.
// A sub-folder with an entry of its own is judged by that entry.
var mayImport = map[string]string{
	"compat":               "",
	"telemetry":            "",
	"config":               "compat",
	"message":              "compat",
	"remoting":             "compat message telemetry",
	"remoting/protocol":    "compat message",
	"remoting/observe":     "compat message remoting telemetry",
	"auth":                 "compat remoting broker/metafile",
	"store":                "compat message",
	"namesrv":              "compat config message remoting telemetry",
	"controller":           "compat config message remoting telemetry",
	"broker":               "auth compat config message remoting store telemetry",
	"broker/metafile":      "message remoting",
	"admin":                "auth compat config message remoting",
	"rocketmqtest":         "compat config message remoting store namesrv broker admin",
	"internal":             "compat config message remoting",
	"internal/brokerchild": "config broker",
	"cmd":                  "auth compat config message remoting store namesrv controller broker admin telemetry",
}

// testOnly are packages that only tests may import, and what helps them.
var testOnly = []string{
	module + "telemetry/otlptest", module + "telemetry/metrictest", module + "internal/brokerchild", "google.golang.org/grpc", "go.opentelemetry.io/",
	"github.com/VictoriaMetrics/",
}

func TestImportsGoOneWay(t *testing.T) {
	root := "../.."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			// conformance is made of modules of its own.
			if rel == "conformance" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && rel != "." {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		checkFile(t, path, filepath.ToSlash(filepath.Dir(rel)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkFile(t *testing.T, path, dir string) {
	t.Helper()
	rule, ok := ruleFor(dir)
	if !ok {
		t.Errorf("%s: folder %q has no rule in mayImport: say what it may import", path, dir)
		return
	}
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, im := range f.Imports {
		p, _ := strconv.Unquote(im.Path.Value)
		for _, prefix := range testOnly {
			if strings.HasPrefix(p, prefix) && dir != "telemetry/otlptest" {
				t.Errorf("%s imports %s, which is for tests only: the server's binary stays without it", path, p)
			}
		}
		target, own := strings.CutPrefix(p, module)
		if !own {
			continue
		}
		top, _, _ := strings.Cut(target, "/")
		self, _, _ := strings.Cut(dir, "/")
		if top == self && ruleName(dir) == ruleName(target) || contains(rule, top) || contains(rule, ruleName(target)) || top == self && ruleName(dir) == self {
			continue
		}
		t.Errorf("%s imports %s, which %s must not", path, p, ruleName(dir))
	}
}

func ruleName(dir string) string {
	name, _, _ := strings.Cut(dir, "/")
	for d := dir; d != "."; d = filepath.ToSlash(filepath.Dir(d)) {
		if _, ok := mayImport[d]; ok {
			return d
		}
	}
	return name
}

func ruleFor(dir string) (string, bool) {
	r, ok := mayImport[ruleName(dir)]
	return r, ok
}

func contains(list, word string) bool {
	for _, w := range strings.Fields(list) {
		if w == word {
			return true
		}
	}
	return false
}

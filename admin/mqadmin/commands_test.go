// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	cli "rocketmq-go/admin/commonscli"
)

// javaUsage are the usage texts that Java's tool prints, by sub-command.
func javaUsage(t *testing.T) map[string]string {
	t.Helper()
	f, err := os.Open("testdata/usage-5.3.3.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for part := range strings.SplitSeq("\n"+string(text), "\n== ") {
		if name, usage, ok := strings.Cut(part, "\n"); ok && name != "" {
			all[name] = strings.TrimSpace(usage)
		}
	}
	return all
}

// TestUsage compares names and options of all sub-commands, and how the texts are laid out, with Java's.
func TestUsage(t *testing.T) {
	java := javaUsage(t)
	if len(java) != len(strings.Fields(javaOrder)) {
		t.Fatalf("%d usage texts, %d names", len(java), len(strings.Fields(javaOrder)))
	}
	seen := map[string]bool{}
	for _, c := range Commands() {
		if seen[c.Name] {
			t.Errorf("%s is there twice", c.Name)
		}
		seen[c.Name] = true
		if c.Run == nil || c.About == "" {
			t.Errorf("%s does nothing or says nothing", c.Name)
		}
		if c.Own || c.Only4 {
			continue
		}
		if got := strings.TrimSpace(cli.Usage("mqadmin "+c.Name, withCommon(c.Options))); trimLines(got) != trimLines(java[c.Name]) {
			t.Errorf("%s\n%s\n--- Java\n%s", c.Name, got, java[c.Name])
		}
	}
	for name := range java {
		if !seen[name] {
			t.Errorf("%s is missing", name)
		}
	}
}

func trimLines(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}

// TestParse reads command lines as Java's DefaultParser read them.
func TestParse(t *testing.T) {
	text, err := os.ReadFile("testdata/parsed-5.3.3.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	all := Commands()
	for i := 0; i+1 < len(lines); i += 2 {
		words := strings.Split(lines[i], "\t")
		cmd, rest := find(all, words)
		if cmd == nil {
			t.Fatalf("no sub-command %s", words[0])
		}
		values, err := cli.Parse(withCommon(cmd.Options), rest)
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprintf("ok %s %s", optionsText(cmd, values), listText(values.Args))
		}
		if want := strings.TrimSpace(lines[i+1]); got != want {
			t.Errorf("%s\n  %s\n  Java: %s", lines[i], got, want)
		}
	}
}

func optionsText(cmd *Command, v *cli.Values) string {
	var names []string
	all := withCommon(cmd.Options)
	for i := range all {
		if o := &all[i]; v.Has(o.Name()) {
			value := v.Get(o.Name())
			if !o.Arg {
				value = "null"
			}
			names = append(names, o.Name()+"="+value)
		}
	}
	slices.Sort(names)
	return "{" + strings.Join(names, ", ") + "}"
}

// runIn runs a sub-command and returns what it printed.
func runIn(t *testing.T, e Env, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	e.Stdout, e.Stderr = &out, &errs
	code = Run(context.Background(), e, args)
	return code, out.String(), errs.String()
}

func TestWithoutServers(t *testing.T) {
	for _, c := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"", exitOK, "The most commonly used mqadmin commands are:\n   updateTopic ", ""},
		{"help", exitOK, "   wait  ", ""},
		{"help topicRoute", exitOK, "usage: mqadmin topicRoute [-h] [-l]", ""},
		{"topicRoute -h", exitOK, "--output", ""},
		{"TOPICROUTE", exitUsage, "usage: mqadmin topicRoute", "Missing required option: t"},
		{"topicRoutes", exitUsage, "The sub command topicRoutes not exist.", "did you mean topicRoute?"},
		{"noSuchCommand", exitUsage, "The sub command noSuchCommand not exist.", "noSuchCommand"},
		{"topicRoute -t T", exitFailed, "", "NAMESRV_ADDR"},
		{"topicRoute -t T -o xml", exitUsage, "", "--output xml"},
		{"topicRoute -t T --timeout x", exitUsage, "", "--timeout x"},
		{"updateBrokerConfig -k a -v b", exitUsage, "usage: mqadmin updateBrokerConfig", "not enough"},
		{"updateTopic -b 127.0.0.1:1 -t T -p 9", exitFailed, "", "CODE: 16  DESC: topicPermission value: 9 is invalid."},
		{"updateTopic -b 127.0.0.1:1 -t T -r x", exitUsage, "", `"x" is not a number`},
		{"brokerStatus -b 127.0.0.1:1", exitFailed, "", "connect to 127.0.0.1:1"},
		{"exportMetadataInRocksDB -p /nowhere -t topics", exitFailed, "RocksDB path is invalid.", "/nowhere"},
		{"dumpCompactionLog -f /nowhere/file", exitFailed, "", "file /nowhere/file not exist."},
		{"consumeProgress -g G", exitUsage, "", "did you mean consumerProgress?"},
		{"topicl", exitUsage, "", "did you mean topicList?"},
		{"wait T", exitUsage, "", `what is "T" for?`},
		{"config diff a b", exitUsage, "", `what is "a" for?`},
		{"queryMsgByKey -t T -k K -b yesterday", exitUsage, "", `"yesterday" is no time`},
		{"completion bash", exitOK, "complete -o default -F _mqadmin mqadmin rocketmq", ""},
		{"completion ksh", exitUsage, "", "bash, fish, zsh"},
	} {
		code, stdout, stderr := runIn(t, Env{}, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
			t.Errorf("%s: exit %d\n%s\n%s", c.args, code, stdout, stderr)
		}
	}
}

func TestComplete(t *testing.T) {
	for args, want := range map[string]string{
		"topicRo|":                    "topicRoute",
		"topicro|":                    "topicRoute",
		"help|topicRo":                "topicRoute",
		"config|":                     "diff",
		"con":                         "consumerConnection consumerProgress consumerStatus consumeMessage config",
		"topicRoute|--":               "--help --list --namesrvAddr --output --timeout --tls --tls-ca --tls-cert --tls-key --topic",
		"updateTopic|-":               "-a -b -c -h -n -o -p -r -s -t -u -w --output --timeout --tls --tls-ca --tls-cert --tls-key",
		"topicRoute|-o|":              "json text wide yaml",
		"topicRoute|-t|":              "",
		"completion|":                 "bash fish zsh",
		"topicRoute|-n|127.0.0.1:1|-": "-h -l -n -o -t --timeout --tls --tls-ca --tls-cert --tls-key",
	} {
		words := strings.Split(strings.TrimSuffix(args, "|"), "|")
		if strings.HasSuffix(args, "|") && strings.Count(args, "|") > 0 && args != "topicRo|" && args != "topicro|" {
			words = append(words, "")
		}
		_, got, _ := runIn(t, Env{}, append([]string{completeCommand}, words...)...)
		have, expected := strings.Fields(got), strings.Fields(want)
		slices.Sort(have)
		slices.Sort(expected)
		if !slices.Equal(have, expected) {
			t.Errorf("%q: %q, want %q", args, have, expected)
		}
	}
}

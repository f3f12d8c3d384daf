// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rocketmq-go/rocketmqtest"
)

const aclAccounts = `globalWhiteRemoteAddresses: [10.9.9.*]
accounts:
- {accessKey: rootroot, secretKey: 12345678, admin: true}
- {accessKey: somebody, secretKey: 87654321, whiteRemoteAddress: 10.1.1.1, defaultTopicPerm: DENY, defaultGroupPerm: SUB, topicPerms: [a=PUB, b=SUB], groupPerms: [g=SUB]}
`

var (
	blanks     = regexp.MustCompile(`[ \t]+`)
	time497    = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)
	shownOrNot = regexp.MustCompile(`secretKey=\S+ cannot`)
)

// aclLines leaves out where we decide differently: secret keys are not shown, what was set is (not the address of an object), a
// table of one broker has titles, an error is one line.
func aclLines(text, home, broker string) string {
	text = strings.NewReplacer(home, "<HOME>", broker, "<BROKER>").Replace(text)
	text = time497.ReplaceAllString(shownOrNot.ReplaceAllString(text, "secretKey=*** cannot"), "<TIME>")
	if _, remark, ok := strings.Cut(text, "CODE: "); ok {
		text = "CODE: " + remark
	}
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(blanks.ReplaceAllString(line, " "))
		if line == "" || strings.HasPrefix(line, "secretKey :") || strings.HasPrefix(line, "#Cluster Name") || strings.Contains(line, "PlainAccessConfig") {
			continue
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// Java's tool of 4.9.7 printed this for Java's broker; for ours it prints the same.
func TestAclCommands(t *testing.T) {
	recorded, err := os.ReadFile("testdata/acl-4.9.7.txt")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	conf := filepath.Join(home, "conf")
	if err := os.Mkdir(conf, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"plain_acl.yml": aclAccounts, "tools.yml": "accessKey: rootroot\nsecretKey: 12345678\n"} {
		if err := os.WriteFile(filepath.Join(conf, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mq := rocketmqtest.Start(t, rocketmqtest.WithPipe(), rocketmqtest.WithDir(home), rocketmqtest.WithConfig("aclEnable", "true"))
	env := Env{Dial: mq.Dial, Getenv: func(key string) string {
		return map[string]string{"NAMESRV_ADDR": mq.NamesrvAddr, "ROCKETMQ_HOME": home}[key]
	}}
	n := 0
	for _, part := range strings.Split(string(recorded), "=== ")[1:] {
		args, want, _ := strings.Cut(part, "\n")
		call := strings.NewReplacer("<HOME>", home, "<BROKER>", mq.BrokerAddr).Replace(args)
		code, stdout, stderr := runIn(t, env, strings.Fields(call)...)
		want = aclLines(want, home, mq.BrokerAddr)
		if got := aclLines(stdout+stderr, home, mq.BrokerAddr); got != want {
			t.Errorf("%s:\n%s\n--- want\n%s", args, got, want)
		}
		if failed := strings.HasPrefix(want, "CODE"); failed != (code != exitOK) {
			t.Errorf("%s: exit %d", args, code)
		}
		n++
	}
	if n != 18 {
		t.Errorf("%d invocations", n)
	}
	// Whoever is no admin learns nothing.
	if err := os.WriteFile(filepath.Join(conf, "tools.yml"), []byte("accessKey: somebody\nsecretKey: 87654321\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := runIn(t, env, "getAclConfig", "-b", mq.BrokerAddr)
	if code == exitOK || strings.Contains(stdout, "rootroot") || !strings.Contains(stderr, "Need admin permission for request code=54, but accessKey=somebody is not") {
		t.Errorf("exit %d %s %s", code, stdout, stderr)
	}
}

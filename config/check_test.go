// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckExplains(t *testing.T) {
	t.Setenv("ROCKETMQ_HOME", "/opt/rocketmq")
	for _, c := range []struct {
		name, role, text string
		code             int
		want             []string
	}{
		{"fine", "", "brokerName=a\npullMessageThreadPoolNums=3\nenableLmqStats=false\n", ExitOK, []string{
			"a broker by the rules of 5.3.3\n",
			"  brokerName=a                 works\n",
			"  pullMessageThreadPoolNums=3  no effect: there are no thread pools per kind of request here\n",
			"  enableLmqStats=false         no effect yet: belongs to light queues\n",
		}},
		{"wrong", "", "brokerNam=a\nfileReservedTime=48 \nregionId=a\nregionId=b", 1, []string{
			"  brokerNam=a             unknown key, without effect; did you mean brokerName?\n",
			"  fileReservedTime=\"48 \"  not a Java int (blanks around it count); 72 is used\n",
			"  regionId=a              no effect: given again below\n",
			"  regionId=b              works\n",
		}},
		{"refused", "", "aclEnable=true", 1, []string{
			"  aclEnable=true  refused, see below\n", "The broker does not start with this file: aclEnable=true:",
		}},
		{"does not load", "", "compatVersion=6", 1, []string{"compatVersion=6: must be"}},
		{"malformed", "", "a=\\u1", 1, []string{"malformed"}},
		{"guessed", "", "kvConfigPath=/x\nlistenPort=1", ExitOK, []string{"a namesrv by", "kvConfigPath=/x  works\n"}},
		{"told", "broker", "kvConfigPath=/x", 1, []string{"a broker by", "without effect here: a key of the name server"}},
		{"no such role", "proxy", "", ExitUsage, []string{"no such kind of configuration: proxy"}},
	} {
		var b strings.Builder
		if code := Check(&b, file(t, c.text), c.role); code != c.code {
			t.Errorf("%s: exit %d", c.name, code)
		}
		for _, want := range c.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: lacks %q:\n%s", c.name, want, b.String())
			}
		}
	}
	var b strings.Builder
	if code := Check(&b, filepath.Join(t.TempDir(), "none"), ""); code != 1 || !strings.Contains(b.String(), "no such file") {
		t.Error(code, b.String())
	}
}

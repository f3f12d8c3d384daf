// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"os"
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
		{"fine", "", "brokerName=a\npullMessageThreadPoolNums=3\nasyncLearner=false\n", ExitOK, []string{
			"a broker by the rules of 5.3.3\n",
			"  brokerName=a                 works\n",
			"  pullMessageThreadPoolNums=3  no effect: there are no thread pools per kind of request here\n",
			"  asyncLearner=false           no effect yet: belongs to controller mode\n",
			"\nThe broker starts with this file.\n",
		}},
		{"wrong", "", "brokerNam=a\nfileReservedTime=48 \nregionId=a\nregionId=b", 1, []string{
			"  brokerNam=a             unknown key, without effect; did you mean brokerName?\n",
			"  fileReservedTime=\"48 \"  not a Java int (blanks around it count); 72 is used\n",
			"  regionId=a              no effect: given again below\n",
			"  regionId=b              works\n",
			"\nThe broker starts, but not with all that the file says: correct or remove these 2 keys: brokerNam, fileReservedTime.\n",
		}},
		{"access rules", "", "aclEnable=true\nmigrateAuthFromV1Enabled=true", ExitOK, []string{"  aclEnable=true                 works\n"}},
		{"refused", "", "enableControllerMode=true", 1, []string{
			"  enableControllerMode=true  refused, see below\n", "The broker does not start with this file: enableControllerMode=true:",
		}},
		{"refused twice", "", "enableControllerMode=true\nstoreType=defaultRocksDB", 1, []string{
			"  storeType=defaultRocksDB   refused, see below\n", "\nRemove these keys to start the broker.\n",
		}},
		{"a slave without an id", "", "brokerRole=SLAVE", 1, []string{"The broker does not start with this file: Slave's brokerId must be > 0: "}},
		{"a port out of range", "", "listenPort=99999\nbrokerNam=a", 1, []string{
			"a broker (--namesrv if it is a name server's)\n", "  listenPort=99999  refused, see below\n",
			"  brokerNam=a       unknown key, without effect; did you mean brokerName?\n",
			"The broker does not start with this file: listenPort=99999: port out of range\n",
		}},
		{"does not load", "", "compatVersion=6", 1, []string{"The broker does not start with this file: compatVersion=6: must be"}},
		{"one key", "", "brokerNam=a", 1, []string{"\nThe broker starts, but not with all that the file says: correct or remove brokerNam.\n"}},
		{"as Java writes it", "", "isBrokerContainer=false", ExitOK, []string{"no effect: cannot be set, but is so anyway"}},
		{"malformed", "", "a=\\u1", 1, []string{"malformed"}},
		{"guessed", "", "kvConfigPath=/x\nlistenPort=1", ExitOK, []string{"a name server by the rules of 5.3.3\n", "kvConfigPath=/x  works\n"}},
		{"guessed by the port", "", "listenPort=9876", ExitOK, []string{"a name server by", "(--broker if it is a broker's)\n"}},
		{"nothing to guess by", "", "listenPort=9877", ExitOK, []string{"a broker by", "(--namesrv if it is a name server's)\n"}},
		{"told a name server", "namesrv", "listenPort=9877", ExitOK, []string{"a name server by the rules of 5.3.3\n"}},
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
	name := filepath.Join(t.TempDir(), "my-namesrv.properties")
	if err := os.WriteFile(name, []byte("listenPort=19876\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code := Check(&b, name, ""); code != ExitOK || !strings.Contains(b.String(), "a name server by") {
		t.Error("by its name:", code, b.String())
	}
	b.Reset()
	if code := Check(&b, filepath.Join(t.TempDir(), "none"), ""); code != 1 || !strings.Contains(b.String(), "no such file") {
		t.Error(code, b.String())
	}
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestUpdate(t *testing.T) {
	path := file(t, "# mine\nbrokerName = broker-a\r\nmaxMessageSize=1000\n\nmaxMessageSize: \\\n  2000\n#end")
	now := time.UnixMilli(1700000000000)
	c, _, err := LoadBroker(Options{File: path, Env: nothing, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.VersionText(); got != `{"counter":0,"stateVersion":0,"timestamp":1700000000000}` {
		t.Error(got)
	}
	before := c.Load()
	var told []string
	c.OnUpdate(func(old, new *BrokerValues, keys []string) {
		if old != before || new != c.Load() || old.Store.MaxMessageSize != 2000 || new.Store.MaxMessageSize != 3000 {
			t.Error("subscriber sees other values")
		}
		told = keys
	})
	former := read(t, path)
	now = now.Add(time.Second)
	change, err := c.Update([]byte("maxMessageSize=3000\nbrokerPermission=6\nnoSuchKey=1\n"))
	if err != nil || change.SaveErr != nil {
		t.Fatal(err, change.SaveErr)
	}
	if len(change.Notes) != 1 || !strings.Contains(change.Notes[0], "noSuchKey: unknown key") {
		t.Errorf("notes %q", change.Notes)
	}
	if !change.Has("brokerPermission") || change.Has("noSuchKey") || len(change.Ignored) != 1 || len(told) != 2 {
		t.Errorf("%+v, told %v", change, told)
	}
	if before.Store.MaxMessageSize != 2000 {
		t.Error("published values were changed")
	}
	if got := c.VersionText(); got != `{"counter":1,"stateVersion":0,"timestamp":1700000001000}` {
		t.Error(got)
	}
	if got, want := read(t, path), "# mine\nbrokerName = broker-a\r\nmaxMessageSize=3000\n\n#end\nbrokerPermission=6\n"; got != want {
		t.Errorf("file:\n%q\nwant\n%q", got, want)
	}
	if read(t, path+".bak") != former {
		t.Error(".bak is not the former content")
	}
	if !strings.Contains(c.Exposed(), "\nmaxMessageSize=3000\n") || strings.Contains(c.Exposed(), "noSuchKey") {
		t.Error("exposed text is not the new one")
	}
	// What was written is what the next start reads.
	again, warnings, err := LoadBroker(Options{File: path, Env: nothing})
	if err != nil || len(warnings) > 0 || again.Load().Store.MaxMessageSize != 3000 {
		t.Error(err, warnings)
	}
	if _, err := os.Stat(path + ".tmp"); err == nil {
		t.Error("temporary file left")
	}
}

func TestUpdateOfOddTexts(t *testing.T) {
	path := file(t, "myOwnKey=1\nregionId=x")
	c, _, err := LoadBroker(Options{File: path, Env: nothing})
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"myOwnKey=2", "regionId=é中 #1", `msgTraceTopicName=\ a\\b\n`, "haMasterAddress=", "inBrokerContainer=true", "abc", "#x"} {
		if change, err := c.Update([]byte(body)); err != nil || change.SaveErr != nil {
			t.Errorf("%s: %v %v", body, err, change.SaveErr)
		}
	}
	if change, err := c.Update(nil); err != nil || change.Keys != nil || c.DataVersion().Counter != 7 {
		t.Errorf("empty body: %v, %+v, version %s", err, change, c.VersionText())
	}
	text := c.Exposed()
	for _, line := range []string{"myOwnKey=2\n", "regionId=é中 #1\n", "haMasterAddress=\n", "isInBrokerContainer=true\n", "msgTraceTopicName=a\\b\n"} {
		if !strings.Contains(text, line) {
			t.Errorf("%q is not shown", line)
		}
	}
	again, _, err := LoadBroker(Options{File: path, Env: nothing})
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Load(); got.RegionID != "é中 #1" || got.MsgTraceTopicName != `a\b` || !got.IsInBrokerContainer {
		t.Errorf("after a new start: %q %q", got.RegionID, got.MsgTraceTopicName)
	}
}

func TestUpdateRefused(t *testing.T) {
	path := file(t, "configBlackList=maxMessageSize; regionId;\n")
	c, _, err := LoadBroker(Options{File: path, Env: nothing})
	if err != nil {
		t.Fatal(err)
	}
	was, text := c.Load(), c.Exposed()
	for _, key := range []string{"brokerConfigPath", "rocketmqHome", "configBlackList", "maxMessageSize", "regionId", "compatVersion"} {
		_, err := c.Update([]byte("traceOn=false\n" + key + "=1\n"))
		var blocked *BlackListError
		if !errors.As(err, &blocked) || blocked.Key != key || blocked.Error() != "Can not update config in black list." {
			t.Errorf("%s: %v", key, err)
		}
	}
	for _, body := range []string{"listenPort=abc", "brokerRole=x", "traceOn=yes", "haListenPort=1 "} {
		_, err := c.Update([]byte("traceOn=false\n" + body))
		var bad *BadValueError
		if !errors.As(err, &bad) {
			t.Errorf("%s: %v", body, err)
		}
	}
	for _, body := range []string{"aclEnable=true", "brokerRole=SLAVE", "messageDelayLevel=x", `a=\u1`} {
		if _, err := c.Update([]byte("traceOn=false\n" + body)); err == nil {
			t.Errorf("%s: accepted", body)
		}
	}
	if c.Load() != was || c.Exposed() != text || c.DataVersion().Counter != 0 || read(t, path) != "configBlackList=maxMessageSize; regionId;\n" {
		t.Error("a refused update changed something")
	}
}

// Access rules that were not read at the start cannot hold; those that were can be switched.
func TestAccessRulesAreReadAtStart(t *testing.T) {
	for text, want := range map[string]bool{"": false, "aclEnable=true": true} {
		c := mustLoad(t, "rocketmqHome=/x\n"+text)
		_, off := c.Update([]byte("aclEnable=false"))
		_, on := c.Update([]byte("aclEnable=true"))
		if off != nil || (on == nil) != want || c.Load().AclEnable != want {
			t.Errorf("started with %q: off %v, on %v, holds %t", text, off, on, c.Load().AclEnable)
		}
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	c := mustLoad(t, "tls.server.keyPassword=hush\ninitAuthenticationUser={hush}\ninnerClientAuthenticationCredentials=hush\nmetricsGrpcExporterHeader=Authorization:hush\ntls.server.certPath=/c")
	if text := c.Exposed(); strings.Contains(text, "hush") || !strings.Contains(text, "tls.server.certPath=/c\n") {
		t.Error(text)
	}
	if c.Load().Own.TLSServerKeyPassword != "hush" {
		t.Error("the password is not read")
	}
}

func TestAddressAfterUpdate(t *testing.T) {
	c := mustLoad(t, "")
	if _, err := c.Update([]byte("brokerIP1=10.9.9.9")); err != nil {
		t.Fatal(err)
	}
	if ip, why := c.Load().AdvertisedIP(); ip != "10.9.9.9" || why != "set by brokerIP1" {
		t.Error(ip, why)
	}
}

func TestProtectPathKeys(t *testing.T) {
	for text, refused := range map[string]bool{"": false, "protectPathKeys=true": true} {
		c := mustLoad(t, text)
		_, err := c.Update([]byte("storePathRootDir=/x"))
		if (err != nil) != refused {
			t.Errorf("%q: %v", text, err)
		}
		// It holds at once, and cannot be taken back.
		if _, err := c.Update([]byte("protectPathKeys=true")); (err != nil) != refused {
			t.Errorf("%q: %v", text, err)
		}
		for _, update := range []string{"storePathRootDir=/y", "protectPathKeys=false"} {
			if _, err := c.Update([]byte(update)); err == nil {
				t.Errorf("%q: %s is taken", text, update)
			}
		}
	}
}

func TestBlackListOfNameServers(t *testing.T) {
	for version, remark := range map[string]string{V533: "Can not update config in black list.", V497: "Can not update config path"} {
		c, _, err := LoadNamesrv(Options{File: file(t, ""), CompatVersion: version, Env: nothing})
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome"} {
			if _, err := c.Update([]byte(key + "=/x\n")); err == nil || err.Error() != remark {
				t.Errorf("%s %s: %v", version, key, err)
			}
		}
		if _, err := c.Update([]byte("orderMessageEnable=true\n")); err != nil || !c.Load().OrderMessageEnable {
			t.Error(err)
		}
	}
}

func TestUpdateWithoutFile(t *testing.T) {
	home := t.TempDir()
	c, _, err := LoadBroker(Options{Env: nothing, System: func(name string) string {
		return map[string]string{"user.home": home}[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []string{"1000", "2000"} {
		change, err := c.Update([]byte("maxMessageSize=" + size))
		if err != nil || change.SaveErr != nil {
			t.Fatal(err, change.SaveErr)
		}
	}
	path := filepath.Join(home, "store/config/broker.properties")
	if got := strings.ReplaceAll(read(t, path), "\\", ""); got != c.Exposed() {
		t.Errorf("file is not the exposed configuration:\n%s", got)
	}
	if !strings.Contains(read(t, path+".bak"), "maxMessageSize=1000\n") {
		t.Error(".bak is not the former content")
	}
}

// A file that cannot be written, such as one mounted read-only, does not keep the values from changing.
func TestUpdateThatCannotBeSaved(t *testing.T) {
	path := file(t, "")
	c, _, err := LoadBroker(Options{File: path, Env: nothing})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path+".tmp", 0o700); err != nil {
		t.Fatal(err)
	}
	change, err := c.Update([]byte("maxMessageSize=1000"))
	if err != nil || change.SaveErr == nil || c.Load().Store.MaxMessageSize != 1000 {
		t.Errorf("%v, %v", err, change.SaveErr)
	}
}

func TestAdjust(t *testing.T) {
	c := mustLoad(t, "listenPort=0")
	c.Adjust(func(v *BrokerValues) { v.Server.ListenPort, v.Store.HaListenPort = 21011, 21012 })
	if !strings.Contains(c.Exposed(), "\nlistenPort=21011\n") || c.Load().Store.HaListenPort != 21012 || c.DataVersion().Counter != 0 {
		t.Error(c.Exposed())
	}
}

// Readers see one of the published states whole, never a mixture.
func TestConcurrentUpdates(t *testing.T) {
	c := mustLoad(t, "maxMessageSize=0\nmaxTransferCountOnMessageInMemory=0\nregionId=0")
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				v := c.Load()
				if v.Store.MaxMessageSize != v.Store.MaxTransferCountOnMessageInMemory || len(v.RegionID) != v.Store.MaxMessageSize%3+1 {
					t.Errorf("mixed state %d %d %q", v.Store.MaxMessageSize, v.Store.MaxTransferCountOnMessageInMemory, v.RegionID)
					return
				}
				_ = c.Exposed()
			}
		})
	}
	for range 2 {
		writers.Go(func() {
			for i := range 30 {
				n := string(rune('0' + i%10))
				body := "maxMessageSize=" + n + "\nmaxTransferCountOnMessageInMemory=" + n + "\nregionId=" + strings.Repeat("r", i%10%3+1)
				if _, err := c.Update([]byte(body)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	if c.DataVersion().Counter != 60 {
		t.Error(c.VersionText())
	}
}

func FuzzUpdate(f *testing.F) {
	f.Add([]byte("a=1\nmaxMessageSize=5\n"), []byte("# x\nmaxMessageSize = 7\\\n8\n"))
	f.Add([]byte(`regionId=\u00e9\\ `), []byte(""))
	f.Fuzz(func(t *testing.T, body, old []byte) {
		path := filepath.Join(t.TempDir(), "x.conf")
		if err := os.WriteFile(path, old, 0o600); err != nil {
			t.Fatal(err)
		}
		c, _, err := LoadBroker(Options{File: path, Env: nothing})
		if err != nil {
			return
		}
		change, err := c.Update(body)
		if err != nil || change.SaveErr != nil {
			return
		}
		again, _, err := LoadBroker(Options{File: path, Env: nothing})
		if err != nil {
			t.Fatalf("the file written does not load: %v\n%q", err, read(t, path))
		}
		// Derived values follow what they are derived from at the next start.
		a, b := *c.Load(), *again.Load()
		a.Store.HaListenPort, b.Store.HaListenPort = 0, 0
		a.Store.BitMapLengthConsumeQueueExt, b.Store.BitMapLengthConsumeQueueExt = 0, 0
		if a != b {
			t.Fatalf("the file written gives other values: %q", read(t, path))
		}
	})
}

// A key that holds from the next start on is written down and shown, and what runs does not see it, nor half of it.
func TestKeysReadAtStart(t *testing.T) {
	c := mustLoad(t, "rocketmqHome=/x")
	other := map[string]string{
		"boolean": "true", "int": "12345", "long": "12345", "double": "0.5", "String": "other",
		"flushDiskType": "SYNC_FLUSH", "messageDelayLevel": "7s", "metricsExporterType": "PROM", "logFormat": "json",
		"timerPrecisionMs": "200",
	}
	was := *c.Load()
	want := map[string]string{}
	for _, k := range c.Keys() {
		value := cmp.Or(other[k.Name], other[k.Type])
		if k.Type == "boolean" && text(k.valueIn((&was).objects())) == "true" {
			value = "false"
		}
		refused := slices.Contains([]string{"enableControllerMode", "enableDLegerCommitLog", "storeType", "brokerId"}, k.Name)
		if k.AtStart && k.SetName != "" && !c.blocked[k.SetName] && !refused {
			want[k.SetName] = value
		}
	}
	var body strings.Builder
	for key, value := range want {
		body.WriteString(key + "=" + value + "\n")
	}
	change, err := c.Update([]byte(body.String()))
	if err != nil || len(change.Keys) < 50 {
		t.Fatal(err, len(change.Keys))
	}
	if *c.Load() != was {
		t.Errorf("some of them hold at once: %+v, before %+v", *c.Load(), was)
	}
	shown := "\n" + c.Exposed()
	for _, k := range c.Keys() {
		if change.Has(k.Name) && !k.Secret && was.objects()[k.object].exposed && !strings.Contains(shown, "\n"+k.Name+"="+want[k.Name]+"\n") {
			t.Errorf("%s is not shown with its new value", k.Name)
		}
	}
}

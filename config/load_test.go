// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// load reads a broker configuration from text alone.
func loadText(t *testing.T, text string) (*Broker, []Warning, error) {
	t.Helper()
	return LoadBroker(Options{File: file(t, text), Env: nothing})
}

func mustLoad(t *testing.T, text string) *Broker {
	t.Helper()
	c, _, err := loadText(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	c, warnings, err := LoadBroker(Options{Env: nothing, System: func(name string) string {
		return map[string]string{"user.home": "/home/u"}[name]
	}, CPUs: 6})
	if err != nil || len(warnings) != 0 {
		t.Fatal(err, warnings)
	}
	v := c.Load()
	if v.Server.ListenPort != 10911 || v.Store.HaListenPort != 10912 {
		t.Errorf("ports %d, %d", v.Server.ListenPort, v.Store.HaListenPort)
	}
	if v.Store.StorePathRootDir != "/home/u/store" || v.Store.CommitLogPath() != "/home/u/store/commitlog" {
		t.Errorf("paths %s, %s", v.Store.StorePathRootDir, v.Store.CommitLogPath())
	}
	if v.SendMessageThreadPoolNums != 4 || v.PullMessageThreadPoolNums != 28 {
		t.Errorf("pools %d, %d", v.SendMessageThreadPoolNums, v.PullMessageThreadPoolNums)
	}
	if v.Own.MaxFrameLength != 16<<20 || v.Own.MaxRequestsPerConnection != 4096 || v.Own.MaxReplyBytesPerConnection != 32<<20 || v.Own.MaxHeldPulls != 100_000 {
		t.Errorf("bounds %+v", v.Own)
	}
	if v.BrokerName == "" || v.Store.BrokerRole != AsyncMaster || v.Store.FlushDiskType != AsyncFlush {
		t.Errorf("%q %q %q", v.BrokerName, v.Store.BrokerRole, v.Store.FlushDiskType)
	}
	n, _, err := LoadNamesrv(Options{Env: nothing})
	if err != nil || n.Load().Server.ListenPort != 9876 {
		t.Error("name server:", err)
	}
}

func TestPrecedence(t *testing.T) {
	system := func(name string) string {
		return map[string]string{"rocketmq.home.dir": "/prop", "rocketmq.namesrv.addr": "prop:1", "tls.server.mode": "enforcing"}[name]
	}
	env := func(name string) string {
		return map[string]string{"ROCKETMQ_HOME": "/env", "NAMESRV_ADDR": "env:1"}[name]
	}
	for _, c := range []struct {
		name        string
		o           Options
		home, names string
	}{
		{"environment", Options{Env: env}, "/env", "env:1"},
		{"property over environment", Options{Env: env, System: system}, "/prop", "prop:1"},
		{"file over property", Options{Env: env, System: system, File: file(t, "namesrvAddr=file:1\nrocketmqHome=/file")}, "/file", "file:1"},
		{"settings over file", Options{File: file(t, "namesrvAddr=file:1"), Set: map[string]string{"namesrvAddr": "set:1"}, Env: env}, "/env", "set:1"},
		{"-n over all", Options{File: file(t, "namesrvAddr=file:1"), NamesrvAddr: "n:1", Env: env}, "/env", "n:1"},
	} {
		b, _, err := LoadBroker(c.o)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if v := b.Load(); v.RocketmqHome != c.home || v.NamesrvAddr != c.names {
			t.Errorf("%s: got %s, %s", c.name, v.RocketmqHome, v.NamesrvAddr)
		}
	}
	b, _, _ := LoadBroker(Options{System: system, Env: env})
	if mode := b.Load().Own.TLSServerMode; mode != "enforcing" {
		t.Errorf("system property not read: %s", mode)
	}
}

func TestWarnings(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"autoCreateTopicEnabel=true", "autoCreateTopicEnabel=true: unknown key, without effect; did you mean autoCreateTopicEnable?"},
		{"LISTENPORT=1", "LISTENPORT=1: unknown key, without effect; did you mean listenPort?"},
		{"somethingElseAltogether=1", "somethingElseAltogether=1: unknown key, without effect"},
		{"haListenPort=10915 ", "haListenPort=10915 : not a Java int (blanks around it count); 0 is used"},
		{"brokerRole=master", "brokerRole=master: not one of ASYNC_MASTER, SYNC_MASTER, SLAVE; ASYNC_MASTER is used"},
		{"autoCreateTopicEnable=on", "autoCreateTopicEnable=on: not one of true, false; false is used"},
		{"kvConfigPath=/x", "kvConfigPath=/x: without effect here: a key of the name server"},
		{"priorityOrderAsc=false", "priorityOrderAsc=false: without effect here: a key of 5.4.0"},
		{"controllerDLegerGroup=g", "controllerDLegerGroup=g: without effect here: a key of the controller"},
		{"timerCheckMetricsWhen=06", "timerCheckMetricsWhen=06: cannot be set, in Java neither; 05 is used"},
		{"messageStorePlugIn=a.b.C", "messageStorePlugIn=a.b.C: accepted without effect: it names Java classes"},
		{"metricsExporterType=PROM", ""},
		{"metricsExporterType=1", "metricsGrpcExporterTarget=: no metrics are exported: metricsGrpcExporterTarget is empty"},
		{
			"metricsExporterType=OTLP_GRPC\nmetricsGrpcExporterTarget=http://:4317\nmetricsGrpcExporterHeader=a:b,secret\nmetricGrpcExporterIntervalInMills=0",
			"metricsGrpcExporterTarget=http://:4317: no metrics are exported: no host; metricsGrpcExporterHeader=…: 1 parts of it are " +
				"not name:value and are left out; metricGrpcExporterIntervalInMills=0: not a time; 60000 is used",
		},
		{"metricsExporterType=LOG\nmetricLoggingExporterIntervalInMills=-1", "metricLoggingExporterIntervalInMills=-1: not a time; 10000 is used"},
		{"metricsExporterType=OTLP_GRPC\nmetricsGrpcExporterTarget=collector:4317", ""},
		{"regionId=x # y", "regionId=x # y: there are no comments behind values: the text from # on is part of the value"},
		{"brokerId=2", "brokerId=2: a master has brokerId 0, which is used (brokerRole is ASYNC_MASTER)"},
		{"listenPort=abc", "listenPort=abc: not a Java int; 10911 is used"},
		{"isBrokerContainer=false\ntimerCheckMetricsWhen=05", ""}, // as Java writes it
		{"writeBufferHighWaterMark=x", "writeBufferHighWaterMark=x: not a Java int; 0 is used"},
		{"enableDetailStat=false\nfilterServerNums=1\nsendMessageThreadPoolNums=9", ""},
	} {
		_, warnings, err := loadText(t, c.text)
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		var got []string
		for _, w := range warnings {
			got = append(got, strings.TrimPrefix(w.String(), "configuration key "))
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.text, s, c.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		text string
		code int
		want string
	}{
		{"aclEnable=true", 253, "aclEnable=true: the access rules are below ROCKETMQ_HOME, which is not set. Set it to start the broker."},
		{"aclEnable=true\ncompatVersion=4.9.7", 253, "aclEnable=true: the access rules are below ROCKETMQ_HOME, which is not set."},
		{"migrateAuthFromV1Enabled=true", 253, "migrateAuthFromV1Enabled=true: the access rules are"},
		{"enableDLegerCommitLog=true", 253, "enableDLegerCommitLog=true:"},
		{"storeType=defaultRocksDB", 253, "storeType=defaultRocksDB:"},
		{"enableControllerMode=true", 253, "enableControllerMode=true:"},
		{"enableControllerMode=true\nenableDLegerCommitLog=true", 252, "enableControllerMode and enableDLegerCommitLog"},
		{"brokerRole=SLAVE", 253, "Slave's brokerId must be > 0: brokerRole=SLAVE needs brokerId=1 or more"},
		{"enableControllerMode=true\nstoreType=defaultRocksDB", 253, "(files) is supported.\nenableControllerMode=true: controllers are not supported by this version.\nRemove these keys to start the broker."},
		{"enableControllerMode=true\nmessageDelayLevel=1", 253, "Correct it to start the broker. Remove the other keys."},
		{"namesrvAddr=abc", 253, `The Name Server Address[abc] illegal, please set it as follows, "127.0.0.1:9876;192.168.0.1:9876"`},
		{"namesrvAddr=a:1;b:x", 253, "The Name Server Address[a:1;b:x] illegal"},
		{"compatVersion=4.9.8", 253, "compatVersion=4.9.8: must be 5.3.3 or 4.9.7"},
		{"messageDelayLevel=1s  2s", 253, `messageDelayLevel: "" does not end in s, m, h or d`},
		{"listenPort=65536", 255, "listenPort=65536: port out of range"},
		{"listenPort=2", 255, "listenPort=2: port out of range: the fast port would be 0"},
		{"tls.config.file=/none/tls.properties", 255, "TLS settings cannot be read: open /none/tls.properties: no such file"},
		{"tls.test.mode.enable=false", 253, "tls.server.keyPath=: tls.test.mode.enable=false needs it.\ntls.server.certPath=: tls.test"},
		{"tls.test.mode.enable=false\ntls.server.keyPath=/none/key\ntls.server.certPath=/dev/null", 253, "tls.server.keyPath=/none/key: open /none/key: no such file"},
		{"a=\\u12", 255, "malformed"},
	} {
		_, _, err := loadText(t, c.text)
		var exit *ExitError
		if !errors.As(err, &exit) || exit.Code != c.code || !strings.Contains(exit.Text, c.want) {
			t.Errorf("%s: got %v, want exit %d with %q", c.text, err, c.code, c.want)
		}
	}
	// What is refused is not warned of besides.
	_, warnings, err := loadText(t, "enableControllerMode=true\nstoreType=defaultRocksDB\naclEnable=true\nnoSuchKey=1")
	if err == nil || len(warnings) != 1 || warnings[0].Key != "noSuchKey" {
		t.Error(warnings, err)
	}
	_, _, err = LoadBroker(Options{File: filepath.Join(t.TempDir(), "none.conf"), Env: nothing})
	if err == nil || !strings.Contains(err.Error(), "none.conf does not exist") {
		t.Error(err)
	}
	_, _, err = LoadController(Options{File: file(t, "controllerType=jRaft"), Env: nothing})
	if err == nil || !strings.Contains(err.Error(), "controllerType=jRaft") {
		t.Error(err)
	}
	if c, _, err := loadText(t, "enableDLegerCommitLog=false\nstoreType=DEFAULT\nnamesrvAddr=a:1;b:2"); c == nil || err != nil {
		t.Error(err)
	}
}

// A name server and a controller may have their keys in one file; elsewhere they are told that they are in the wrong one.
func TestControllerInNamesrv(t *testing.T) {
	const text = "kvConfigPath=/tmp/kv.json\ncontrollerDLegerPeers=n0-127.0.0.1:9878\ncontrollerDLegerSelfId=n0\nscanInactiveMasterInterval=700\nnoSuchKey=1\n"
	path := file(t, text+"enableControllerInNamesrv=true")
	n, warnings, err := LoadNamesrv(Options{File: path, Env: nothing})
	if err != nil || len(warnings) != 1 || warnings[0].Key != "noSuchKey" || !n.Load().EnableControllerInNamesrv {
		t.Error(warnings, err)
	}
	c, warnings, err := LoadController(Options{File: path, Env: nothing})
	if v := c.Load(); err != nil || len(warnings) != 1 || v.ControllerDLegerSelfID != "n0" || v.ScanInactiveMasterInterval != 700 || v.ConfigStorePath != path {
		t.Error(warnings, err)
	}
	if !strings.Contains(c.Exposed(), "kvConfigPath=/tmp/kv.json\n") {
		t.Error("the configuration of a controller lacks what is in its file")
	}
	if _, warnings, err = LoadNamesrv(Options{File: file(t, text), Env: nothing}); err != nil || len(warnings) != 4 {
		t.Error(warnings, err)
	}
}

func TestPorts(t *testing.T) {
	for _, c := range []struct {
		text       string
		listen, ha int
	}{
		{"listenPort=21011", 21011, 21012},
		{"listenPort=0", 0, 0},
		{"listenPort=21011\nhaListenPort=7", 21011, 7},
		{"haListenPort=-3", 10911, 10912},
	} {
		v := mustLoad(t, c.text).Load()
		if v.Server.ListenPort != c.listen || v.Store.HaListenPort != c.ha {
			t.Errorf("%q: got %d, %d", c.text, v.Server.ListenPort, v.Store.HaListenPort)
		}
	}
}

func TestAdvertisedIP(t *testing.T) {
	for text, want := range map[string]string{
		"brokerIP1=10.1.2.3":       "10.1.2.3 (set by brokerIP1)",
		"brokerIP1=broker.example": "broker.example (set by brokerIP1)",
		"brokerIP1=auto":           "auto (set by brokerIP1)",
	} {
		ip, why := mustLoad(t, text).Load().AdvertisedIP()
		if got := ip + " (" + why + ")"; got != want {
			t.Errorf("%s: got %s", text, got)
		}
	}
	ip, why := mustLoad(t, "brokerIP1=").Load().AdvertisedIP()
	if ip == "" || why == "set by brokerIP1" {
		t.Errorf("empty brokerIP1: %q, %q", ip, why)
	}
}

// What 4.9.7 does not have is neither shown nor acted upon.
func TestRulesOf497(t *testing.T) {
	c := mustLoad(t, "compatVersion=4.9.7")
	v := c.Load()
	if c.CompatVersion() != V497 || v.Own.CompatVersion != V497 {
		t.Error(c.CompatVersion(), v.Own.CompatVersion)
	}
	if v.TransactionCheckInterval != 60000 || v.UseServerSideResetOffset || v.Store.AutoMessageVersionOnTopicLen || !v.LitePullMessageEnable {
		t.Errorf("%d %t %t", v.TransactionCheckInterval, v.UseServerSideResetOffset, v.Store.AutoMessageVersionOnTopicLen)
	}
	text := c.Exposed()
	for _, key := range []string{"popPollingSize", "stateVersion", "bindAddress"} {
		if strings.Contains(text, key+"=") {
			t.Errorf("%s is shown", key)
		}
	}
	for _, line := range []string{"filterServerNums=0\n", "haSlaveFallbehindMax=268435456\n", "compatVersion=4.9.7\n", "isEnableBatchPush=false\n"} {
		if !strings.Contains(text, line) {
			t.Errorf("%q is not shown", line)
		}
	}
	if strings.Contains(c.VersionText(), "stateVersion") {
		t.Error(c.VersionText())
	}
}

// The sample files load without a warning.
func TestSampleFiles(t *testing.T) {
	count := 0
	err := filepath.WalkDir("../conf", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".conf" && filepath.Ext(path) != ".properties" {
			return err
		}
		count++
		var warnings []Warning
		switch o := (Options{File: path, Env: nothing}); {
		case strings.HasPrefix(d.Name(), "namesrv"):
			_, warnings, err = LoadNamesrv(o)
		case strings.HasPrefix(d.Name(), "controller"):
			_, warnings, err = LoadController(o)
		default:
			_, warnings, err = LoadBroker(o)
		}
		if len(warnings) > 0 {
			t.Errorf("%s: %v", path, warnings)
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		return nil
	})
	if err != nil || count != 20 {
		t.Errorf("%d files, %v", count, err)
	}
}

// A master that is to wait for slaves, and does not, says so; what only a slave has is not a master's.
func TestRoles(t *testing.T) {
	for _, c := range []struct{ text, warning string }{
		{"brokerRole=SYNC_MASTER", "Set inSyncReplicas=2 to wait for one"},
		{"brokerRole=SYNC_MASTER\ninSyncReplicas=2", ""},
		{"brokerRole=SYNC_MASTER\ncompatVersion=4.9.7", ""},
		{"brokerRole=SLAVE\nbrokerId=1\ninSyncReplicas=1", ""},
		{"brokerRole=SLAVE\nbrokerId=1\nenableSlaveActingMaster=true\ntotalReplicas=2\nslaveReadEnable=true", ""},
		{"brokerRole=SLAVE\nbrokerId=1\nenableSlaveActingMaster=true\ntotalReplicas=2", "slaves refuse pulls: set slaveReadEnable=true"},
		{"enableSlaveActingMaster=true", "does not take over what its slave has come to: set totalReplicas"},
		{"enableSlaveActingMaster=true\ntotalReplicas=2\nbrokerIP1=auto", "set brokerIP1 and brokerIP2"},
		{"enableSlaveActingMaster=true\ntotalReplicas=2\nlockInStrictMode=true", "accepted without effect"},
		{"brokerId=3", "a master has brokerId 0, which is used (brokerRole is ASYNC_MASTER)"},
	} {
		_, warnings, err := loadText(t, c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if len(warnings) > 1 || (c.warning == "") != (len(warnings) == 0) || len(warnings) == 1 && !strings.Contains(warnings[0].String(), c.warning) {
			t.Errorf("%s: warnings %v, want %q", c.text, warnings, c.warning)
		}
	}
	c := mustLoad(t, "brokerRole=SLAVE\nbrokerId=2\naccessMessageInMemoryMaxRatio=50")
	if v := c.Load(); v.BrokerID != 2 || v.Store.AccessMessageInMemoryMaxRatio != 40 {
		t.Errorf("id %d, ratio %d", v.BrokerID, v.Store.AccessMessageInMemoryMaxRatio)
	}
}

// Who a broker is decides what runs in it: a hot update that says otherwise must not be answered with success.
func TestRoleIsFixed(t *testing.T) {
	for _, text := range []string{"", "brokerRole=SLAVE\nbrokerId=1"} {
		c := mustLoad(t, text)
		was := c.Load()
		for _, body := range []string{"brokerRole=SLAVE", "brokerRole=SYNC_MASTER", "brokerId=7"} {
			_, err := c.Update([]byte(body))
			same := strings.HasSuffix(body, string(was.Store.BrokerRole))
			fine := same || text == "" && body == "brokerRole=SYNC_MASTER" // which only changes who is waited for
			if fine != (err == nil) || !fine && c.Load() != was {
				t.Errorf("%q updated by %s: %v", text, body, err)
			}
			was = c.Load()
		}
	}
}

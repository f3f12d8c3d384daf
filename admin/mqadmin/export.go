// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

const exportDir = "/tmp/rocketmq/export"

// exportTo writes a file below the folder of -f.
func (c *Call) exportTo(name string, text []byte) error {
	dir := c.text("f")
	if dir == "" {
		dir = exportDir
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return err
	}
	c.done("export %s success\n", path)
	return nil
}

// systemGroups are made by servers and tools; exports leave them out, and those that begin with systemGroupPrefix.
var systemGroups = strings.Fields(`DEFAULT_CONSUMER DEFAULT_PRODUCER TOOLS_CONSUMER SCHEDULE_CONSUMER FILTERSRV_CONSUMER
	__MONITOR_CONSUMER CLIENT_INNER_PRODUCER SELF_TEST_P_GROUP SELF_TEST_C_GROUP CID_ONS-HTTP-PROXY CID_ONSAPI_PERMISSION
	CID_ONSAPI_OWNER CID_ONSAPI_PULL CID_RMQ_SYS_TRANS`)

const systemGroupPrefix = "CID_RMQ_SYS_"

// userTopics are the topics of a broker without those of servers.
func (c *Call) userTopics(addr string) (*protocol.TopicConfigSerializeWrapper, error) {
	all, err := fetch[protocol.TopicConfigSerializeWrapper](c, addr, ask(protocol.ReqGetAllTopicConfig, nil))
	if err != nil {
		return nil, err
	}
	system, err := fetch[protocol.TopicList](c, addr, ask(protocol.ReqGetSystemTopicListFromBroker, nil))
	if err != nil {
		return nil, err
	}
	kept := fastjson.MapOf[string, *protocol.TopicConfig](all.TopicConfigTable.Len())
	for name, t := range all.TopicConfigTable.All() {
		if t != nil && !slices.Contains(system.TopicList, name) && (c.Has("s") || !isRetryOrDLQ(name)) {
			kept.Set(name, t)
		}
	}
	all.TopicConfigTable = kept
	return all, nil
}

// userGroups are the groups of a broker without those of servers, and no forbidden ones.
type userGroups struct {
	SubscriptionGroupTable fastjson.Map[string, *protocol.SubscriptionGroupConfig] `fastjson:"subscriptionGroupTable,empty"`
	DataVersion            protocol.DataVersion                                    `fastjson:"dataVersion"`
}

func (c *Call) userGroups(addr string) (*userGroups, error) {
	all, err := c.groups(addr)
	if err != nil {
		return nil, err
	}
	kept := &userGroups{DataVersion: all.DataVersion, SubscriptionGroupTable: fastjson.MapOf[string, *protocol.SubscriptionGroupConfig](0)}
	for name, g := range all.SubscriptionGroupTable.All() {
		if g != nil && !slices.Contains(systemGroups, name) && !strings.HasPrefix(name, systemGroupPrefix) {
			kept.SubscriptionGroupTable.Set(name, g)
		}
	}
	return kept, nil
}

func exportMetadata(c *Call) error {
	pretty := fastjson.Options{Pretty: true}
	switch {
	case c.Has("b") && c.Has("t"):
		topics, err := c.userTopics(c.text("b"))
		if err != nil {
			return err
		}
		return c.exportTo("topic.json", pretty.Marshal(topics))
	case c.Has("b") && c.Has("g"):
		groups, err := c.userGroups(c.text("b"))
		if err != nil {
			return err
		}
		return c.exportTo("subscriptionGroup.json", pretty.Marshal(groups))
	case c.Has("c"):
		return c.exportCluster()
	}
	return errUsage
}

// clusterMetadata is the file of a cluster: topics and groups of all brokers, with the sums of their queues.
type clusterMetadata struct {
	ExportTime             int64                                                    `fastjson:"exportTime"`
	TopicConfigTable       *fastjson.Map[string, *protocol.TopicConfig]             `fastjson:"topicConfigTable"`
	SubscriptionGroupTable *fastjson.Map[string, *protocol.SubscriptionGroupConfig] `fastjson:"subscriptionGroupTable"`
}

func (c *Call) exportCluster() error {
	list, err := c.nodes(c.text("c"))
	if err != nil {
		return err
	}
	topics := fastjson.MapOf[string, *protocol.TopicConfig](0)
	groups := fastjson.MapOf[string, *protocol.SubscriptionGroupConfig](0)
	for i, n := range masters(list) {
		c.progress("brokers", i, len(list))
		t, err := c.userTopics(n.addr)
		if err != nil {
			return err
		}
		for name, config := range t.TopicConfigTable.All() {
			if other, ok := topics.Get(name); ok {
				config.ReadQueueNums += other.ReadQueueNums
				config.WriteQueueNums += other.WriteQueueNums
			}
			topics.Set(name, config)
		}
		g, err := c.userGroups(n.addr)
		if err != nil {
			return err
		}
		for name, config := range g.SubscriptionGroupTable.All() {
			if other, ok := groups.Get(name); ok {
				config.RetryQueueNums += other.RetryQueueNums
			}
			groups.Set(name, config)
		}
	}
	m := clusterMetadata{ExportTime: c.env.Now().UnixMilli(), TopicConfigTable: &topics, SubscriptionGroupTable: &groups}
	name := "metadata.json"
	switch {
	case c.Has("t"):
		name, m.SubscriptionGroupTable = "topic.json", nil
	case c.Has("g"):
		name, m.TopicConfigTable = "subscriptionGroup.json", nil
	}
	return c.exportTo(name, fastjson.Options{Pretty: true}.Marshal(&m))
}

// exportedKeys of a broker's configuration are what exportConfigs writes.
var exportedKeys = strings.Fields(`brokerClusterName brokerId brokerName brokerRole fileReservedTime filterServerNums flushDiskType
	maxMessageSize messageDelayLevel msgTraceTopicName slaveReadEnable traceOn traceTopicEnable useTLS autoCreateTopicEnable
	autoCreateSubscriptionGroup`)

func exportConfigs(c *Call) error {
	list, err := c.nodes(c.text("c"))
	if err != nil {
		return err
	}
	configs := object{}
	main := masters(list)
	for _, n := range main {
		config, err := c.brokerConfig(n.addr)
		if err != nil {
			return err
		}
		o := object{}
		for _, key := range exportedKeys {
			if v, ok := config.Get(key); ok {
				o = append(o, member{key, v})
			}
		}
		configs = append(configs, member{n.name, o})
	}
	return c.exportTo("configs.json", javaJSON(object{
		{"clusterScale", object{
			{"namesrvSize", len(c.namesrvs)}, {"slaveBrokerSize", len(list) - len(main)}, {"masterBrokerSize", len(main)},
		}},
		{"brokerConfigs", configs},
	}))
}

// javaJSON is an object in the form in which Java's tool writes files: tabs, one member per line.
func javaJSON(o object) []byte {
	var b strings.Builder
	var write func(v any, depth int)
	write = func(v any, depth int) {
		switch v := v.(type) {
		case object:
			if len(v) == 0 {
				b.WriteString("{}")
				return
			}
			b.WriteString("{\n")
			for i, m := range v {
				if i > 0 {
					b.WriteString(",\n")
				}
				fmt.Fprintf(&b, "%s%q:", strings.Repeat("\t", depth+1), m.key)
				write(m.value, depth+1)
			}
			b.WriteString("\n" + strings.Repeat("\t", depth) + "}")
		case float64:
			b.WriteString(double(v))
		default:
			text, err := json.Marshal(v)
			if err != nil {
				text = []byte("null")
			}
			b.Write(text)
		}
	}
	write(o, 0)
	return []byte(b.String())
}

func exportMetrics(c *Call) error {
	list, err := c.nodes(c.text("c"))
	if err != nil {
		return err
	}
	report := object{}
	var total traffic
	main := masters(list)
	for i, n := range main {
		c.progress("brokers", i, len(main))
		o, t, err := c.evaluate(n)
		if err != nil {
			return err
		}
		report = append(report, member{n.name, o})
		total.add(t)
	}
	return c.exportTo("metrics.json", javaJSON(object{
		{"evaluateReport", report},
		{"totalData", object{
			{"totalTps", object{
				{"totalNormalInTps", total.in},
				{"totalNormalOutTps", total.out},
				{"totalTransInTps", total.transIn},
				{"totalScheduleInTps", total.scheduleIn},
			}},
			{"totalOneDayNum", total.day()},
		}},
	}))
}

// traffic is what came to a broker and left it: per second, and yesterday.
type traffic struct {
	in, out, transIn, scheduleIn             float64
	dayIn, dayOut, dayTransIn, dayScheduleIn int64
}

func (t *traffic) add(o traffic) {
	t.in, t.out, t.transIn, t.scheduleIn = t.in+o.in, t.out+o.out, t.transIn+o.transIn, t.scheduleIn+o.scheduleIn
	t.dayIn, t.dayOut = t.dayIn+o.dayIn, t.dayOut+o.dayOut
	t.dayTransIn, t.dayScheduleIn = t.dayTransIn+o.dayTransIn, t.dayScheduleIn+o.dayScheduleIn
}

func (t *traffic) day() object {
	return object{
		{"normalOneDayInNum", t.dayIn},
		{"normalOneDayOutNum", t.dayOut},
		{"transOneDayInNum", t.dayTransIn},
		{"scheduleOneDayInNum", t.dayScheduleIn},
	}
}

func (c *Call) evaluate(n node) (object, traffic, error) {
	var t traffic
	info, err := c.runtimeInfo(n.addr)
	if err != nil {
		return nil, t, err
	}
	text := func(key string) string {
		v, _ := info.Table.Get(key)
		return v
	}
	first := func(key string) float64 {
		word, _, _ := strings.Cut(strings.TrimSpace(text(key)), " ")
		return number(word)
	}
	t.in, t.out = first("putTps"), first("getTransferredTps")
	if text("getTransferredTps") == "" {
		t.out = first("getTransferedTps")
	}
	t.dayIn = whole(text("msgPutTotalTodayMorning")) - whole(text("msgPutTotalYesterdayMorning"))
	t.dayOut = whole(text("msgGetTotalTodayMorning")) - whole(text("msgGetTotalYesterdayMorning"))
	trans := c.statistics(n.addr, "TOPIC_PUT_NUMS", "RMQ_SYS_TRANS_HALF_TOPIC")
	schedule := c.statistics(n.addr, "TOPIC_PUT_NUMS", "SCHEDULE_TOPIC_XXXX")
	t.transIn, t.dayTransIn = perSecond(trans), sumOfDay(trans)
	t.scheduleIn, t.dayScheduleIn = perSecond(schedule), sumOfDay(schedule)

	config, err := c.brokerConfig(n.addr)
	if err != nil {
		return nil, t, err
	}
	cpus, _ := config.Get("clientCallbackExecutorThreads")
	topics, err := c.userTopics(n.addr)
	if err != nil {
		return nil, t, err
	}
	groups, err := c.userGroups(n.addr)
	if err != nil {
		return nil, t, err
	}
	return object{
		{"runtimeEnv", object{{"cpuNum", cpus}}},
		{"runtimeQuota", object{
			{"diskRatio", object{{"commitLogDiskRatio", text("commitLogDiskRatio")}, {"consumeQueueDiskRatio", text("consumeQueueDiskRatio")}}},
			{"tps", object{{"normalInTps", t.in}, {"normalOutTps", t.out}, {"transInTps", t.transIn}, {"scheduleInTps", t.scheduleIn}}},
			{"oneDayNum", t.day()},
			{"messageAverageSize", text("putMessageAverageSize")},
			{"topicSize", topics.TopicConfigTable.Len()},
			{"groupSize", groups.SubscriptionGroupTable.Len()},
		}},
		{"runtimeVersion", object{{"rocketmqVersion", text("brokerVersionDesc")}, {"clientInfo", c.clientVersions(n.addr, groups)}}},
	}, t, nil
}

// clientVersions lists LANGUAGE%VERSION of the members of some groups.
func (c *Call) clientVersions(addr string, groups *userGroups) []string {
	list := []string{}
	for name := range groups.SubscriptionGroupTable.All() {
		members, err := c.members(addr, name)
		if err != nil {
			continue // nobody is connected
		}
		for _, conn := range members.ConnectionSet {
			if v := conn.Language.String() + "%" + version(conn.Version); !slices.Contains(list, v) {
				list = append(list, v)
			}
		}
	}
	slices.Sort(list)
	return list
}

// exportPopRecord: with -d nothing is changed, whatever its value. In Java that is so with -d false, only.
func exportPopRecord(c *Call) error {
	dryRun := c.Has("d")
	var list []node
	switch {
	case c.Has("b"):
		config, err := c.brokerConfig(c.text("b"))
		if err != nil {
			return err
		}
		name, _ := config.Get("brokerName")
		list = []node{{name: name, addr: c.text("b")}}
	case c.Has("c"):
		all, err := c.nodes(c.text("c"))
		if err != nil {
			return err
		}
		list = masters(all)
	default:
		return errUsage
	}
	var failed error
	for _, n := range list {
		if !dryRun {
			if _, err := c.send(n.addr, ask(protocol.ReqPopRollback, nil)); err != nil {
				c.done("Export broker records error, brokerName=%s, brokerAddr=%s, dryRun=%t\n", n.name, n.addr, dryRun)
				failed = errors.Join(failed, err)
				continue
			}
		}
		c.done("Export broker records, brokerName=%s, brokerAddr=%s, dryRun=%t\n", n.name, n.addr, dryRun)
	}
	return failed
}

// errRocksDB is why files of RocksDB are not read here.
var errRocksDB = errors.New("files of RocksDB can only be read by Java's tool; a running broker exports them itself: give -n and -c or -b")

func exportMetadataInRocksDB(c *Call) error {
	if info, err := os.Stat(c.text("p")); err != nil || !info.IsDir() {
		c.printf("RocksDB path is invalid.\n")
		return fmt.Errorf("%s is no folder", c.text("p"))
	}
	return errRocksDB
}

func rocksDBConfigToJson(c *Call) error {
	if c.Has("p") && !c.Has("c") && !c.Has("b") {
		c.printf("Use [local mode] load rocksdb to print or export file \n")
		if info, err := os.Stat(c.text("p")); err != nil || !info.IsDir() {
			c.printf("Rocksdb path is invalid.\n")
			return fmt.Errorf("%s is no folder", c.text("p"))
		}
		return errRocksDB
	}
	if c.Has("b") && !c.Has("c") {
		c.printf("Use [rpc mode] call broker to export to json file \n")
	} else {
		c.printf("Use [rpc mode] call all brokers in cluster to export to json file \n")
	}
	kinds := c.text("t")
	if kinds == "" {
		kinds = "topics;subscriptionGroups;consumerOffsets"
	}
	if err := c.onEach(func(n node) error {
		_, err := c.send(n.addr, ask(protocol.ReqExportRocksdbConfigToJson, &protocol.ExportRocksDBConfigToJsonRequestHeader{
			ConfigType: protocol.Some(kinds),
		}))
		return err
	}); err != nil {
		return err
	}
	c.done("broker export done.\n")
	return nil
}

// States of 354.
const checkFailed = 3

func checkRocksdbCqWriteProgress(c *Call) error {
	from, err := c.int64("cf", 0)
	if err != nil {
		return err
	}
	return c.onEach(func(n node) error {
		r, err := fetch[protocol.CheckRocksdbCqWriteResult](c, n.addr, ask(protocol.ReqCheckRocksdbCqWriteProgress, &protocol.CheckRocksdbCqWriteProgressRequestHeader{
			Topic: protocol.Some(c.text("t")), CheckStoreTime: from,
		}))
		if err != nil {
			return err
		}
		if r.CheckStatus == checkFailed {
			c.printf("%s check error, please check log... errInfo: %s\n", n.name, r.CheckResult)
			return fmt.Errorf("broker %s: %s", n.name, r.CheckResult)
		}
		c.done("%s check doing, please wait and get the result from log... \n", n.name)
		return nil
	})
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/compat/properties"
	"rocketmq-go/config"
	"rocketmq-go/remoting/protocol"
)

func updateBrokerConfig(c *Call) error {
	list, err := c.chosenWithSlaves()
	if err != nil {
		return err
	}
	if !c.bool("a") {
		list = masters(list)
	}
	return each(c, list, func(n node) error {
		r := ask(protocol.ReqUpdateBrokerConfig, nil)
		r.body = c.text("k") + "=" + c.text("v") + "\n"
		answer, err := c.send(n.addr, r)
		if err != nil {
			return err
		}
		if err := c.holds(n.addr, answer, func() (properties.List, error) { return c.brokerConfig(n.addr) }); err != nil {
			return err
		}
		c.done("update broker config success, %s\n", n.addr)
		return nil
	})
}

// holds looks at the configuration of a server that took the key and the value of -k and -v: Java's servers pass over unknown
// keys and values that do not fit in silence. What ours note in the answer is passed on.
func (c *Call) holds(addr string, answer *protocol.Command, read func() (properties.List, error)) error {
	list, err := read()
	if err != nil {
		return err
	}
	key, value := c.text("k"), c.text("v")
	var names []string
	for _, e := range list {
		if e.Key == key && !sameValue(e.Value, value) {
			return fmt.Errorf("%s has not taken it: %s is %s", addr, key, e.Value)
		}
		names = append(names, e.Key)
	}
	if !slices.Contains(names, key) && !config.Hidden(key) {
		hint := ""
		if near := config.Nearest(key, names); near != "" {
			hint = ", did you mean " + near + "?"
		}
		return fmt.Errorf("%s does not know the key %s%s", addr, key, hint)
	}
	if note := answer.Remark.V; note != "" {
		c.note("%s: %s", addr, note)
	}
	return nil
}

// sameValue tells whether a value that is shown is the one that was set: 08 is shown as 8, TRUE as true.
func sameValue(shown, set string) bool {
	if strings.EqualFold(shown, strings.TrimSpace(set)) {
		return true
	}
	return sameNumber(shown, set)
}

func sameNumber(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y
}

func (c *Call) brokerConfig(addr string) (properties.List, error) {
	answer, err := c.send(addr, ask(protocol.ReqGetBrokerConfig, nil))
	if err != nil {
		return nil, err
	}
	return properties.Parse(latin1(answer.Body))
}

// latin1 makes a text in UTF-8 one that the reader of properties understands.
func latin1(text []byte) []byte {
	var out []byte
	for _, r := range string(text) {
		if r < 0x80 {
			out = append(out, byte(r))
			continue
		}
		if r > 0xffff {
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
			continue
		}
		out = fmt.Appendf(out, `\u%04x`, r)
	}
	return out
}

// noMaster stands for the master of slaves that have none.
const noMaster = "NO_MASTER"

// withMaster is a broker, with the address of its master if it is a slave.
type withMaster struct {
	node
	master string // "" for masters
}

// byMaster are the brokers of a cluster, each master with its slaves behind it.
func byMaster(list []node) []withMaster {
	var out []withMaster
	masterAddr := map[string]string{}
	for _, n := range list {
		if n.id == masterID {
			masterAddr[n.name] = n.addr
		}
	}
	for _, n := range list {
		w := withMaster{node: n}
		if n.id != masterID {
			if w.master = masterAddr[n.name]; w.master == "" {
				w.master = noMaster
			}
		}
		out = append(out, w)
	}
	return out
}

// onEachOfCluster does something with the broker of -b or all of -c, after a line that says which one it is.
func (c *Call) onEachOfCluster(indent string, do func(addr string) error) error {
	if c.Has("b") {
		c.printf("%s============%s============\n", indent, c.text("b"))
		return do(c.text("b"))
	}
	if !c.Has("c") {
		return errUsage
	}
	list, err := c.nodes(c.text("c"))
	if err != nil {
		return err
	}
	return each(c, byMaster(list), func(w withMaster) error {
		if w.master == "" {
			c.printf("%s============Master: %s============\n", indent, w.addr)
		} else {
			c.printf("%s============My Master: %s=====Slave: %s============\n", indent, w.master, w.addr)
		}
		return do(w.addr)
	})
}

func getBrokerConfig(c *Call) error {
	return c.onEachOfCluster("", func(addr string) error {
		config, err := c.brokerConfig(addr)
		if err != nil {
			return err
		}
		if len(config) == 0 {
			c.printf("Broker[%s] has no config property!\n", addr)
		}
		c.properties(addr, config)
		c.printf("\n")
		return nil
	})
}

func (c *Call) properties(addr string, config properties.List) {
	o := object{}
	for _, e := range config {
		c.printf("%-50s=  %s\n", e.Key, e.Value)
		o = append(o, member{e.Key, e.Value})
	}
	c.add("configs", object{{"addr", addr}, {"config", o}})
}

func (c *Call) runtimeInfo(addr string) (*protocol.KVTable, error) {
	return fetch[protocol.KVTable](c, addr, ask(protocol.ReqGetBrokerRuntimeInfo, nil))
}

func brokerStatus(c *Call) error {
	list, err := c.chosenWithSlaves()
	if err != nil {
		return err
	}
	return each(c, list, func(n node) error {
		info, err := c.runtimeInfo(n.addr)
		if err != nil {
			return err
		}
		entries := properties.List{}
		for k, v := range info.Table.All() {
			entries = append(entries, properties.Entry{Key: k, Value: v})
		}
		slices.SortFunc(entries, func(a, b properties.Entry) int { return strings.Compare(a.Key, b.Key) })
		o := object{{"addr", n.addr}}
		for _, e := range entries {
			if c.Has("b") {
				c.printf("%-32s: %s\n", e.Key, e.Value)
			} else {
				c.printf("%-24s %-32s: %s\n", n.addr, e.Key, e.Value)
			}
			o = append(o, member{e.Key, e.Value})
		}
		c.add("brokers", o)
		return nil
	})
}

func brokerConsumeStats(c *Call) error {
	level, err := c.int64("l", 0)
	if err != nil {
		return err
	}
	limit, err := c.int64("t", 50_000)
	if err != nil {
		return err
	}
	if !c.Has("timeout") {
		c.timeout = time.Duration(max(limit, 1)) * time.Millisecond
	}
	stats, err := fetch[protocol.ConsumeStatsList](c, c.text("b"), ask(protocol.ReqGetBrokerConsumeStats, &protocol.GetConsumeStatsInBrokerHeader{
		IsOrder: c.bool("o"),
	}))
	if err != nil {
		return err
	}
	const format = "%-64v  %-64v  %-32v  %-4v  %-20v  %-20v  %-20v  %v\n"
	t := c.table("queues", format, format, "#Topic", "#Group", "#Broker Name", "#QID", "#Broker Offset", "#Consumer Offset", "#Diff", "#LastTime")
	for _, groups := range stats.ConsumeStatsList {
		for group, list := range groups.All() {
			for _, s := range list {
				c.groupRows(t, group, s.OffsetTable, level)
			}
		}
	}
	c.printf("\n")
	c.field("diffTotal", "Diff Total: %d\n", stats.TotalDiff)
	return nil
}

func (c *Call) groupRows(t *table, group string, offsets fastjson.Map[protocol.MessageQueue, *protocol.OffsetWrapper], level int64) {
	byQueue := map[protocol.MessageQueue]*protocol.OffsetWrapper{}
	for q, o := range offsets.All() {
		byQueue[q] = o
	}
	for _, q := range sortedQueues(byQueue) {
		o := byQueue[q]
		diff := o.BrokerOffset - o.ConsumerOffset
		if level > 0 && diff < level {
			continue
		}
		last := "-"
		if o.LastTimestamp > 0 {
			last = c.time(o.LastTimestamp, toSecond)
		}
		t.add(q.Topic, group, q.BrokerName, q.QueueID, o.BrokerOffset, o.ConsumerOffset, diff, last)
	}
}

// cleaning sends a request without answer to brokers of -b, of -c, or to all.
func (c *Call) cleaning(code int32) error {
	list := []node{{addr: c.text("b")}}
	if !c.Has("b") {
		var err error
		if list, err = c.nodes(c.text("c")); err != nil {
			return err
		}
	}
	if err := each(c, list, func(n node) error {
		_, err := c.send(n.addr, ask(code, nil))
		return err
	}); err != nil {
		c.printf("false\n")
		return err
	}
	c.done("success\n")
	return nil
}

func cleanExpiredCQ(c *Call) error         { return c.cleaning(protocol.ReqCleanExpiredConsumequeue) }
func deleteExpiredCommitLog(c *Call) error { return c.cleaning(protocol.ReqDeleteExpiredCommitlog) }
func cleanUnusedTopic(c *Call) error       { return c.cleaning(protocol.ReqCleanUnusedTopic) }

func resetMasterFlushOffset(c *Call) error {
	if !c.Has("b") || !c.Has("o") {
		return errUsage
	}
	offset, err := c.int64("o", 0)
	if err != nil {
		return err
	}
	if _, err := c.send(c.text("b"), ask(protocol.ReqResetMasterFlushOffset, &protocol.ResetMasterFlushOffsetHeader{
		MasterFlushOffset: protocol.Some(offset),
	})); err != nil {
		return err
	}
	c.done("reset master flush offset to %d success\n", offset)
	return nil
}

// coldData is what 2003 answers, with the times in words that Java's tool adds.
type coldData struct {
	RuntimeTable            fastjson.Map[string, coldRead] `fastjson:"runtimeTable,empty"`
	ConfigTable             fastjson.Map[string, int64]    `fastjson:"configTable,empty"`
	CgColdReadThreshold     int64                          `fastjson:"cgColdReadThreshold"`
	GlobalColdReadThreshold int64                          `fastjson:"globalColdReadThreshold"`
	GlobalAcc               int64                          `fastjson:"globalAcc"`
}

type coldRead struct {
	protocol.AccAndTimeStamp
	CreateTimeFormat       string `fastjson:"createTimeFormat"`
	LastColdReadTimeFormat string `fastjson:"lastColdReadTimeFormat"`
}

func getColdDataFlowCtrInfo(c *Call) error {
	return c.onEachOfCluster(" ", func(addr string) error {
		info, err := fetch[protocol.ColdDataFlowInfo](c, addr, ask(protocol.ReqGetColdDataFlowCtrInfo, nil))
		if err != nil {
			return err
		}
		d := coldData{
			ConfigTable: info.ConfigTable, CgColdReadThreshold: info.CgColdReadThreshold,
			GlobalColdReadThreshold: info.GlobalColdReadThreshold, GlobalAcc: info.GlobalAcc,
		}
		for group, acc := range info.RuntimeTable.All() {
			if acc != nil {
				d.RuntimeTable.Set(group, coldRead{*acc, c.time(acc.CreateTimeMills, toSecond), c.time(acc.LastColdReadTimeMills, toSecond)})
			}
		}
		c.printf("%s\n\n", fastjson.Options{Pretty: true}.Marshal(&d))
		c.add("brokers", object{{"addr", addr}, {"coldDataFlow", plain(&d)}})
		return nil
	})
}

// coldConfig changes what brokers know of a group's cold reads.
func (c *Call) coldConfig(code int32, body, success string) error {
	r := ask(code, nil)
	r.body = body
	return c.onEach(func(n node) error {
		if _, err := c.send(n.addr, r); err != nil {
			return err
		}
		c.done("%s, %s\n", success, n.addr)
		return nil
	})
}

func updateColdDataFlowCtrGroupConfig(c *Call) error {
	return c.coldConfig(protocol.ReqUpdateColdDataFlowCtrConfig, c.text("g")+"="+c.text("v")+"\n", "updateColdDataFlowCtrGroupConfig success")
}

func removeColdDataFlowCtrGroupConfig(c *Call) error {
	return c.coldConfig(protocol.ReqRemoveColdDataFlowCtrConfig, c.text("g"), "remove broker cold read threshold success")
}

func setCommitLogReadAheadMode(c *Call) error {
	mode := c.text("m")
	if mode != "0" && mode != "1" {
		const wrong = "set the read mode error; 0 is default, 1 random read"
		c.printf(wrong + "\n")
		return misuse(wrong)
	}
	r := ask(protocol.ReqSetCommitlogReadMode, nil)
	r.fields = []string{"READ_AHEAD_MODE", mode}
	return c.onEachOfCluster(" ", func(addr string) error {
		answer, err := c.send(addr, r)
		if err != nil {
			return err
		}
		c.done("commitLog set readAhead mode rstStr%s\n", answer.Remark.V)
		return nil
	})
}

func addBroker(c *Call) error {
	addr := c.text("c")
	if _, err := c.exchange(addr, ask(protocol.ReqAddBroker, &protocol.AddBrokerRequestHeader{ConfigPath: protocol.Some(c.text("b"))})); err != nil {
		return err
	}
	c.done("add broker to %s success\n", addr)
	return nil
}

func removeBroker(c *Call) error {
	parts := strings.Split(c.text("b"), ":")
	if len(parts) != 3 {
		return misused("option -b: want cluster:broker:id")
	}
	id, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return misused("option -b: %q is no broker id", parts[2])
	}
	if id < 0 {
		c.printf("brokerId can't be negative\n")
		return errUsage
	}
	if _, err := c.exchange(c.text("c"), ask(protocol.ReqRemoveBroker, &protocol.RemoveBrokerRequestHeader{
		BrokerClusterName: protocol.Some(parts[0]), BrokerName: protocol.Some(parts[1]), BrokerID: protocol.Some(id),
	})); err != nil {
		return err
	}
	c.done("remove broker from %s success\n", c.text("c"))
	return nil
}

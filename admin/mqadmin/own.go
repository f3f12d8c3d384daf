// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	cli "rocketmq-go/admin/commonscli"
	"rocketmq-go/remoting/protocol"
)

// ownCommands are sub-commands that Java's tool does not have.
func ownCommands() []Command {
	atMost := cli.Arg("", "for", "how long to wait at most, such as 90s; default 60s")
	return []Command{
		{
			Name: "wait", About: "Wait until brokers, topics and groups are ready.", Own: true, Run: wait,
			Options: []cli.Option{
				cli.Arg("b", "brokerName", "brokers that are registered and take messages, separated by commas; without -b any one"),
				cli.Arg("t", "topic", "topics that can be written, separated by commas"),
				cli.Arg("g", "groupName", "groups that have consumed everything, separated by commas"),
				cli.Arg("", "lag", "how many messages the groups of -g may be behind; default 0"),
				atMost,
			},
		},
		{
			Name: "drain", About: "Take a broker out: no more messages come, all are consumed; then it can be stopped.", Own: true, Run: drain,
			Options: []cli.Option{
				cli.Required("b", "brokerName", "broker name"),
				cli.Arg("", "quiet", "how long no message may have come; default 35s, longer than clients keep routes"),
				cli.Arg("", "ignore", "groups that need not have consumed everything, separated by commas"),
				cli.Arg("", "exec", "command that is run when the broker is drained, such as 'mqshutdown broker'"),
				cli.Flag("", "keep", "leave the write permission away even when the broker was not drained in time"),
				cli.Arg("", "for", "how long to wait at most; default 10m"),
			},
		},
		{
			Name: "config diff", About: "Compare the configurations of brokers.", Own: true, Run: configDiff,
			Options: []cli.Option{
				cli.Arg("b", "brokerAddr", "addresses of brokers, separated by commas"),
				cli.Arg("c", "clusterName", "all brokers of a cluster"),
				cli.Flag("a", "all", "also keys that differ by their nature: names, addresses, paths"),
			},
		},
		{
			Name: "message trace", About: "Tell where a message is and what became of it: message trace ID", Own: true, Run: messageTrace, Words: 1,
			Options: []cli.Option{
				cli.Arg("t", "topic", "topic that it was sent to; without it all topics are searched"),
				cli.Arg("", "trace-topic", "topic of traces; default "+traceTopic),
			},
		},
		{Name: "completion", About: "Print a script for the shell: completion bash|zsh|fish", Own: true, Run: completion, Words: 1},
	}
}

func (c *Call) duration(name string, def time.Duration) (time.Duration, error) {
	text := c.text(name)
	if text == "" {
		return def, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, misused("--%s %s: want a duration such as 90s or 5m", name, text)
	}
	return d, nil
}

// condition is something to wait for: nil when it holds, else why it does not.
type condition func() error

// hopeless is why a condition will not hold any more: nobody waits on.
type hopeless string

func (e hopeless) Error() string { return string(e) }

var errInterrupted = errors.New("interrupted")

const pollEvery = 200 * time.Millisecond

// until checks conditions again and again until all hold.
func (c *Call) until(limit time.Duration, conditions ...condition) error {
	ctx, cancel := context.WithTimeout(c.ctx, limit)
	defer cancel()
	outer := c.ctx
	c.ctx = ctx
	defer func() { c.ctx = outer }()
	began := time.Now()
	var missing error
	for {
		reason := firstMissing(conditions)
		if reason == nil {
			return nil
		}
		if h := hopeless(""); errors.As(reason, &h) {
			return h
		}
		if missing == nil || ctx.Err() == nil { // not what was cut off by the end
			missing = reason
		}
		c.waiting(time.Since(began), missing)
		if c.pause(pollEvery) != nil {
			if outer.Err() != nil {
				return errInterrupted
			}
			return fmt.Errorf("not within %v: %w", limit, missing)
		}
	}
}

func firstMissing(conditions []condition) error {
	for _, holds := range conditions {
		if err := holds(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Call) waiting(since time.Duration, missing error) {
	if !c.env.Terminal {
		return
	}
	text, _, _ := strings.Cut(missing.Error(), "\n")
	c.mu.Lock()
	defer c.mu.Unlock()
	line := fmt.Sprintf("waiting %ds: %.120s", int(since.Seconds()), text)
	fmt.Fprintf(c.env.Stderr, "\r%-*s", c.shown, line)
	c.shown = len(line)
}

func wait(c *Call) error {
	limit, err := c.duration("for", time.Minute)
	if err != nil {
		return err
	}
	lag, err := c.int64("lag", 0)
	if err != nil {
		return err
	}
	conditions := []condition{func() error { return c.brokersReady(c.names("b")) }}
	for _, topic := range c.names("t") {
		conditions = append(conditions, func() error {
			route, err := c.route(topic)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(route.QueueDatas, func(q protocol.QueueData) bool { return q.Perm&permWrite != 0 && q.WriteQueueNums > 0 }) {
				return fmt.Errorf("topic %s cannot be written", topic)
			}
			return nil
		})
	}
	for _, group := range c.names("g") {
		conditions = append(conditions, func() error { return c.caughtUp(group, lag) })
	}
	began := time.Now()
	if err := c.until(limit, conditions...); err != nil {
		return err
	}
	c.done("ready after %.1fs\n", time.Since(began).Seconds())
	return nil
}

// brokersReady wants masters of some names, or any one, to be registered and to say that they work.
func (c *Call) brokersReady(names []string) error {
	list, err := c.nodes("")
	if err != nil {
		return err
	}
	list = masters(list)
	for _, name := range names {
		if !slices.ContainsFunc(list, func(n node) bool { return n.name == name }) {
			return fmt.Errorf("no master of broker %s is registered", name)
		}
	}
	if len(list) == 0 {
		return errors.New("no broker is registered")
	}
	for _, n := range list {
		if len(names) > 0 && !slices.Contains(names, n.name) {
			continue
		}
		info, err := c.runtimeInfo(n.addr)
		if err != nil {
			return err
		}
		if active, ok := info.Table.Get("brokerActive"); ok && active != "true" {
			return fmt.Errorf("broker %s is not active yet", n.name)
		}
		if len(names) == 0 {
			return nil
		}
	}
	return nil
}

func (c *Call) caughtUp(group string, lag int64) error {
	offsets, _, err := c.consumeStats(group, "", "")
	if err != nil {
		return fmt.Errorf("group %s: %w", group, err)
	}
	var behind int64
	for _, o := range offsets {
		behind += max(o.BrokerOffset-o.ConsumerOffset, 0)
	}
	if behind > lag {
		return fmt.Errorf("group %s is %d messages behind", group, behind)
	}
	return nil
}

func drain(c *Call) error {
	limit, err := c.duration("for", 10*time.Minute)
	if err != nil {
		return err
	}
	quiet, err := c.duration("quiet", 35*time.Second)
	if err != nil {
		return err
	}
	list, err := c.nodes("")
	if err != nil {
		return err
	}
	i := slices.IndexFunc(masters(list), func(n node) bool { return n.name == c.text("b") })
	if i < 0 {
		return fmt.Errorf("no master of broker %s is registered", c.text("b"))
	}
	broker := masters(list)[i]
	d := &draining{c: c, broker: broker, quiet: quiet, ignore: c.names("ignore")}
	err = wipeWritePerm(c)
	if err == nil {
		err = c.until(limit, d.noMessages, d.consumed)
	}
	if err != nil {
		if h := hopeless(""); c.Has("keep") || errors.As(err, &h) {
			return err
		}
		c.ctx = context.WithoutCancel(c.ctx)
		if addErr := addWritePerm(c); addErr != nil {
			return failures{err, addErr}
		}
		return err
	}
	c.done("broker %s (%s) is drained: no message for %v, and all groups have consumed what it has\n", broker.name, broker.addr, quiet)
	if err := d.tellLeft(); err != nil { // it is drained none the less
		c.done("what it keeps that was not due or not committed is not known: %v\n", err)
	}
	if command := c.text("exec"); command != "" {
		run := exec.CommandContext(c.ctx, "sh", "-c", command)
		run.Stdout, run.Stderr = c.env.Stderr, c.env.Stderr
		run.Env = append(os.Environ(), "BROKER_NAME="+broker.name, "BROKER_ADDR="+broker.addr)
		if err := run.Run(); err != nil {
			return fmt.Errorf("%s: %w", command, err)
		}
		c.done("%s\n", command)
	}
	return nil
}

// draining watches a broker that is taken out.
type draining struct {
	c      *Call
	broker node
	quiet  time.Duration
	ignore []string
	put    string // how many messages had come
	since  time.Time
}

// noMessages wants no message to have come for a while.
func (d *draining) noMessages() error {
	info, err := d.c.runtimeInfo(d.broker.addr)
	if err != nil {
		list, listErr := d.c.nodes("")
		if listErr == nil && !slices.ContainsFunc(list, func(n node) bool { return n.addr == d.broker.addr }) {
			return hopeless(fmt.Sprintf("broker %s was stopped before it was drained", d.broker.name))
		}
		return err
	}
	put, _ := info.Table.Get("msgPutTotalTodayNow")
	if put != d.put || d.since.IsZero() {
		if !d.since.IsZero() { // perhaps to a topic that is new: it has the permission
			if err := d.c.wipeAgain(); err != nil {
				return err
			}
		}
		d.put, d.since = put, time.Now()
	}
	if idle := time.Since(d.since); idle < d.quiet {
		return fmt.Errorf("messages came until %v ago", idle.Round(time.Second))
	}
	return nil
}

// consumed wants all groups to have consumed what the broker has for them.
func (d *draining) consumed() error {
	for _, ordered := range []bool{false, true} {
		stats, err := fetch[protocol.ConsumeStatsList](d.c, d.broker.addr, ask(protocol.ReqGetBrokerConsumeStats, &protocol.GetConsumeStatsInBrokerHeader{
			IsOrder: ordered,
		}))
		if err != nil {
			return err
		}
		for _, groups := range stats.ConsumeStatsList {
			for group, list := range groups.All() {
				if slices.Contains(d.ignore, group) || strings.HasPrefix(group, systemGroupPrefix) || slices.Contains(systemGroups, group) {
					continue
				}
				for _, s := range list {
					for q, o := range s.OffsetTable.All() {
						if behind := o.BrokerOffset - o.ConsumerOffset; behind > 0 {
							return fmt.Errorf("group %s is %d messages behind on topic %s, queue %d", group, behind, q.Topic, q.QueueID)
						}
					}
				}
			}
		}
	}
	return nil
}

// tellLeft tells of messages that no group can have consumed, since they are not due, or not committed. They stay on the
// broker's disk, and come when it is started again.
func (d *draining) tellLeft() error {
	info, err := d.c.runtimeInfo(d.broker.addr)
	if err != nil {
		return err
	}
	number := func(key string) int64 {
		text, _ := info.Table.Get(key)
		n, _ := strconv.ParseInt(text, 10, 64)
		return n
	}
	var delayed int64
	for key, value := range info.Table.All() { // of each level: how far it was delivered, and how far it goes
		var done, end int64
		if strings.HasPrefix(key, "scheduleMessageOffset") {
			if n, _ := fmt.Sscanf(value, "%d,%d", &done, &end); n == 2 {
				delayed += max(end-done, 0)
			}
		}
	}
	timers := number("timerCongestNum") + number("timerOffsetBehind")
	var half int64
	if stats, err := d.c.consumeStatsOf(d.broker.addr, transactionGroup, halfTopic); err == nil {
		for _, o := range stats.OffsetTable.All() {
			half += max(o.BrokerOffset-o.ConsumerOffset, 0)
		}
	}
	d.c.set("delayedMessages", delayed)
	d.c.set("timerMessages", timers)
	d.c.set("halfMessages", half)
	if delayed+timers+half > 0 {
		d.c.done("it keeps until it is started again: %d delayed messages, %d timer messages, up to %d half messages of open transactions\n",
			delayed, timers, half)
	}
	return nil
}

// The half messages of transactions, and the group whose offset says up to where they have ended.
const (
	halfTopic        = "RMQ_SYS_TRANS_HALF_TOPIC"
	transactionGroup = "CID_RMQ_SYS_TRANS"
)

// naturallyDifferent are keys whose values differ between the brokers of a cluster.
var naturallyDifferent = strings.Fields(`brokerName brokerId brokerIP1 brokerIP2 listenPort fastListenPort haListenPort rocketmqHome
	metricsPromExporterPort metricsPromExporterHost aclFile brokerConfigPath authConfigPath haMasterAddress brokerRole storePathRootDir
	controllerDLegerSelfId dLegerSelfId httpListen logDir`)

func configDiff(c *Call) error {
	var list []node
	switch {
	case c.Has("b"):
		for _, addr := range c.names("b") {
			list = append(list, node{addr: addr})
		}
	case c.Has("c"):
		var err error
		if list, err = c.nodes(c.text("c")); err != nil {
			return err
		}
	default:
		return errUsage
	}
	if len(list) < 2 {
		return errors.New("there is only one broker: nothing to compare with")
	}
	titles := []string{"#Key"}
	format := "%-48v"
	values := map[string][]any{} // a string, or nil where the broker does not have the key
	for i, n := range list {
		config, err := c.brokerConfig(n.addr)
		if err != nil {
			return err
		}
		titles, format = append(titles, n.addr), format+"  %-24v"
		for _, e := range config {
			if values[e.Key] == nil {
				values[e.Key] = make([]any, len(list))
			}
			values[e.Key][i] = e.Value
		}
	}
	var keys, partly []string // that all have, that only some have
	for key, v := range values {
		natural := slices.Contains(naturallyDifferent, key) || strings.HasPrefix(key, "storePath")
		switch {
		case natural && !c.Has("a"):
		case slices.Contains(v, nil):
			partly = append(partly, key)
		case slices.ContainsFunc(v, func(s any) bool { return s != v[0] && !sameNumber(s.(string), v[0].(string)) }):
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	slices.Sort(partly)
	known := len(keys)
	if keys = append(keys, partly...); len(keys) == 0 {
		c.done("%d brokers have the same configuration\n", len(list))
		return nil
	}
	t := c.table("keys", format+"\n", format+"\n", titles...)
	for i, n := range list {
		t.keys[i+1] = n.addr
	}
	for _, key := range keys {
		row := []any{key}
		for _, v := range values[key] {
			if v == nil {
				v = cell{"(no such key)", nil}
			}
			row = append(row, v)
		}
		t.add(row...)
	}
	if known < len(keys) {
		return fmt.Errorf("%d keys differ, and %d are not shown by all brokers", known, len(keys)-known)
	}
	return fmt.Errorf("%d keys differ", known)
}

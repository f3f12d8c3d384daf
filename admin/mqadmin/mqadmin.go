// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package mqadmin is the administration tool: the sub-commands of Java's mqadmin 5.3.3, with its options and its output,
// and some of our own. It works with any cluster, Apache's too.
//
//	code := mqadmin.Run(ctx, mqadmin.Env{Stdout: os.Stdout, …}, []string{"topicRoute", "-n", "127.0.0.1:9876", "-t", "T"})
//
// A sub-command is a row of a table: name, description, options, and the function that runs it (the files *_table.go, one
// per family). The function gets a Call, through which it reads its options, asks servers, and prints. What it prints are
// tables, fields and lines with Java's formats; with --output json or yaml the same tables and fields become a document,
// with wide the tables are as wide as their contents. See docs/mqadmin.md.
//
// Exit codes, in which it differs from Java's tool: 0 done, 1 failed, 2 wrong usage. Errors are on standard error, with the
// code and the remark of the server as Java prints them: "CODE: 17  DESC: …".
package mqadmin

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"rocketmq-go/admin/client"
	cli "rocketmq-go/admin/commonscli"
	"rocketmq-go/config"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// Command is one sub-command.
type Command struct {
	Name    string
	Alias   string // another name that Java takes
	About   string
	Options []cli.Option
	Run     func(*Call) error
	Only4   bool // Java's tool has it in 4.9 only
	Own     bool // Java's tool does not have it
	Words   int  // that one of ours takes beside its options; Java's pass over them
}

// Env is what the tool may touch of the process. Only Stdout and Stderr are required.
type Env struct {
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Terminal       bool // Stderr is one: long work shows its progress there
	Now            func() time.Time
	Location       *time.Location // of the times that are printed
	// Dial opens connections; nil: over TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Trace, if set, gets a line for each request: address, code, answer's code.
	Trace io.Writer
}

func (e *Env) fill() {
	if e.Getenv == nil {
		e.Getenv = func(string) string { return "" }
	}
	if e.Now == nil {
		e.Now = time.Now
	}
	if e.Location == nil {
		e.Location = time.Local
	}
}

// javaOrder are Java's sub-commands in the order in which it lists them.
const javaOrder = `
updateTopic updateTopicList deleteTopic updateSubGroup updateSubGroupList setConsumeMode
deleteSubGroup updateBrokerConfig updateTopicPerm topicRoute topicStatus topicClusterList addBroker
removeBroker resetMasterFlushOffset brokerStatus queryMsgById queryMsgByKey queryMsgByUniqueKey
queryMsgByOffset queryMsgTraceById printMsg printMsgByQueue sendMsgStatus brokerConsumeStats
producerConnection consumerConnection consumerProgress consumerStatus cloneGroupOffset producer
clusterList topicList updateKvConfig deleteKvConfig wipeWritePerm addWritePerm resetOffsetByTime
skipAccumulatedMessage updateOrderConf cleanExpiredCQ deleteExpiredCommitLog cleanUnusedTopic
startMonitoring statsAll allocateMQ checkMsgSendRT clusterRT getNamesrvConfig updateNamesrvConfig
getBrokerConfig getConsumerConfig queryCq sendMessage consumeMessage updateStaticTopic
remappingStaticTopic exportMetadata exportConfigs exportMetrics exportMetadataInRocksDB
exportPopRecord haStatus getSyncStateSet getBrokerEpoch getControllerMetaData getControllerConfig
updateControllerConfig electMaster cleanBrokerMetadata dumpCompactionLog getColdDataFlowCtrInfo
updateColdDataFlowCtrGroupConfig removeColdDataFlowCtrGroupConfig setCommitLogReadAheadMode
createUser updateUser deleteUser getUser listUser copyUser createAcl updateAcl deleteAcl getAcl
listAcl copyAcl rocksDBConfigToJson checkRocksdbCqWriteProgress`

// Commands are all sub-commands: Java's in Java's order, then those of 4.9 only, then ours.
func Commands() []Command {
	rank := map[string]int{}
	for i, name := range strings.Fields(javaOrder) {
		rank[name] = i
	}
	all := slices.Concat(topicCommands(), groupCommands(), brokerCommands(), clusterCommands(), messageCommands(), haCommands(),
		exportCommands(), authCommands(), aclCommands(), ownCommands())
	place := func(c *Command) int {
		if i, ok := rank[c.Name]; ok {
			return i
		}
		return len(rank)
	}
	slices.SortStableFunc(all, func(a, b Command) int { return place(&a) - place(&b) })
	return all
}

// Run runs the sub-command that args begin with and returns the exit code.
func Run(ctx context.Context, e Env, args []string) int {
	e.fill()
	all := Commands()
	if len(args) == 0 {
		list(e.Stdout, all)
		return exitOK
	}
	if strings.EqualFold(args[0], "help") || args[0] == "-h" || args[0] == "--help" {
		if len(args) == 1 {
			list(e.Stdout, all)
			return exitOK
		}
		args = append(slices.Clone(args[1:]), "--help")
	}
	if args[0] == completeCommand {
		return complete(ctx, e, all, args[1:])
	}
	cmd, rest := find(all, args)
	if cmd == nil {
		fmt.Fprintf(e.Stdout, "The sub command %s not exist.\n", args[0])
		fmt.Fprintf(e.Stderr, "mqadmin: there is no sub-command %q%s\n", args[0], nearest(all, args[0]))
		return exitUsage
	}
	return run(ctx, e, cmd, rest)
}

// find looks up a name, which may consist of two words, and returns the words behind it.
func find(all []Command, args []string) (*Command, []string) {
	for i := range all {
		c := &all[i]
		words := strings.Fields(c.Name)
		if len(args) >= len(words) && strings.EqualFold(strings.Join(args[:len(words)], " "), c.Name) {
			return c, args[len(words):]
		}
		if c.Alias != "" && len(args) > 0 && strings.EqualFold(c.Alias, args[0]) {
			return c, args[1:]
		}
	}
	return nil, nil
}

func run(ctx context.Context, e Env, cmd *Command, args []string) int {
	options := withCommon(cmd.Options)
	usage := cli.Usage("mqadmin "+cmd.Name, options)
	if wantsHelp(options, args) {
		fmt.Fprint(e.Stdout, usage, commonHelp(options))
		return exitOK
	}
	values, err := cli.Parse(options, args)
	if err != nil {
		fmt.Fprintln(e.Stderr, err)
		fmt.Fprint(e.Stdout, usage)
		return exitUsage
	}
	c, err := newCall(ctx, e, cmd, values)
	if err != nil {
		fmt.Fprintf(e.Stderr, "mqadmin %s: %v\n", cmd.Name, err)
		return exitUsage
	}
	defer c.close()
	if err = cmd.tooMany(c.Args); err == nil {
		err = cmd.Run(c)
	}
	if err == errUsage && !c.document() { // a misuse says itself what is wrong
		c.printf("%s", usage)
	}
	return c.finish(err)
}

func (cmd *Command) tooMany(words []string) error {
	if cmd.Own && len(words) > cmd.Words {
		return misused("what is %q for? mqadmin help %s", words[cmd.Words], cmd.Name)
	}
	return nil
}

// wantsHelp is more generous than Java, which wants the required options first.
func wantsHelp(options []cli.Option, args []string) bool {
	takesValue := func(word string) bool {
		for i := range options {
			if o := &options[i]; o.Arg && (word == "-"+o.Short || word == "--"+o.Long) {
				return true
			}
		}
		return false
	}
	for i, word := range args {
		if (word == "-h" || word == "--help") && (i == 0 || !takesValue(args[i-1])) {
			return true
		}
	}
	return false
}

// withCommon adds the options that all sub-commands have.
func withCommon(own []cli.Option) []cli.Option {
	taken := map[string]bool{}
	for i := range own {
		taken[own[i].Short], taken[own[i].Long] = true, true
	}
	all := append(slices.Clone(own), cli.Flag("h", "help", "Print help"))
	if !taken["n"] {
		all = append(all, cli.Arg("n", "namesrvAddr", "Name server address list, eg: '192.168.0.1:9876;192.168.0.2:9876'"))
	}
	for _, o := range []cli.Option{
		{Short: "o", Long: "output", Arg: true, About: "json, yaml or wide instead of Java's text"},
		{Long: "timeout", Arg: true, About: "for each request, such as 20s; default 5s"},
		{Long: "tls", About: "connect with TLS"},
		{Long: "tls-ca", Arg: true, About: "file of the authorities that servers' certificates are checked with"},
		{Long: "tls-cert", Arg: true, About: "file of a certificate for servers that ask for one"},
		{Long: "tls-key", Arg: true, About: "file of its key"},
	} {
		if taken[o.Short] {
			o.Short = ""
		}
		o.Exact = true
		all = append(all, o)
	}
	return all
}

// commonHelp describes the options that Java does not have.
func commonHelp(options []cli.Option) string {
	var b strings.Builder
	b.WriteString("Not in Java's tool:\n")
	for i := range options {
		o := &options[i]
		if !o.Exact {
			continue
		}
		name := "--" + o.Long
		if o.Short != "" {
			name = "-" + o.Short + "," + name
		}
		if o.Arg {
			name += " <arg>"
		}
		fmt.Fprintf(&b, " %-18s %s\n", name, o.About)
	}
	return b.String()
}

// list prints all sub-commands, first Java's as Java does.
func list(w io.Writer, all []Command) {
	fmt.Fprint(w, "The most commonly used mqadmin commands are:\n")
	section := func(which func(*Command) bool) {
		for i := range all {
			if which(&all[i]) {
				fmt.Fprintf(w, "   %-35s %s\n", all[i].Name, all[i].About)
			}
		}
	}
	section(func(c *Command) bool { return !c.Own && !c.Only4 })
	fmt.Fprint(w, "\nSee 'mqadmin help <command>' for more information on a specific command.\n")
	fmt.Fprint(w, "\nNot in Java's tool:\n")
	section(func(c *Command) bool { return c.Own })
	fmt.Fprint(w, "\nFor brokers of 4.9 with access control:\n")
	section(func(c *Command) bool { return c.Only4 })
}

// nearest hints at the name that resembles it most, or begins with it.
func nearest(all []Command, name string) string {
	var names []string
	for i := range all {
		names = append(names, all[i].Name)
	}
	near := config.Nearest(name, names)
	for _, n := range names {
		if near == "" && len(n) > len(name) && strings.EqualFold(n[:len(name)], name) {
			near = n
		}
	}
	if near == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %s?", near)
}

func newClient(e Env, o client.Options) *client.Client {
	o.Dial = e.Dial
	return client.New(o)
}

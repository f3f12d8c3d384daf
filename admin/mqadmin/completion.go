// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	cli "rocketmq-go/admin/commonscli"
)

// completeCommand is what the scripts call, with the words of the command line up to the one to complete. It prints the
// words that fit, one per line.
const completeCommand = "__complete"

var completionScripts = map[string]string{
	"bash": `# bash completion of mqadmin: source it, or put it into /etc/bash_completion.d
_mqadmin() {
	local first=1 IFS=$'\n'
	local -a tool=("${COMP_WORDS[0]}")
	if [ "${tool[0]##*/}" = rocketmq ]; then
		[ "${COMP_WORDS[1]}" = mqadmin ] || return
		tool+=(mqadmin)
		first=2
	fi
	[ "$COMP_CWORD" -ge "$first" ] || return
	COMPREPLY=($("${tool[@]}" __complete "${COMP_WORDS[@]:$first:$((COMP_CWORD-first+1))}" 2>/dev/null))
}
COMP_WORDBREAKS=${COMP_WORDBREAKS//:/}
complete -o default -F _mqadmin mqadmin rocketmq
`,
	"zsh": `#compdef mqadmin
# zsh completion of mqadmin: put it as _mqadmin into a folder of fpath
_mqadmin() {
	local -a found
	found=(${(f)"$(${words[1]} __complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
	compadd -- $found
}
compdef _mqadmin mqadmin
`,
	"fish": `# fish completion of mqadmin: put it into ~/.config/fish/completions/mqadmin.fish
complete -c mqadmin -f -a '(set -l w (commandline -opc) (commandline -ct); $w[1] __complete $w[2..-1] 2>/dev/null)'
`,
}

func completion(c *Call) error {
	shells := slices.Sorted(maps.Keys(completionScripts))
	if len(c.Args) != 1 || completionScripts[c.Args[0]] == "" {
		return misused("want one of %s", strings.Join(shells, ", "))
	}
	c.field("script", "%s", completionScripts[c.Args[0]])
	return nil
}

func complete(ctx context.Context, e Env, all []Command, words []string) int {
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	for _, w := range candidates(ctx, e, all, words[:len(words)-1], last) {
		if len(w) >= len(last) && strings.EqualFold(w[:len(last)], last) {
			fmt.Fprintln(e.Stdout, w)
		}
	}
	return exitOK
}

func candidates(ctx context.Context, e Env, all []Command, before []string, last string) []string {
	cmd, rest := find(all, before)
	if cmd == nil {
		return commandWords(all, before)
	}
	options := withCommon(cmd.Options)
	if len(rest) > 0 {
		for i := range options {
			o := &options[i]
			if word := rest[len(rest)-1]; o.Arg && (word == "-"+o.Short || word == "--"+o.Long) {
				return values(ctx, e, o, before)
			}
		}
	}
	if cmd.Name == "completion" && !strings.HasPrefix(last, "-") {
		return slices.Sorted(maps.Keys(completionScripts))
	}
	var list []string
	for i := range options {
		if o := &options[i]; strings.HasPrefix(last, "--") || o.Short == "" {
			list = append(list, "--"+o.Long)
		} else {
			list = append(list, "-"+o.Short)
		}
	}
	slices.Sort(list)
	return list
}

// commandWords are the words that may follow where no sub-command is complete yet.
func commandWords(all []Command, before []string) []string {
	if len(before) == 1 && strings.EqualFold(before[0], "help") {
		before = nil
	}
	var list []string
	for i := range all {
		words := strings.Fields(all[i].Name)
		if len(before) < len(words) && strings.EqualFold(strings.Join(words[:len(before)], " "), strings.Join(before, " ")) {
			list = append(list, words[len(before)])
		}
	}
	if len(before) == 0 {
		list = append(list, "help")
	}
	return list
}

// valuesOf asks the name servers for what an option may be, by the option's long name.
var valuesOf = map[string]func(*Call) []string{
	"topic":         (*Call).topicNames,
	"topicName":     (*Call).topicNames,
	"consumerGroup": (*Call).groupNames,
	"groupName":     (*Call).groupNames,
	"group":         (*Call).groupNames,
	"srcGroup":      (*Call).groupNames,
	"clusterName":   (*Call).clusterNames,
	"cluster":       (*Call).clusterNames,
	"brokerName":    (*Call).brokerNames,
	"brokerAddr":    (*Call).brokerAddrs,
	"output":        func(*Call) []string { return []string{"json", "text", "wide", "yaml"} },
}

const completionTimeout = 2 * time.Second

func values(ctx context.Context, e Env, o *cli.Option, before []string) []string {
	list := valuesOf[o.Long]
	if list == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	var args []string
	for i, word := range before[:len(before)-1] {
		if word == "-n" || word == "--namesrvAddr" {
			args = []string{"-n", before[i+1]}
		}
	}
	cmd := &Command{Name: completeCommand}
	v, err := cli.Parse(withCommon(nil), args)
	if err != nil {
		return nil
	}
	e.Stdout, e.Stderr = io.Discard, io.Discard
	c, err := newCall(ctx, e, cmd, v)
	if err != nil {
		return nil
	}
	defer c.close()
	return list(c)
}

func (c *Call) topicNames() []string {
	list, err := c.topics()
	if err != nil {
		return nil
	}
	slices.Sort(list)
	return list
}

func (c *Call) groupNames() []string {
	var groups []string
	for _, t := range c.topicNames() {
		if g, ok := strings.CutPrefix(t, retryPrefix); ok {
			groups = append(groups, g)
		}
	}
	return groups
}

// namesOfNodes are what a function says of all brokers, each once.
func (c *Call) namesOfNodes(of func(node) string) []string {
	list, err := c.nodes("")
	if err != nil {
		return nil
	}
	names := map[string]bool{}
	for _, n := range list {
		names[of(n)] = true
	}
	return slices.Sorted(maps.Keys(names))
}

func (c *Call) clusterNames() []string {
	return c.namesOfNodes(func(n node) string { return n.cluster })
}

func (c *Call) brokerNames() []string {
	return c.namesOfNodes(func(n node) string { return n.name })
}

func (c *Call) brokerAddrs() []string {
	return c.namesOfNodes(func(n node) string { return n.addr })
}

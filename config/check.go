// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"rocketmq-go/compat/properties"
)

// Check explains a configuration file, one line per key: whether it works, and if not, why. role is "broker",
// "namesrv", or empty to let the keys decide. The result is the exit code: ExitOK for a file with which the process
// starts and of which every key is known and readable, otherwise 1.
func Check(w io.Writer, file, role string) int {
	data, err := os.ReadFile(file)
	if err != nil {
		fmt.Fprintln(w, err)
		return 1
	}
	lines, err := properties.Lines(data)
	if err != nil {
		fmt.Fprintf(w, "%s: %v\n", file, err)
		return 1
	}
	lines = slices.DeleteFunc(lines, func(l properties.Line) bool { return l.Comment })
	if role == "" {
		role = guessRole(lines)
	}
	switch role {
	case "broker":
		return check(w, file, lines, brokerRole())
	case "namesrv":
		return check(w, file, lines, namesrvRole())
	}
	fmt.Fprintf(w, "no such kind of configuration: %s (broker or namesrv)\n", role)
	return ExitUsage
}

// guessRole takes a file for that of a name server when it has more keys that only name servers know.
func guessRole(lines []properties.Line) string {
	broker := settable(tableOf((&BrokerValues{}).objects()))
	namesrv := settable(tableOf((&NamesrvValues{}).objects()))
	votes := 0
	for _, p := range lines {
		_, inBroker := broker[p.Key]
		_, inNamesrv := namesrv[p.Key]
		switch {
		case inNamesrv && !inBroker:
			votes++
		case inBroker && !inNamesrv:
			votes--
		}
	}
	if votes > 0 {
		return "namesrv"
	}
	return "broker"
}

func check[T any](w io.Writer, file string, lines []properties.Line, r role[T]) int {
	c, warnings, err := load(Options{File: file}, r)
	if c == nil {
		fmt.Fprintln(w, err)
		return 1
	}
	wrong := map[string]string{}
	for _, warning := range warnings {
		wrong[warning.Key] = warning.Text
	}
	last := map[string]int{}
	for i, p := range lines {
		last[p.Key] = i
	}
	byName := settable(c.keys)
	fmt.Fprintf(w, "%s, read as the configuration of a %s by the rules of %s\n", file, r.name, c.version)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, p := range lines {
		verdict := "works"
		switch {
		case last[p.Key] != i:
			verdict = "no effect: given again below"
		case err != nil && strings.HasPrefix(err.Error(), p.Key+"="):
			verdict = "refused, see below"
		case wrong[p.Key] != "":
			verdict = wrong[p.Key]
		default:
			verdict = effect(byName[p.Key])
		}
		fmt.Fprintf(table, "  %s=%s\t%s\n", visible(p.Key), visible(p.Value), verdict)
	}
	table.Flush()
	if err != nil {
		fmt.Fprintf(w, "The %s does not start with this file: %v\n", r.name, err)
	}
	if err != nil || len(warnings) > 0 {
		return 1
	}
	return ExitOK
}

// visible quotes a text that would not show all it is made of.
func visible(s string) string {
	if q := strconv.Quote(s); trim(s) != s || q[1:len(q)-1] != s && !strings.Contains(s, `\`) {
		return q
	}
	return s
}

// effect says what the keys of one name do.
func effect(keys []*Key) string {
	best := ""
	for _, k := range keys {
		switch {
		case k.NoEffect == "" && k.Feature == "":
			return "works"
		case k.NoEffect != "":
			best = "no effect: " + k.NoEffect
		default:
			best = "no effect yet: belongs to " + k.Feature
		}
	}
	return best
}

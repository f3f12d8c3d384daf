// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"rocketmq-go/compat/properties"
)

// Check explains a configuration file, one line per key: whether it works, and if not, why. role is "broker",
// "namesrv", "controller", or empty to let the keys and the file's name decide. The result is the exit code: ExitOK for a file with which the process
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
	guessed := ""
	if role == "" {
		role, guessed = guessRole(file, lines)
	}
	switch role {
	case "broker":
		return check(w, file, guessed, lines, brokerRole())
	case "namesrv":
		return check(w, file, guessed, lines, namesrvRole())
	case "controller":
		return check(w, file, guessed, lines, controllerRole())
	}
	fmt.Fprintf(w, "no such kind of configuration: %s (broker, namesrv or controller)\n", role)
	return ExitUsage
}

// guessRole takes a file for that of a name server when it has more keys that only name servers know. Where its keys tell
// nothing its name and the port do, and hint says how to overrule that.
func guessRole(file string, lines []properties.Line) (role, hint string) {
	broker := settable(tableOf((&BrokerValues{}).objects()))
	namesrv := settable(tableOf((&NamesrvValues{}).objects()))
	controller := settable(tableOf((&ControllerValues{}).objects()))
	votes, port, ofController, inside := 0, "", false, false
	for _, p := range lines {
		_, inBroker := broker[p.Key]
		_, inNamesrv := namesrv[p.Key]
		switch {
		case inNamesrv && !inBroker:
			votes++
		case inBroker && !inNamesrv:
			votes--
		}
		if _, ok := controller[p.Key]; ok && !inNamesrv && !inBroker {
			ofController = true
		}
		switch p.Key {
		case "listenPort":
			port = p.Value
		case "enableControllerInNamesrv":
			inside = true
		}
	}
	name := strings.ToLower(filepath.Base(file))
	named := strings.Contains(name, "namesrv") || strings.Contains(name, "nameserver")
	switch {
	case ofController && !inside:
		return "controller", ""
	case votes > 0:
		return "namesrv", ""
	case votes < 0:
		return "broker", ""
	case named || port == strconv.Itoa(NamesrvPort):
		return "namesrv", " (--broker if it is a broker's)"
	}
	return "broker", " (--namesrv if it is a name server's)"
}

func check[T any](w io.Writer, file, hint string, lines []properties.Line, r role[T]) int {
	c, warnings, err := load(Options{File: file}, r)
	var exit *ExitError
	errors.As(err, &exit)
	rules := hint
	if c != nil {
		rules = " by the rules of " + c.version + hint
	}
	if c == nil && (exit == nil || len(exit.Keys) == 0) {
		fmt.Fprintf(w, "%s, read as the configuration of a %s%s\n", file, r.name, hint)
		fmt.Fprintf(w, "The %s does not start with this file: %v\n", r.name, err)
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
	byName := settable(tableOf(r.objects(new(T))))
	shared := sharedKeys(r, lines)
	fmt.Fprintf(w, "%s, read as the configuration of a %s%s\n", file, r.name, rules)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, p := range lines {
		verdict := "works"
		switch {
		case last[p.Key] != i:
			verdict = "no effect: given again below"
		case exit != nil && slices.Contains(exit.Keys, p.Key):
			verdict = "refused, see below"
		case wrong[p.Key] != "":
			verdict = wrong[p.Key]
		case byName[p.Key] == nil && shared[p.Key] != nil:
			verdict = effect(shared[p.Key])
		case byName[p.Key] == nil:
			verdict = "no effect: cannot be set, but is so anyway"
		default:
			verdict = effect(byName[p.Key])
		}
		fmt.Fprintf(table, "  %s=%s\t%s\n", visible(p.Key), visible(p.Value), verdict)
	}
	table.Flush()
	for _, warning := range warnings {
		if _, inFile := last[warning.Key]; !inFile {
			fmt.Fprintf(w, "Besides the file: %s\n", warning)
		}
	}
	return conclude(w, r.name, warnings, err)
}

// sharedKeys are those of another server that takes its own from the same file.
func sharedKeys[T any](r role[T], lines []properties.Line) map[string][]*Key {
	if r.shares == nil {
		return nil
	}
	given := map[string]string{}
	for _, l := range lines {
		given[l.Key] = l.Value
	}
	switch r.shares(given) {
	case ownerController:
		return settable(tableOf((&ControllerValues{}).objects()))
	case ownerNamesrv:
		return settable(tableOf((&NamesrvValues{}).objects()))
	}
	return nil
}

// conclude says in a sentence what comes of it.
func conclude(w io.Writer, title string, warnings []Warning, err error) int {
	var keys []string
	for _, warning := range warnings {
		keys = append(keys, warning.Key)
	}
	slices.Sort(keys)
	switch n := len(keys); {
	case err != nil:
		fmt.Fprintf(w, "The %s does not start with this file: %v\n", title, err)
	case n == 1:
		fmt.Fprintf(w, "The %s starts, but not with all that the file says: correct or remove %s.\n", title, keys[0])
	case n > 1:
		fmt.Fprintf(w, "The %s starts, but not with all that the file says: correct or remove these %d keys: %s.\n", title, n, strings.Join(keys, ", "))
	default:
		fmt.Fprintf(w, "The %s starts with this file.\n", title)
		return ExitOK
	}
	return 1
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

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// flagSet is a pflag set that also takes Java's single-dash long names (-configFile as well as --configFile and -c).
type flagSet struct {
	*pflag.FlagSet
	env env
}

func newFlags(name, synopsis string, e env) *flagSet {
	fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
	fs.SetOutput(e.stderr)
	fs.Usage = func() {
		fmt.Fprintf(e.stdout, "usage: %s\n\n%s", synopsis, fs.FlagUsages())
	}
	return &flagSet{FlagSet: fs, env: e}
}

// wantsHelp is for commands without a flag set.
func wantsHelp(args []string) bool {
	return slices.Contains(args, "-h") || slices.Contains(args, "--help")
}

// noMore refuses arguments that are no options.
func (f *flagSet) noMore() (code int, finished bool) {
	if f.NArg() == 0 {
		return 0, false
	}
	fmt.Fprintf(f.env.stderr, "%s: %q is no option; '%s -h' lists them\n", f.Name(), f.Arg(0), f.Name())
	return exitUsage, true
}

// ignoreMore says that arguments which are no options have no effect, as with the Java launchers.
func (f *flagSet) ignoreMore() {
	for _, a := range f.Args() {
		fmt.Fprintf(f.env.stderr, "%s: WARN %q has no effect: configuration keys go into the file of -c\n", f.Name(), a)
	}
}

// parse returns the exit code and true when the command is finished already (help, bad usage).
func (f *flagSet) parse() (code int, finished bool) {
	err := f.Parse(f.normalise(f.env.args))
	switch {
	case err == nil:
		return 0, false
	case errors.Is(err, pflag.ErrHelp):
		return exitOK, true
	}
	fmt.Fprintf(f.env.stderr, "%s: %v\n", f.Name(), err)
	f.FlagSet.SetOutput(f.env.stderr)
	fmt.Fprint(f.env.stderr, f.FlagUsages())
	return exitUsage, true
}

func (f *flagSet) normalise(args []string) []string {
	out := make([]string, 0, len(args))
	for i, a := range args {
		if a == "--" {
			return append(out, args[i:]...)
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(a, "-"), "=")
		if strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && len(name) > 1 && f.Lookup(name) != nil {
			a = "-" + a
		}
		out = append(out, a)
	}
	return out
}

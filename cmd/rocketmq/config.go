// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"rocketmq-go/config"
)

const configUsage = `usage: rocketmq config check FILE [--broker|--namesrv|--controller]

Says for each key of a configuration file what it does here: works, has no effect and why, or is not known and what
was probably meant. Whether it is a broker's, a name server's or a controller's file its keys tell, unless you do. Exit code 0: the server
starts with it and every key is understood; 1: the last line says what is wrong.
`

func runConfig(_ context.Context, e env) int {
	switch {
	case wantsHelp(e.args):
		fmt.Fprint(e.stdout, configUsage)
		return exitOK
	case len(e.args) < 2 || len(e.args) > 3 || e.args[0] != "check":
		fmt.Fprint(e.stderr, configUsage)
		return exitUsage
	}
	var files []string
	role := ""
	for _, a := range e.args[1:] {
		switch a {
		case "--broker", "--namesrv", "--controller", "broker", "namesrv", "controller":
			role = strings.TrimPrefix(a, "--")
		default:
			if strings.HasPrefix(a, "-") {
				fmt.Fprintf(e.stderr, "rocketmq config check: unknown option %s\n\n%s", a, configUsage)
				return exitUsage
			}
			files = append(files, a)
		}
	}
	if len(files) != 1 {
		fmt.Fprint(e.stderr, configUsage)
		return exitUsage
	}
	if _, err := os.Stat(files[0]); err != nil {
		return fail(e, "rocketmq config check", err)
	}
	return config.Check(e.stdout, files[0], role)
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"fmt"

	"rocketmq-go/config"
)

const configUsage = `usage: rocketmq config check FILE [broker|namesrv]

Says for each key of a configuration file what it does here: works, has no effect and why, or is not known and what
was probably meant. Exit code 0: the server starts with it and every key is understood.
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
	role := ""
	if len(e.args) == 3 {
		role = e.args[2]
	}
	return config.Check(e.stdout, e.args[1], role)
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"fmt"

	"rocketmq-go/store/inspect"
)

const storeUsage = `usage: rocketmq store COMMAND …

  feed INPUTS.jsonl[.gz] DIR [key=value …]   write INPUT records into an empty store directory
  dump DIR [key=value …]                     open a copy of a store directory and print it as JSON lines

key=value are store configuration keys (mappedFileSizeCommitLog=…) and compatVersion=5.3.3|4.9.7.
dump recovers what it opens, as a broker would: give it a copy.
`

func runStore(_ context.Context, e env) int {
	if len(e.args) == 0 {
		fmt.Fprint(e.stderr, storeUsage)
		return exitUsage
	}
	switch args := e.args[1:]; e.args[0] {
	case "feed":
		return inspect.FeedCommand(args, e.stdout, e.stderr)
	case "dump":
		return inspect.DumpCommand(args, e.stdout, e.stderr)
	case "-h", "--help", "help":
		fmt.Fprint(e.stdout, storeUsage)
		return exitOK
	}
	fmt.Fprintf(e.stderr, "rocketmq store: no command %q\n\n%s", e.args[0], storeUsage)
	return exitUsage
}

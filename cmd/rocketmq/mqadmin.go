// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"io"
	"os"

	"rocketmq-go/admin/mqadmin"
)

// runMQAdmin runs a sub-command of Java's mqadmin, or one of ours.
func runMQAdmin(ctx context.Context, e env) int {
	return mqadmin.Run(ctx, mqadmin.Env{
		Stdout: e.stdout, Stderr: e.stderr, Getenv: e.getenv, Terminal: isTerminal(e.stderr),
	}, e.args)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"fmt"

	"rocketmq-go/config"
	"rocketmq-go/namesrv"
)

func runNamesrv(ctx context.Context, e env) int {
	const name = "mqnamesrv"
	var l launch
	fs := newFlags(name, "mqnamesrv [-c FILE] [-n ADDR] [-p]", e)
	l.bindJava(fs.FlagSet, false)
	if code, finished := fs.parse(); finished {
		return code
	}
	fs.ignoreMore()
	log, err := l.logger(e.stderr)
	if err != nil {
		return fail(e, name, err)
	}
	cfg, warnings, err := config.LoadNamesrv(l.options(e))
	if l.printAll && cfg != nil {
		if err := cfg.Print(e.stdout, false); err != nil {
			return fail(e, name, err)
		}
		return exitOK
	}
	if code, ok := loaded(e, name, warnings, err); !ok {
		return code
	}
	if l.configFile != "" {
		fmt.Fprintf(e.stdout, "load config properties file OK, %s\n", l.configFile)
	}
	secure, err := serverTLS(&cfg.Load().Own)
	if err != nil {
		return fail(e, name, err)
	}
	server, err := namesrv.New(cfg, namesrv.Options{Log: log, TLS: secure})
	if err != nil {
		return fail(e, name, err)
	}
	if err := server.Start(); err != nil {
		return fail(e, name, err)
	}
	fmt.Fprintf(e.stdout, "The Name Server boot success. serializeType=JSON, address %s\n", server.Addr())
	err = ports{Namesrv: reachable(server.Addr())}.write(l.portFile)
	if err == nil {
		<-ctx.Done()
	}
	if closed := server.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fail(e, name, err)
	}
	return exitOK
}

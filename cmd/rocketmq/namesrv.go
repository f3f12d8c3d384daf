// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"rocketmq-go/config"
	"rocketmq-go/namesrv"
)

func runNamesrv(ctx context.Context, e env) int {
	const name = "mqnamesrv"
	var l launch
	cfg, w, code, done := javaServer[config.NamesrvValues]{
		name: name, synopsis: "mqnamesrv [-c FILE] [-n ADDR] [-p]", log: "namesrv",
		load: config.LoadNamesrv, own: func(v *config.NamesrvValues) *config.OwnConfig { return &v.Own },
	}.begin(e, &l)
	if done {
		return code
	}
	defer w.close()
	l.sayFile(e)
	server, err := startNamesrv(cfg, w.log)
	if err != nil {
		return w.fail(e, name, err)
	}
	shut := server.Close
	p := ports{Namesrv: reachable(server.Addr())}
	c, err := controllerInNamesrv(cfg, l.options(e), w.log)
	if c != nil {
		shut = func() error { return errors.Join(c.Close(), server.Close()) }
		p.Controller = c.Addr()
	}
	if err == nil {
		err = w.serve(cfg.Load().Own.HTTPListen, cfg.Load().Own.HTTPPprof, server.Ready, server.Collect)
	}
	if err != nil {
		return w.fail(e, name, errors.Join(err, shut()))
	}
	p.HTTP = w.httpAddr()
	return l.serve(ctx, e, name, p, func() {
		fmt.Fprintf(e.stdout, "The Name Server boot success. serializeType=JSON, address %s\n", server.Addr())
	}, func() error { return errors.Join(w.end(), shut()) })
}

// startNamesrv makes a name server with the TLS settings of its configuration and starts it.
func startNamesrv(cfg *config.Namesrv, log *slog.Logger) (*namesrv.Server, error) {
	secure, err := serverTLS(&cfg.Load().Own)
	if err != nil {
		return nil, err
	}
	s, err := namesrv.New(cfg, namesrv.Options{Log: log, TLS: secure})
	if err != nil {
		return nil, err
	}
	if err := s.Start(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"rocketmq-go/config"
	"rocketmq-go/controller"
)

func runController(ctx context.Context, e env) int {
	const name = "mqcontroller"
	var l launch
	cfg, w, code, done := javaServer[config.ControllerValues]{
		name: name, synopsis: "mqcontroller -c FILE [-p]", log: "controller",
		important: true, load: config.LoadController, own: func(v *config.ControllerValues) *config.OwnConfig { return &v.Own },
	}.begin(e, &l)
	if done {
		return code
	}
	defer w.close()
	l.sayFile(e)
	c, err := startController(cfg, w.log)
	if err != nil {
		return w.fail(e, name, err)
	}
	return l.serve(ctx, e, name, ports{Controller: c.Addr()}, func() {
		fmt.Fprintf(e.stdout, "The Controller Server boot success. serializeType=JSON, address %s\n", c.Addr())
	}, c.Close)
}

// startController makes a controller with the TLS settings of its configuration and starts it.
func startController(cfg *config.Controller, log *slog.Logger) (*controller.Controller, error) {
	secure, err := serverTLS(&cfg.Load().Own)
	if err != nil {
		return nil, err
	}
	c, err := controller.New(cfg, controller.Options{Log: log, TLS: secure})
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// controllerInNamesrv starts the controller that a name server's file asks for; nil if it does not.
func controllerInNamesrv(cfg *config.Namesrv, o config.Options, log *slog.Logger) (*controller.Controller, error) {
	if !cfg.Load().EnableControllerInNamesrv {
		return nil, nil
	}
	own, _, err := config.LoadController(o) // what there is to warn of was said of the name server
	if err != nil {
		return nil, err
	}
	return startController(own, log)
}

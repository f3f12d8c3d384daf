// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"rocketmq-go/broker"
	"rocketmq-go/config"
)

// closeTimeout bounds a clean stop: what is still waiting then is abandoned, and the next start recovers.
const closeTimeout = 30 * time.Second

func runBroker(ctx context.Context, e env) int {
	const name = "mqbroker"
	var l launch
	cfg, w, code, done := javaServer[config.BrokerValues]{
		name: name, synopsis: "mqbroker [-c FILE] [-n ADDR] [-p] [-m]", log: "broker",
		important: true, load: config.LoadBroker, own: func(v *config.BrokerValues) *config.OwnConfig { return &v.Own },
	}.begin(e, &l)
	if done {
		return code
	}
	defer w.close()
	b, err := startBroker(ctx, cfg, w.log)
	if err == nil {
		err = w.serveBroker(cfg.Load(), b.Ready, b.Collect)
		if err != nil {
			err = errors.Join(err, closeBroker(b))
		}
	}
	if err != nil {
		return w.fail(e, name, err)
	}
	p := ports{Broker: reachable(b.Addr()), Fast: reachable(b.FastAddr()), HTTP: w.httpAddr()}
	return l.serve(ctx, e, name, p, func() {
		fmt.Fprintln(e.stdout, clientAddress(b, cfg.Load().BrokerIP1))
		fmt.Fprintln(e.stdout, bootLine(b, cfg.Load()))
	}, func() error { return errors.Join(w.end(), closeBroker(b)) })
}

// bootLine is what Java's launcher prints, and scripts look for, when the broker is ready.
func bootLine(b *broker.Broker, v *config.BrokerValues) string {
	address, _ := b.Advertised()
	line := fmt.Sprintf("The broker[%s, %s] boot success. serializeType=JSON", v.BrokerName, address)
	if v.NamesrvAddr != "" {
		line += " and name server is " + v.NamesrvAddr
	}
	return line
}

// startBroker makes a broker with the TLS settings of its configuration and starts it.
func startBroker(ctx context.Context, cfg *config.Broker, log *slog.Logger) (*broker.Broker, error) {
	server, err := serverTLS(&cfg.Load().Own)
	if err != nil {
		return nil, err
	}
	client, err := clientTLS(&cfg.Load().Own, cfg.Load().Client.UseTLS)
	if err != nil {
		return nil, err
	}
	b, err := broker.New(broker.Options{Config: cfg, Log: log, TLS: server, ClientTLS: client})
	if err != nil {
		return nil, err
	}
	if err := b.Start(ctx); err != nil {
		return nil, errors.Join(err, closeBroker(b))
	}
	return b, nil
}

func closeBroker(b *broker.Broker) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return b.Close(ctx)
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rocketmq-go/broker"
	"rocketmq-go/config"
)

// closeTimeout bounds a clean stop: what is still waiting then is abandoned, and the next start recovers.
const closeTimeout = 30 * time.Second

func runBroker(ctx context.Context, e env) int {
	const name = "mqbroker"
	var l launch
	fs := newFlags(name, "mqbroker [-c FILE] [-n ADDR] [-p] [-m]", e)
	l.bindJava(fs.FlagSet, true)
	if code, finished := fs.parse(); finished {
		return code
	}
	fs.ignoreMore()
	log, err := l.logger(e.stderr)
	if err != nil {
		return fail(e, name, err)
	}
	cfg, warnings, err := config.LoadBroker(l.options(e))
	if (l.printAll || l.printImportant) && cfg != nil {
		if err := cfg.Print(e.stdout, l.printImportant); err != nil {
			return fail(e, name, err)
		}
		return exitOK
	}
	if code, ok := loaded(e, name, warnings, err); !ok {
		return code
	}
	secure, err := serverTLS(&cfg.Load().Own)
	if err != nil {
		return fail(e, name, err)
	}
	client, err := clientTLS(&cfg.Load().Own)
	if err != nil {
		return fail(e, name, err)
	}
	b, err := broker.New(broker.Options{Config: cfg, Log: log, TLS: secure, ClientTLS: client})
	if err != nil {
		return fail(e, name, err)
	}
	if err := b.Start(ctx); err != nil {
		return fail(e, name, errors.Join(err, closeBroker(b)))
	}
	fmt.Fprintln(e.stdout, clientAddress(b, cfg.Load().BrokerIP1))
	address, _ := b.Advertised()
	boot := fmt.Sprintf("The broker[%s, %s] boot success. serializeType=JSON", cfg.Load().BrokerName, address)
	if list := cfg.Load().NamesrvAddr; list != "" {
		boot += " and name server is " + list
	}
	fmt.Fprintln(e.stdout, boot)
	err = ports{Broker: reachable(b.Addr()), Fast: reachable(b.FastAddr())}.write(l.portFile)
	if err == nil {
		<-ctx.Done()
	}
	if closed := closeBroker(b); err == nil {
		err = closed
	}
	if err != nil {
		return fail(e, name, err)
	}
	return exitOK
}

func closeBroker(b *broker.Broker) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return b.Close(ctx)
}

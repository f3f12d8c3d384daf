// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"fmt"
	"strings"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// Accounts that the harness makes for runs with --auth.
var (
	both      = primitive.Credentials{AccessKey: "conf-both", SecretKey: "both-secret"}
	publisher = primitive.Credentials{AccessKey: "conf-publisher", SecretKey: "publisher-secret"}
	forged    = primitive.Credentials{AccessKey: "conf-both", SecretKey: "another-secret"}
)

// authCases are for brokers that let in only who signs, by the access rules of 4.x or 5.x. The Java driver has the same.
func authCases() []testCase {
	return []testCase{
		{name: "signed", run: signed},
		{name: "wrong-secret", run: wrongSecret},
		{name: "pub-only", run: pubOnly},
	}
}

// signed: whoever may publish and subscribe does.
func signed(r *run) error {
	p, err := r.producer(producer.WithCredentials(both))
	if err != nil {
		return err
	}
	if err := r.sendSeries(p, r.topic(), "signed", 10, nil); err != nil {
		return err
	}
	if _, err := r.push(r.topic(), r.group(), r.receive, consumer.WithCredentials(both)); err != nil {
		return err
	}
	return r.ledger.wait(r.ctx)
}

// wrongSecret: a message signed with another secret is refused, and so is one that is not signed.
func wrongSecret(r *run) error {
	for want, opts := range map[string][]producer.Option{
		"check signature failed": {producer.WithCredentials(forged)},
		" ":                      nil, // 4.x and 5.x say different things
	} {
		p, err := r.producer(opts...)
		if err != nil {
			return err
		}
		_, err = p.SendSync(r.ctx, primitive.NewMessage(r.topic(), []byte("no")))
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), want) {
			return fmt.Errorf("send: %v, expected %q", err, want)
		}
	}
	return nil
}

// pubOnly: whoever may only publish cannot read what they sent; another can.
func pubOnly(r *run) error {
	p, err := r.producer(producer.WithCredentials(publisher))
	if err != nil {
		return err
	}
	if err := r.sendSeries(p, r.topic(), "pub-only", 5, nil); err != nil {
		return err
	}
	c, mqs, err := r.puller(consumer.WithCredentials(publisher))
	if err != nil {
		return err
	}
	if res, err := c.PullFrom(r.ctx, mqs[0], 0, 1); err == nil || !strings.Contains(err.Error(), "permission") {
		return fmt.Errorf("pull: %v %v, expected a refusal", res, err)
	}
	if _, err := r.push(r.topic(), r.group("both"), r.receive, consumer.WithCredentials(both)); err != nil {
		return err
	}
	return r.ledger.wait(r.ctx)
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Command goclient runs the official Go client, unmodified, against any RocketMQ name server and accounts for every
// message: what was sent must be received, and twice only where at-least-once delivery allows it.
//
// It knows nothing of the server behind the address, so its table of results can be compared between Apache's
// servers and this project. Each case uses topics and groups of its own, named after the case and a suffix of the
// run; the cases run side by side, those that restart the broker at the end.
//
// The server needs autoCreateTopicEnable, enablePropertyFilter, delay levels of one second and quick transaction
// checks (../broker.conf is what the expected tables were recorded with).
package main

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package storedbytes sends the same requests to two brokers and compares what they stored, byte for byte: a record is
// the same but for the time it was stored and the addresses of broker and sender. It shows the order of properties (that of
// Java's HashMap), separators, flags, and what a broker adds or drops.
//
//	play(addr, store directory of one broker)     → Run
//	play(addr, store directory of the other one)  → Run
//	Compare(one, other)                           → differences
//
// The requests are those of recorded clients (testdata/wire.jsonl.gz), of recorded steps (a file of package replay), and
// own ones. They are sent one after the other, and what brokers store by themselves (delivered messages, notes of
// transactions) is waited for, so that the logs have the same order.
package storedbytes

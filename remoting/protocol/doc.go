// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package protocol is the RocketMQ remoting protocol as data: frames, the codes of requests and responses, the typed
// custom headers and the JSON bodies.
//
// A frame, all integers big-endian:
//
//	+--------+--------+---------------+-------------+
//	| length | hlword | header        | body        |
//	| 4      | 4      | headerLength  | rest        |
//	+--------+--------+---------------+-------------+
//
// length counts what follows it; the top byte of hlword is the SerializeType of the header, the other three are
// headerLength. The header carries the fields of Command; its extFields are the custom header as text.
//
// Codes and custom headers stand in headers.txt, from which gen/ writes codes_gen.go and header_*_gen.go.
//
// # Views
//
// Decode copies nothing: strings and body of a Command, and so those of headers that were parsed from it, are views into
// the frame. On a server they are valid until the request's handler returns; after that the next frames overwrite them.
// What is kept longer must be cloned. A server with Poison set overwrites them at once, so that tests find offenders.
//
// # Java's output
//
// Encoder prints what a Java server prints, byte for byte: names sorted, null left out, fastjson 1.2's escapes, and
// extFields in the order of the java.util.HashMap that the release used.
package protocol

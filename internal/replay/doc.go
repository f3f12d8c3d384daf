// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package replay sends recorded requests to a server and compares its answers with the recorded ones. It speaks the
// protocol with a small client of its own, so that a mistake in the server's codec cannot hide itself.
//
// A recording is a file of steps, one JSON object a line:
//
//	id, note        name and purpose
//	to, conn        server ("broker" unless named) and connection name; the same name is the same connection
//	op              absent: a request; close, pushed, answer, await as below
//	code, extFields, version, language, flag, remark          the request's header
//	propertiesOf    {field: {property: value}}, joined into that extField
//	bodyText, bodyHex, bodyRepeat [text,n], batch [{bodyText,properties,flag}]     the request's body
//	messages        false: do not read an answer's body as stored messages
//	waitMs          pause before the step
//	timeoutMs       how long to wait (5000)
//	async           do not wait for the answer; a step with op await and ref (this id) does later
//	save, derive    {name: path in the answer}; {name: saved message id} → its commit log offset
//	expect          the recorded answer
//	volatile        paths that must be there, whatever their value
//	unordered       arrays that are sets
//	codeOnly, noCheck    compare the code only, or nothing
//
// op pushed collects the requests that the server sent (onlyCode, first with timeoutMs), answer answers them. ${name},
// ${name+1}, ${now}, ${now-5000} are replaced in all strings of a step.
package replay

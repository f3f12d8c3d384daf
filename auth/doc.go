// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package auth knows who may do what: users and their permissions as RocketMQ 5.x keeps them ("ACL 2.0"), and the
// signatures by which requests prove who sent them. The access rules of 4.x ("ACL 1.0") are in package plain.
//
//	tables, err := auth.Open(dir)              // users.json and acls.json of the directory
//	user, err := tables.Authenticate(&request) // whose signature is it?
//	err = tables.Authorize(user, needs, ip)    // may they do this to these topics, groups, cluster?
//
// A request names its user in the field AccessKey and proves it by the field Signature (see Sign). A user is SUPER, who
// may do everything, or NORMAL, who may do what the entries of their Acl allow. An entry allows or denies some Actions
// on the Resources that a pattern matches, for all or some source addresses. The most special of the entries that match
// decides, see Decide; without any the answer is no.
//
// Everything fails closed: whoever is unknown, disabled, or not named is refused. Secrets are compared in constant time.
// Changes hold for the next request, on all connections: nothing is cached.
package auth

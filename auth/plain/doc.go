// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package plain knows who may do what by the rules of RocketMQ 4.x ("ACL 1.0"): accounts in YAML files.
//
//	files, err := plain.Open(plain.Options{Default: home + "/conf/plain_acl.yml", Dir: home + "/conf/acl"})
//	go files.Run(ctx) // notices what an operator changes
//
//	pass, err := files.Rules().Authenticate(&request, ip, false) // whose request is it?
//	err = pass.Check(request.Code, needs, false)                 // may they do this?
//
// A file:
//
//	globalWhiteRemoteAddresses: [10.10.103.*, 192.168.0.*]  # may do everything, unsigned
//	accounts:
//	- accessKey: RocketMQ             # 7 characters at least, as the secret key
//	  secretKey: '12345678'
//	  whiteRemoteAddress: 10.1.1.{1,2}  # need not sign as this account, nor be allowed
//	  admin: false
//	  defaultTopicPerm: DENY          # of topics that topicPerms does not name; DENY, PUB, SUB, PUB|SUB
//	  defaultGroupPerm: SUB
//	  topicPerms: [topicA=DENY, topicB=PUB|SUB]
//	  groupPerms: [groupA=DENY]
//	dataVersion: [{counter: 1, timestamp: 1700000000000}]   # counts the changes made by requests
//
// All files together are the rules; an access key counts in the first file that has it, the one of the default path being
// the last. Everything fails closed: whoever is unknown is refused, and a file that cannot be understood ends a start and
// leaves the rules as they are later.
package plain

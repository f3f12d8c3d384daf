// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package fastjson writes and reads JSON as the Java library fastjson 1.x does, which is not quite JSON:
//
//	{"brokerAddrs":{0:"10.0.0.1:10911"},"brokerName":"a"}            integer keys stand without quotes
//	{"offsetTable":{{"brokerName":"a","queueId":0,"topic":"t"}:7}}   an object may be a key
//	{"consumerDataSet":[{…},{"$ref":"$.consumerDataSet[0]"}]}        a repeated object is a reference
//
// Go structs describe the text with tags, `fastjson:"name,option…"`, or `json:"name"` where there are no options:
//
//	empty   a nil list or map is printed as [] or {} (it is left out otherwise)
//	set     a Java Set or array: duplicates are dropped when read, and Pretty keeps it on one line
//	alt=X   a second name that is accepted when read
//	v5 …    any other word is a mark, which Options.Omit can leave out
//
// What is printed: fields sorted by name; empty strings and enums, nil pointers, nil lists and nil maps are left out,
// numbers and booleans never. A struct {V T; Set bool} is a value that may be absent. Types with EnumNames are enums.
// Map keeps the order of its entries.
//
// What is read: everything the Java reader takes, that is comments, single quotes, names without quotes, surplus commas,
// numbers and booleans as strings, names in any case and with underscores, enums in any case or as ordinals, keys of
// integer or object maps plain or inside a string, and $ref. Decoding starts with SetDefaults of the type; an explicit
// null keeps the default of numbers and booleans. Input cannot make the reader panic, recurse deeply or take memory
// out of proportion to its length.
package fastjson

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"slices"
	"strings"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// What Java's tools ask of brokers that keep something in RocksDB, answered as by a Java broker that does not (5.x):
//
//	354 CHECK_ROCKSDB_CQ_WRITE_PROGRESS  the check is not done
//	355 EXPORT_ROCKSDB_CONFIG_TO_JSON    the files are JSON already
//	200056 POP_ROLLBACK                  there is nothing to move from RocksDB to the file store

// progressInvalid is the state "not applicable" of 354.
const progressInvalid = 2

type rocksProgress struct {
	CheckStatus int32 `fastjson:"checkStatus"`
}

func rocksCheck(*remoting.Request) (*protocol.Response, error) {
	return &protocol.Response{
		Body: fastjson.Marshal(&rocksProgress{CheckStatus: progressInvalid}), Remark: protocol.Some(notSet),
	}, nil
}

// rocksTables are the names that 355 knows, in lower case.
var rocksTables = []string{"topics", "subscriptiongroups", "consumeroffsets"}

func rocksExport(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.ExportRocksDBConfigToJsonRequestHeader](r)
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(h.ConfigType.V, ";") {
		if name != "" && !slices.Contains(rocksTables, strings.ToLower(name)) {
			return nil, protocol.Errorf(protocol.RespSystemError, "Unknown config type: %s", name)
		}
	}
	return &protocol.Response{Remark: protocol.Some("export done.")}, nil
}

func popRollback(*remoting.Request) (*protocol.Response, error) {
	return &protocol.Response{Remark: protocol.Some(notSet)}, nil
}

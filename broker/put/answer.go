// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package put

import (
	"fmt"

	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

const permWrite = 2

// Answer is the refusal of a put that stored nothing, as a send is answered. It is nil for every outcome that stored
// the message; Code tells these apart.
func (p *Pipeline) Answer(s store.PutStatus) error {
	switch s {
	case store.PutOK, store.FlushDiskTimeout, store.FlushSlaveTimeout, store.SlaveNotAvailable:
		return nil
	case store.InSyncReplicasNotEnough:
		return protocol.Errorf(protocol.RespSystemError, "in-sync replicas not enough")
	case store.CreateMappedFileFailed:
		return protocol.Errorf(protocol.RespSystemError, "create mapped file failed, server is busy or broken.")
	case store.MessageIllegal, store.PropertiesSizeExceeded:
		return p.illegal()
	case store.ServiceNotAvailable:
		var log, queue, index float64
		if p.DiskUsage != nil {
			log, queue, index = p.DiskUsage()
		}
		return protocol.Errorf(protocol.RespServiceNotAvailable,
			"service not available now. It may be caused by one of the following reasons: the broker's disk is full "+
				"[CL: %5.2f CQ: %5.2f INDEX: %5.2f], messages are put to the slave, message store has been shut down, etc.",
			log, queue, index)
	case store.OSPageCacheBusy:
		return protocol.Errorf(protocol.RespSystemBusy, "[PC_SYNCHRONIZED]broker busy, start flow control for a while")
	case store.LMQQueueNumExceeded:
		return protocol.Errorf(protocol.RespSystemError,
			"[LMQ_CONSUME_QUEUE_NUM_EXCEEDED]broker config enableLmq and enableMultiDispatch, lmq consumeQueue num exceed "+
				"maxLmqConsumeQueueNum config num, default limit 2w.")
	}
	return protocol.Errorf(protocol.RespSystemError, "UNKNOWN_ERROR")
}

func (p *Pipeline) illegal() error {
	return protocol.Errorf(protocol.RespMessageIllegal,
		"the message is illegal, maybe msg body or properties length not matched. msg body length limit %dB, "+
			"msg properties length limit 32KB.", p.Config().Store.MaxMessageSize)
}

// Code is the response code of a put that stored its message.
func Code(s store.PutStatus) int32 {
	switch s {
	case store.FlushDiskTimeout:
		return protocol.RespFlushDiskTimeout
	case store.FlushSlaveTimeout:
		return protocol.RespFlushSlaveTimeout
	case store.SlaveNotAvailable:
		return protocol.RespSlaveNotAvailable
	}
	return protocol.RespSuccess
}

var statusNames = [...]string{
	store.PutOK:                   "PUT_OK",
	store.FlushDiskTimeout:        "FLUSH_DISK_TIMEOUT",
	store.FlushSlaveTimeout:       "FLUSH_SLAVE_TIMEOUT",
	store.SlaveNotAvailable:       "SLAVE_NOT_AVAILABLE",
	store.ServiceNotAvailable:     "SERVICE_NOT_AVAILABLE",
	store.CreateMappedFileFailed:  "CREATE_MAPPED_FILE_FAILED",
	store.MessageIllegal:          "MESSAGE_ILLEGAL",
	store.PropertiesSizeExceeded:  "PROPERTIES_SIZE_EXCEEDED",
	store.OSPageCacheBusy:         "OS_PAGE_CACHE_BUSY",
	store.InSyncReplicasNotEnough: "IN_SYNC_REPLICAS_NOT_ENOUGH",
	store.LMQQueueNumExceeded:     "LMQ_CONSUME_QUEUE_NUM_EXCEEDED",
	store.UnknownError:            "UNKNOWN_ERROR",
}

// StatusName is Java's name of a put status, which a failed send-back answers.
func StatusName(s store.PutStatus) string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprint(s)
}

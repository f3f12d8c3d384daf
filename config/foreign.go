// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import "strings"

// Owners of keys, as warnings name them.
const (
	ownerController = "the controller"
	ownerNamesrv    = "the name server"
	ownerBroker     = "the broker"
)

// foreign names the owners of keys that are right in some file, but not necessarily in this one.
func foreign() map[string]string {
	owners := map[string]string{}
	for name := range strings.FieldsSeq(keysOf540) {
		owners[name] = "5.4.0"
	}
	for name := range strings.FieldsSeq("brokerContainerIP brokerConfigPaths updateNamesrvAddrInterval") {
		owners[name] = "broker containers"
	}
	for name := range strings.FieldsSeq(`jRaftGroupId jRaftServerId jRaftInitConf jRaftControllerRPCAddr
		jRaftElectionTimeoutMs jRaftSnapshotIntervalSecs jRaftScanWaitTimeoutMs`) {
		owners[name] = ownerController
	}
	for _, o := range []object{
		{name: ownerController, value: &ControllerConfig{}},
		{name: ownerNamesrv, value: &NamesrvConfig{}},
		{name: ownerBroker, value: &BrokerConfig{}},
		{name: ownerBroker, value: &MessageStoreConfig{}},
	} {
		for _, k := range keysOf(0, o) {
			owners[k.SetName] = o.name
		}
	}
	delete(owners, "")
	return owners
}

// keysOf540 are the keys that came with 5.4.0, which this server does not have.
const keysOf540 = `
		popPollingMapExpireTimeSeconds popFromRetryProbabilityForPriority priorityOrderAsc
		popReviveConcurrency useSeparateRetryQueue enableRemotingMetrics enableMessageStoreMetrics
		enablePopMetrics enableConnectionMetrics enableTransactionMetrics enableStatsMetrics
		enableRequestMetrics enableLagAndDlqMetrics enableSplitMetadata splitMetadataSize
		useSingleRocksDBForAllConfigs timerWheelSnapshotFlush timerWheelSnapshotIntervalMs
		commitLogRecoverMaxNum timerRocksDBEnable timerRocksDBStopScan timerRocksDBPrecisionMs
		timerRocksDBRollMaxTps timerRocksDBTimeExpiredMaxTps timerRocksDBRollIntervalHours
		timerRocksDBRollRangeHours timerRecallToTimeWheelEnable timerRecallToTimelineEnable
		transRocksDBEnable transWriteOriginTransHalfEnable indexRocksDBEnable maxRocksDBIndexQueryDays
		indexFileWriteEnable indexFileReadEnable writeWithoutMmap enableRunningFlagsInFlush
		combineCQLoadingCQTypes combineCQPreferCQType combineAssignOffsetCQType combineCQEnableCheckSelf
		combineCQMaxExtraSearchCommitLogFiles enableAcceleratedRecovery sharedByteBufferNum
		enableLogConsumeQueueRepeatedlyBuildWhenRecover appendTopicForTimerDeleteKey
	`

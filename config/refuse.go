// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// refusal is a setting with which the process does not start, because what it asks for would silently not hold.
type refusal struct {
	key, value string
	why        string
	remedy     string // empty: to remove the key
	code       int    // 0: ExitBadValue
}

func (r *refusal) String() string { return fmt.Sprintf("%s=%s: %s", r.key, r.value, r.why) }

// refuseBroker lists what stops a broker: access rules first of all. compatVersion plays no part in it.
func refuseBroker(v *BrokerValues) []refusal {
	if v.Store.EnableDLegerCommitLog && v.EnableControllerMode {
		return []refusal{{
			key: "enableControllerMode", value: "true", code: ExitConflict,
			why:    "enableControllerMode and enableDLegerCommitLog cannot both be true",
			remedy: "Remove one of them to start the broker.",
		}}
	}
	var list []refusal
	rule := func(on bool, key, value, why, remedy string) {
		if on {
			list = append(list, refusal{key: key, value: value, why: why, remedy: remedy})
		}
	}
	const noHome, noHomeRemedy = "the access rules are below ROCKETMQ_HOME, which is not set", "Set it to start the broker."
	rule(v.AclEnable && v.PlainACLFile() == "", "aclEnable", "true", noHome, noHomeRemedy)
	rule(v.Auth.MigrateAuthFromV1Enabled && v.PlainACLFile() == "", "migrateAuthFromV1Enabled", "true", noHome, noHomeRemedy)
	rule(v.AclEnable && !v.aclAtStart, "aclEnable", "true", "the access rules are read at a start: restart the broker with it", "")
	rule(v.Store.EnableDLegerCommitLog, "enableDLegerCommitLog", "true",
		"the DLedger commit log has a record layout of its own, which this server does not write", "")
	rule(!strings.EqualFold(v.Store.StoreType, "default"), "storeType", v.Store.StoreType,
		"only storeType=default (files) is supported", "")
	rule(v.EnableControllerMode, "enableControllerMode", "true", "controllers are not supported by this version", "")
	list = append(list, refuseTLS(&v.Own)...)
	if _, err := v.Store.DelayLevels(); err != nil {
		rule(true, "messageDelayLevel", v.Store.MessageDelayLevel, err.Error(), "Correct it to start the broker.")
	}
	return list
}

// refuseBrokerUpdate lists what a hot update of a broker must not change: who it is decides what is open and runs.
func refuseBrokerUpdate(old, next *BrokerValues) []refusal {
	const why = "holds from the start to the end of a broker: write it into the file and restart"
	switch was, is := old.Store.BrokerRole, next.Store.BrokerRole; {
	case was != is && (was == Slave || is == Slave):
		return []refusal{{key: "brokerRole", value: string(is), why: why}}
	case old.BrokerID != next.BrokerID:
		return []refusal{{key: "brokerId", value: strconv.FormatInt(next.BrokerID, 10), why: why}}
	}
	return nil
}

func refuseNamesrv(v *NamesrvValues) []refusal {
	return refuseTLS(&v.Own)
}

func refuseController(v *ControllerValues) []refusal {
	list := refuseTLS(&v.Own)
	if !strings.EqualFold(v.ControllerType, "DLedger") {
		list = append(list, refusal{
			key: "controllerType", value: v.ControllerType,
			why:    "only the keys of DLedger are read, controllerDLegerPeers and controllerDLegerSelfId",
			remedy: "Name the controllers there to start one.",
		})
	}
	return list
}

// refuseTLS lists the files of the server's own certificate that cannot be read. Whether they fit shows when they are loaded.
func refuseTLS(v *OwnConfig) (list []refusal) {
	if v.TLSTestModeEnable || strings.EqualFold(v.TLSServerMode, "disabled") {
		return nil
	}
	for _, f := range []struct{ key, file string }{{"tls.server.keyPath", v.TLSServerKeyPath}, {"tls.server.certPath", v.TLSServerCertPath}} {
		why := "tls.test.mode.enable=false needs it"
		if f.file != "" {
			file, err := os.Open(f.file)
			if err == nil {
				file.Close()
				continue
			}
			why = err.Error()
		}
		list = append(list, refusal{key: f.key, value: f.file, why: why, remedy: "Correct it to start the server."})
	}
	return list
}

// startError makes one error of the refusals of a start, a line for each and then what to do; nil if there are none.
func startError(role string, list []refusal) *ExitError {
	if len(list) == 0 {
		return nil
	}
	e := &ExitError{Code: ExitBadValue}
	var lines, remedies []string
	removable := 0
	for i := range list {
		r := &list[i]
		e.Keys = append(e.Keys, r.key)
		lines = append(lines, r.String()+".")
		if r.remedy == "" {
			removable++
		} else {
			remedies = append(remedies, r.remedy)
		}
		if r.code != 0 {
			e.Code = r.code
		}
	}
	switch {
	case removable == 1 && len(list) == 1:
		remedies = append(remedies, fmt.Sprintf("Remove the key to start the %s.", role))
	case removable > 0 && removable == len(list):
		remedies = append(remedies, fmt.Sprintf("Remove these keys to start the %s.", role))
	case removable > 0:
		remedies = append(remedies, "Remove the other keys.")
	}
	separator := "\n"
	if len(list) == 1 {
		separator = " "
	}
	e.Text = strings.Join(lines, "\n") + separator + strings.Join(remedies, " ")
	return e
}

// updateError is the refusal of a hot update; nil if there is none.
func updateError(list []refusal) error {
	if len(list) == 0 {
		return nil
	}
	return &ExitError{Code: ExitBadValue, Text: list[0].String(), Keys: []string{list[0].key}}
}

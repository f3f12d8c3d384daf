// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"fmt"
	"strings"
)

// refuseBroker stops a broker whose file asks for something that would silently not hold: access rules first of all.
// compatVersion plays no part in it.
func refuseBroker(v *BrokerValues) error {
	switch {
	case v.Store.EnableDLegerCommitLog && v.EnableControllerMode:
		return &ExitError{ExitConflict, "enableControllerMode and enableDLegerCommitLog cannot both be true"}
	}
	rules := []struct {
		on  bool
		key string
		why string
	}{
		{v.AclEnable, "aclEnable=true", "access control is not enforced by this version; every client would be let in"},
		{v.Auth.AuthenticationEnabled, "authenticationEnabled=true", "authentication is not enforced by this version; every client would be let in"},
		{v.Auth.AuthorizationEnabled, "authorizationEnabled=true", "authorization is not enforced by this version; every client would be let in"},
		{v.Auth.MigrateAuthFromV1Enabled, "migrateAuthFromV1Enabled=true", "access rules are not enforced by this version"},
		{v.Store.EnableDLegerCommitLog, "enableDLegerCommitLog=true", "the DLedger commit log has a record layout of its own, which this server does not write"},
		{!strings.EqualFold(v.Store.StoreType, "default"), "storeType=" + v.Store.StoreType, "only storeType=default (files) is supported"},
		{v.EnableControllerMode, "enableControllerMode=true", "controllers are not supported by this version"},
		{v.Store.BrokerRole == Slave, "brokerRole=SLAVE", "replication is not there yet"},
	}
	for _, r := range rules {
		if r.on {
			return &ExitError{ExitBadValue, fmt.Sprintf("%s: %s. Remove the key to start the broker.", r.key, r.why)}
		}
	}
	if _, err := v.Store.DelayLevels(); err != nil {
		return &ExitError{ExitBadValue, err.Error()}
	}
	return nil
}

func refuseNamesrv(v *NamesrvValues) error {
	if v.EnableControllerInNamesrv {
		return &ExitError{ExitBadValue, "enableControllerInNamesrv=true: controllers are not supported by this version. Remove the key to start the name server."}
	}
	return nil
}

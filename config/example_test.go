// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config_test

import (
	"fmt"

	"rocketmq-go/config"
)

func ExampleLoadBroker() {
	cfg, warnings, err := config.LoadBroker(config.Options{Set: map[string]string{
		"brokerName": "broker-a", "fileReservedTim": "48",
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, w := range warnings {
		fmt.Println(w)
	}
	cfg.Adjust(func(v *config.BrokerValues) { v.Store.FileReservedTime = 48 })
	v := cfg.Load()
	fmt.Println(v.BrokerName, v.Server.ListenPort, v.Store.FileReservedTime)
	// Output:
	// configuration key fileReservedTim=48: unknown key, without effect; did you mean fileReservedTime?
	// broker-a 10911 48
}

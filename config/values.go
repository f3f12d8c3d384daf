// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

// The versions compatVersion may name.
const (
	V533 = "5.3.3"
	V497 = "4.9.7"
)

// AutoIP as the value of brokerIP1 makes the broker name, to each client, the local address of the connection that
// asks.
const AutoIP = "auto"

// BrokerValues are the values of all keys of a broker at one moment. They are never changed after they were published:
// read them from Config.Load, once per operation.
type BrokerValues struct {
	BrokerIdentity
	BrokerConfig
	Store  MessageStoreConfig
	Server NettyServerConfig
	Client NettyClientConfig
	Auth   AuthConfig
	Own    OwnConfig

	ipAtStart, ipReason string
	aclAtStart          bool // aclEnable
}

// NamesrvValues are the values of all keys of a name server at one moment; see BrokerValues.
type NamesrvValues struct {
	NamesrvConfig
	Server NettyServerConfig
	Own    OwnConfig
}

// ControllerValues are the values of all keys of a controller at one moment; see BrokerValues.
type ControllerValues struct {
	ControllerConfig
	Server NettyServerConfig
	Own    OwnConfig
}

// objects lists the configuration objects in Java's order of registration, in which later ones win.
func (v *BrokerValues) objects() []object {
	return []object{
		{"BrokerConfig", &v.BrokerIdentity, true, false},
		{"BrokerConfig", &v.BrokerConfig, true, true},
		{"NettyServerConfig", &v.Server, true, true},
		{"NettyClientConfig", &v.Client, true, true},
		{"MessageStoreConfig", &v.Store, true, true},
		{"AuthConfig", &v.Auth, false, false},
		{"OwnConfig", &v.Own, false, false},
	}
}

func (v *NamesrvValues) objects() []object {
	return []object{
		{"NamesrvConfig", &v.NamesrvConfig, true, true},
		{"NettyServerConfig", &v.Server, true, true},
		{"OwnConfig", &v.Own, false, false},
	}
}

func (v *ControllerValues) objects() []object {
	return []object{
		{"ControllerConfig", &v.ControllerConfig, true, true},
		{"NettyServerConfig", &v.Server, true, true},
		{"OwnConfig", &v.Own, false, false},
	}
}

func (v *BrokerValues) own() *OwnConfig     { return &v.Own }
func (v *NamesrvValues) own() *OwnConfig    { return &v.Own }
func (v *ControllerValues) own() *OwnConfig { return &v.Own }

// AdvertisedIP is the address that goes into routes and storeHost, and why it was chosen. It is AutoIP when every
// client is to see the address it connected to.
func (v *BrokerValues) AdvertisedIP() (ip, why string) {
	if v.BrokerIP1 != v.ipAtStart {
		return v.BrokerIP1, "set by brokerIP1"
	}
	return v.BrokerIP1, v.ipReason
}

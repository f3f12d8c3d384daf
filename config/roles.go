// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
)

// Ports the launchers preset.
const (
	BrokerPort     = 10911
	NamesrvPort    = 9876
	ControllerPort = 19876 // shown only: the one of controllerDLegerPeers is used
)

func brokerRole() role[BrokerValues] {
	return role[BrokerValues]{
		name:    "broker",
		objects: (*BrokerValues).objects,
		own:     (*BrokerValues).own,
		preset: func(v *BrokerValues) {
			v.Server.ListenPort = BrokerPort
			v.Store.HaListenPort = 0
		},
		normalise: (*BrokerValues).normalise,
		finish:    finishBroker,
		construct: (*BrokerValues).sizeBitMaps,
		refuse:    refuseBroker,
		fixed:     refuseBrokerUpdate,
		storeFile: func(v *BrokerValues) string {
			return filepath.Join(v.Store.StorePathRootDir, "config", "broker.properties")
		},
		blocked:   []string{"brokerConfigPath", "rocketmqHome", "configBlackList"},
		blackList: func(v *BrokerValues) string { return v.ConfigBlackList },
	}
}

func namesrvRole() role[NamesrvValues] {
	return role[NamesrvValues]{
		name:      "name server",
		objects:   (*NamesrvValues).objects,
		own:       (*NamesrvValues).own,
		preset:    func(v *NamesrvValues) { v.Server.ListenPort = NamesrvPort },
		normalise: func(*NamesrvValues) {},
		construct: func(*NamesrvValues) {},
		finish: func(v *NamesrvValues, l *loader) error {
			if l.options.File != "" {
				v.ConfigStorePath = l.options.File
			}
			return checkPort(v.Server.ListenPort, 0)
		},
		refuse:    refuseNamesrv,
		fixed:     func(_, _ *NamesrvValues) []refusal { return nil },
		storeFile: func(v *NamesrvValues) string { return v.ConfigStorePath },
		blocked:   []string{"configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome"},
		blackList: func(v *NamesrvValues) string { return v.ConfigBlackList },
		remark497: "Can not update config path",
		shares: func(given map[string]string) string {
			if trim(given["enableControllerInNamesrv"]) == "true" {
				return ownerController
			}
			return ""
		},
	}
}

func controllerRole() role[ControllerValues] {
	return role[ControllerValues]{
		name:      "controller",
		objects:   (*ControllerValues).objects,
		own:       (*ControllerValues).own,
		preset:    func(v *ControllerValues) { v.Server.ListenPort = ControllerPort },
		normalise: func(*ControllerValues) {},
		construct: func(*ControllerValues) {},
		finish: func(v *ControllerValues, l *loader) error {
			if l.options.File != "" {
				v.ConfigStorePath = l.options.File
			}
			if v.ControllerStorePath == "" {
				v.ControllerStorePath = filepath.Join(l.host.home, "DledgerController")
			}
			return nil
		},
		refuse:    refuseController,
		fixed:     func(_, _ *ControllerValues) []refusal { return nil },
		storeFile: func(v *ControllerValues) string { return v.ConfigStorePath },
		blocked:   []string{"configBlackList", "configStorePath", "rocketmqHome"},
		blackList: func(v *ControllerValues) string { return v.ConfigBlackList },
		shares:    func(map[string]string) string { return ownerNamesrv }, // its file may be the same
	}
}

// finishBroker does what Java's launcher does between reading the file and building the broker.
func finishBroker(v *BrokerValues, l *loader) error {
	if l.options.NamesrvAddr != "" {
		v.NamesrvAddr = l.options.NamesrvAddr
	}
	if err := checkNamesrvAddr(v.NamesrvAddr); err != nil {
		return err
	}
	if err := checkPort(v.Server.ListenPort, 2); err != nil {
		return err
	}
	v.ipReason = "set by brokerIP1"
	if _, given := l.given["brokerIP1"]; !given || v.BrokerIP1 == "" {
		v.BrokerIP1, v.ipReason = l.host.address, l.ipReason
	}
	v.ipAtStart, v.aclAtStart = v.BrokerIP1, v.AclEnable
	if v.Store.HaListenPort <= 0 && v.Server.ListenPort > 0 {
		v.Store.HaListenPort = v.Server.ListenPort + 1
	}
	v.checkMetrics(l)
	if v.Store.BrokerRole == SyncMaster && v.Own.CompatVersion != V497 && v.Store.InSyncReplicas < 2 {
		l.warn("brokerRole", string(SyncMaster), "no send waits for a slave, since inSyncReplicas=%d counts the master too (as in "+
			"5.x; in 4.9 one slave was waited for). Set inSyncReplicas=2 to wait for one", v.Store.InSyncReplicas)
	}
	v.checkActing(l)
	switch {
	case v.Store.EnableDLegerCommitLog:
		v.BrokerID = -1
	case v.EnableControllerMode:
	case v.Store.BrokerRole != Slave:
		if v.BrokerID != 0 {
			l.warn("brokerId", strconv.FormatInt(v.BrokerID, 10), "a master has brokerId 0, which is used (brokerRole is %s)", v.Store.BrokerRole)
		}
		v.BrokerID = 0
	case v.BrokerID <= 0:
		return &ExitError{
			ExitBadValue, fmt.Sprintf("Slave's brokerId must be > 0: brokerRole=SLAVE needs brokerId=1 or more, and here it is %d, the master's.",
				v.BrokerID), []string{"brokerRole", "brokerId"},
		}
	default:
		v.Store.AccessMessageInMemoryMaxRatio -= 10 // as in Java: a slave has its memory for what is read late
	}
	return nil
}

// checkActing warns where enableSlaveActingMaster does less than its user may expect.
func (v *BrokerValues) checkActing(l *loader) {
	if !v.EnableSlaveActingMaster || v.Own.CompatVersion == V497 {
		return
	}
	const key, value = "enableSlaveActingMaster", "true"
	if v.Store.TotalReplicas <= 1 {
		l.warn(key, value, "a master that returns does not take over what its slave has come to: set totalReplicas to the number of "+
			"brokers of this name (it is %d)", v.Store.TotalReplicas)
	}
	if v.Store.BrokerRole == Slave && !v.SlaveReadEnable {
		l.warn(key, value, "no consumer reads from this slave when it acts as master, since slaves refuse pulls: set slaveReadEnable=true")
	}
	if v.BrokerIP1 == AutoIP || v.BrokerIP2 == AutoIP {
		l.warn(key, value, "brokers of one name have to tell each other where they are: set brokerIP1 and brokerIP2")
	}
}

// checkPort checks a listenPort; below is how many ports below it are used as well.
func checkPort(port, below int) error {
	text := fmt.Sprintf("listenPort=%d: port out of range", port)
	switch {
	case port < 0 || port > 65535:
	case port > 0 && port <= below:
		text += fmt.Sprintf(": the fast port would be %d", port-below)
	default:
		return nil
	}
	return &ExitError{ExitUnreadable, text, []string{"listenPort"}}
}

// checkNamesrvAddr reports whether every part of a name server list is host:port.
func checkNamesrvAddr(list string) error {
	for _, address := range strings.Split(list, ";") {
		if list == "" {
			continue
		}
		_, port, err := net.SplitHostPort(trim(address))
		if n, bad := strconv.Atoi(port); err == nil && bad == nil && n >= 0 && n <= 65535 {
			continue
		}
		return &ExitError{ExitBadValue, fmt.Sprintf(
			"The Name Server Address[%s] illegal, please set it as follows, \"127.0.0.1:9876;192.168.0.1:9876\"", list), []string{"namesrvAddr"}}
	}
	return nil
}

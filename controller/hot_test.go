// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package controller

import (
	"fmt"
	"net"
	"testing"
	"time"

	"rocketmq-go/config"
	"rocketmq-go/remoting/protocol"
)

// hotKey proves that a key takes effect while the controller runs: what see tells is before at first, and after some time
// after the key was set by the request: an interval that has begun ends.
type hotKey struct {
	with, set     string // key=value
	before, after string
	// see is given how long to wait for what may not come.
	see func(g *group, within time.Duration) string
}

const (
	longEnough = 20 * time.Second       // for what has to come
	short      = 300 * time.Millisecond // for what has to stay away, which is looked at again and again
	looks      = 20
)

// happens tells whether something does within a time.
func happens(within time.Duration, done func() bool) string {
	for began := time.Now(); time.Since(began) < within; time.Sleep(5 * time.Millisecond) {
		if done() {
			return "true"
		}
	}
	return "false"
}

// two are two brokers of b, the second one its master.
func (g *group) two() (other, master *broker) {
	other, master = g.join(0, 1, 100), g.join(0, 1, 100)
	g.elect(0, master, fields{"designateElect": "true"})
	return other, master
}

func (l *liveness) forget(id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.beats, brokerKey{"C", "b", id})
}

var hotKeys = map[string]hotKey{
	"scanNotActiveBrokerInterval": {
		with: "scanNotActiveBrokerInterval=20", set: "scanNotActiveBrokerInterval=3600000", before: "true", after: "false",
		see: func(g *group, within time.Duration) string {
			silent := brokerKey{"C", "b", g.join(0, 1, 100).id}
			live := g.members[0].live
			live.mu.Lock()
			live.beats[silent].at = time.Time{}
			live.mu.Unlock()
			return happens(within, func() bool {
				live.mu.Lock()
				defer live.mu.Unlock()
				return live.beats[silent] == nil
			})
		},
	},
	"scanInactiveMasterInterval": {
		with: "scanInactiveMasterInterval=20\nenableElectUncleanMaster=true", set: "scanInactiveMasterInterval=3600000", before: "true", after: "false",
		see: func(g *group, within time.Duration) string {
			g.members[0].leadsSince.Store(0)
			g.two()
			was, id := g.master(0), int64(0)
			fmt.Sscan(was, &id)
			g.members[0].live.forget(id)
			return happens(within, func() bool { return g.master(0) != was })
		},
	},
	"enableElectUncleanMaster": {set: "enableElectUncleanMaster=true", before: "2012", after: "0", see: func(g *group, _ time.Duration) string {
		other, master := g.two()
		g.members[0].live.forget(master.id)
		return fmt.Sprint(g.elect(0, other, fields{"designateElect": "true"}).Code)
	}},
	"notifyBrokerRoleChanged": {set: "notifyBrokerRoleChanged=false", before: "true", after: "false", see: func(g *group, within time.Duration) string {
		_, master := g.two()
		_ = master.told.(*net.TCPListener).SetDeadline(time.Now().Add(within))
		conn, err := master.told.Accept()
		if err == nil {
			conn.Close()
		}
		return fmt.Sprint(err == nil)
	}},
}

// needFailures are keys that show only while controllers lose each other at the right moment. Each is asked of config.Load in
// the one place that uses it.
var needFailures = map[string]bool{"electMasterMaxRetryCount": true, "isProcessReadEvent": true}

// TestHotKeys goes through the keys of a controller that conf/KEYS.md says to work at once.
func TestHotKeys(t *testing.T) {
	cfg, _, err := config.LoadController(config.Options{Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	left := len(hotKeys)
	for _, k := range cfg.Keys() {
		proof, ok := hotKeys[k.Name]
		switch {
		case !k.Hot() || k.Object == "OwnConfig": // those of the process: cmd/rocketmq, and of brokers
			continue
		case needFailures[k.Name]:
			continue
		case !ok:
			t.Errorf("%s is said to take effect while the controller runs, and no test proves it", k.Name)
			continue
		}
		left--
		t.Run(k.Name, func(t *testing.T) {
			g := newGroup(t, 1, proof.with)
			g.leader()
			if got := proof.see(g, longEnough); got != proof.before {
				t.Errorf("at first: %q, want %q", got, proof.before)
			}
			g.expect(0, protocol.ReqUpdateControllerConfig, nil, proof.set, 0, "")
			got := ""
			for n := 0; n < looks && got != proof.after; n++ {
				got = proof.see(g, short)
			}
			if got != proof.after {
				t.Errorf("with %s: %q, want %q", proof.set, got, proof.after)
			}
		})
	}
	if left != 0 {
		t.Errorf("%d entries are of keys that are not hot", left)
	}
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package controller

import (
	"cmp"
	"maps"
	"slices"

	"rocketmq-go/remoting/protocol"
)

// choose finds the next master of a name; 0 if nobody can be. Only who is alive and in sync can, or with unclean whoever is
// alive if there is no such broker. preferred is the only one that may be chosen; 0: anybody.
//
// The present master stays if he can. Of the others the one with the longest log is chosen, and of equal ones that of the
// smallest priority.
func (c *Controller) choose(name string, r *replicas, preferred int64, unclean bool) int64 {
	candidates := c.living(name, r, r.InSync)
	if len(candidates) == 0 && unclean {
		candidates = c.living(name, r, slices.Collect(maps.Keys(r.Brokers)))
	}
	is := func(id int64) func(candidate) bool { return func(c candidate) bool { return c.id == id } }
	switch {
	case r.Master != 0 && (preferred == 0 || preferred == r.Master) && slices.ContainsFunc(candidates, is(r.Master)):
		return r.Master
	case preferred != 0 && !slices.ContainsFunc(candidates, is(preferred)):
		return 0
	case preferred != 0:
		return preferred
	case len(candidates) == 0:
		return 0
	}
	return slices.MinFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.epoch, a.epoch), cmp.Compare(b.maxOffset, a.maxOffset), cmp.Compare(a.priority, b.priority), cmp.Compare(a.id, b.id))
	}).id
}

type candidate struct {
	id int64
	beat
}

func (c *Controller) living(name string, r *replicas, ids []int64) (list []candidate) {
	for _, id := range ids {
		if _, known := r.Brokers[id]; !known {
			continue
		}
		if b, ok := c.live.get(r.Cluster, name, id); ok {
			list = append(list, candidate{id, b})
		}
	}
	return list
}

// elect makes a broker the master: the one that asks if there never was one, else the one that choose finds. Codes of
// errors are those of 1002; 2011 comes with the master that there is. asker is 0 for the controller itself, which is noted
// if there is no master any more.
func (c *Controller) elect(name string, asker int64, designated bool) (*replicas, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	r, ok := c.state.get(name)
	if !ok {
		return nil, protocol.Errorf(protocol.RespControllerBrokerNeedToBeRegistered, "Broker hasn't been registered")
	}
	id := int64(0)
	if r.Epoch == 0 && asker != 0 {
		if _, known := r.Brokers[asker]; !known {
			return nil, protocol.Errorf(protocol.RespControllerBrokerNeedToBeRegistered, "Broker hasn't been registered")
		}
		id = asker
	} else {
		preferred := int64(0)
		if designated {
			preferred = asker
		}
		id = c.choose(name, &r, preferred, c.cfg.Load().EnableElectUncleanMaster)
	}
	switch {
	case id != 0 && id == r.Master:
		return &r, protocol.Errorf(protocol.RespControllerMasterStillExist, "The old master %d is still alive, not need to elect new master for broker %s", id, name)
	case id == 0 && asker != 0:
		return nil, protocol.Errorf(protocol.RespControllerElectMasterFailed, "Failed to elect a new master")
	case id == 0 && r.Master == 0: // that is known
		return nil, errNoMaster
	}
	if err := c.propose(&event{Kind: masterElected, Name: name, ID: id}); err != nil {
		return nil, err
	}
	if r, ok = c.state.get(name); !ok || id == 0 {
		c.log.Warn("no broker can be the master", "broker", name, "epoch", r.Epoch)
		return nil, errNoMaster
	}
	c.log.Info("master elected", "broker", name, "id", id, "addr", r.Brokers[id].Address, "epoch", r.Epoch)
	c.tell(name, &r)
	return &r, nil
}

var errNoMaster = protocol.Errorf(protocol.RespControllerMasterNotAvailable, "Old master has down and failed to elect a new broker master")

// tell sends 1008 to all brokers of a name that are alive.
func (c *Controller) tell(name string, r *replicas) {
	if !c.cfg.Load().NotifyBrokerRoleChanged {
		return
	}
	for id := range r.Brokers {
		b, ok := c.live.get(r.Cluster, name, id)
		if !ok {
			continue
		}
		select {
		case c.notices <- notice{b.addr, r}:
		default:
			c.log.Warn("notice dropped: too many wait", "addr", b.addr)
		}
	}
}

// reelect looks for another master where the present one is gone and somebody else is alive. A controller that leads for a
// short time only may not have heard of brokers that are alive.
func (c *Controller) reelect() {
	if c.options.Now().UnixMilli()-c.leadsSince.Load() < defaultTimeout.Milliseconds() {
		return
	}
	for _, name := range c.state.names() {
		r, ok := c.state.get(name)
		if !ok || r.Epoch == 0 || r.Master != 0 && c.live.alive(r.Cluster, name, r.Master) {
			continue
		}
		if len(c.living(name, &r, slices.Collect(maps.Keys(r.Brokers)))) > 0 {
			c.electByItself(name)
		}
	}
}

// electByItself elects without being asked, a few times if the other controllers do not answer.
func (c *Controller) electByItself(name string) {
	for range max(c.cfg.Load().ElectMasterMaxRetryCount, 1) {
		_, err := c.elect(name, 0, false)
		if err == nil || err == errNoMaster || err == errNotLeader || c.ctx.Err() != nil {
			return
		}
		c.log.Warn("election failed", "broker", name, "err", err)
	}
}

// left looks for another master where one of these brokers was it.
func (c *Controller) left(gone []brokerKey, why string) {
	for _, key := range gone {
		c.log.Warn("broker is gone: "+why, "cluster", key.cluster, "broker", key.name, "id", key.id)
		if r, ok := c.state.get(key.name); ok && c.Leading() && r.Cluster == key.cluster && r.Master == key.id {
			c.electByItself(key.name)
		}
	}
}

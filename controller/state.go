// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package controller

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/hashicorp/raft"
)

// state is what the controllers agree on: who the brokers are, and who of those of a name is the master. It changes by
// events only, which were found to be right against the same state: only the leader proposes them, one at a time.
type state struct {
	mu   sync.RWMutex
	sets map[string]*replicas // by broker name
}

// replicas are the brokers of one name.
type replicas struct {
	Cluster   string           `json:"cluster"`
	NextID    int64            `json:"nextId"`
	Brokers   map[int64]member `json:"brokers"`
	Master    int64            `json:"master"` // 0: there is none
	Epoch     int32            `json:"epoch"`  // of the master; 0: there never was one
	InSync    []int64          `json:"inSync"` // sorted
	SyncEpoch int32            `json:"syncEpoch"`
}

// member is a broker. Who asks for an id twice with the same check code is the same broker.
type member struct {
	Address   string `json:"address"`
	CheckCode string `json:"checkCode"`
}

// kind of an event.
type kind string

const (
	inSyncChanged kind = "inSync"  // Name, IDs
	brokerAdded   kind = "added"   // Cluster, Name, ID, Address, CheckCode
	masterElected kind = "elected" // Name, ID; 0: nobody could be
	brokersGone   kind = "gone"    // Name, IDs; none: all of the name
	addressNew    kind = "address" // Name, ID, Address
)

// event is an entry of the log that the controllers share.
type event struct {
	Kind      kind    `json:"kind"`
	Cluster   string  `json:"cluster,omitempty"`
	Name      string  `json:"name"`
	ID        int64   `json:"id,omitempty"`
	Address   string  `json:"address,omitempty"`
	CheckCode string  `json:"checkCode,omitempty"`
	IDs       []int64 `json:"ids,omitempty"`
}

func newState() *state { return &state{sets: map[string]*replicas{}} }

// Apply is part of raft.FSM.
func (s *state) Apply(l *raft.Log) any {
	var e event
	if err := json.Unmarshal(l.Data, &e); err != nil {
		return fmt.Errorf("entry %d: %w", l.Index, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apply(&e)
	return nil
}

func (s *state) apply(e *event) {
	r := s.sets[e.Name]
	if r == nil {
		if e.Kind != brokerAdded {
			return
		}
		r = &replicas{Cluster: e.Cluster, NextID: 1, Brokers: map[int64]member{}, InSync: []int64{}}
		s.sets[e.Name] = r
	}
	switch e.Kind {
	case inSyncChanged:
		r.InSync = sorted(e.IDs)
		r.SyncEpoch++
	case brokerAdded:
		if _, there := r.Brokers[e.ID]; !there {
			r.Brokers[e.ID] = member{e.Address, e.CheckCode}
			r.NextID = max(r.NextID, e.ID+1)
		}
	case masterElected:
		r.Master = e.ID
		r.Epoch++
		if e.ID != 0 {
			r.InSync = []int64{e.ID}
			r.SyncEpoch++
		}
	case brokersGone:
		r.remove(e.IDs)
		if len(e.IDs) == 0 || len(r.Brokers) == 0 {
			delete(s.sets, e.Name)
		}
	case addressNew:
		if m, there := r.Brokers[e.ID]; there {
			m.Address = e.Address
			r.Brokers[e.ID] = m
		}
	}
}

func (r *replicas) remove(ids []int64) {
	for _, id := range ids {
		delete(r.Brokers, id)
		if i := slices.Index(r.InSync, id); i >= 0 {
			r.InSync = slices.Delete(r.InSync, i, i+1)
		}
		if r.Master == id {
			r.Master = 0
		}
	}
}

func sorted(ids []int64) []int64 {
	ids = append([]int64{}, ids...)
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (r *replicas) clone() replicas {
	c := *r
	c.Brokers, c.InSync = maps.Clone(r.Brokers), slices.Clone(r.InSync)
	return c
}

// get is a copy of what is known of a broker name.
func (s *state) get(name string) (replicas, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := s.sets[name]
	if r == nil {
		return replicas{}, false
	}
	return r.clone(), true
}

func (s *state) names() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Sorted(maps.Keys(s.sets))
}

// snapshot is the whole state, as JSON.
type snapshot []byte

// Snapshot is part of raft.FSM.
func (s *state) Snapshot() (raft.FSMSnapshot, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	text, err := json.Marshal(s.sets)
	return snapshot(text), err
}

// Restore is part of raft.FSM.
func (s *state) Restore(r io.ReadCloser) error {
	defer r.Close()
	sets := map[string]*replicas{}
	if err := json.NewDecoder(r).Decode(&sets); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sets = sets
	return nil
}

// Persist is part of raft.FSMSnapshot.
func (s snapshot) Persist(sink raft.SnapshotSink) error {
	if _, err := sink.Write(s); err != nil {
		_ = sink.Cancel()
		return err
	}
	return sink.Close()
}

// Release is part of raft.FSMSnapshot.
func (snapshot) Release() {}

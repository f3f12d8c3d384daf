// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/compat/properties"
	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// Limits of reads from disk (5.x):
//
//	2001 UPDATE_COLD_DATA_FLOW_CTR_CONFIG, 2002 REMOVE_COLD_DATA_FLOW_CTR_CONFIG   thresholds of groups, in bytes per second
//	2003 GET_COLD_DATA_FLOW_CTR_INFO, 2004 SET_COMMITLOG_READ_MODE
//
// A Java broker heeds them with coldDataFlowControlEnable=true only, which this one does not know: the thresholds can be
// set and seen, and nothing is limited. As in Java they are forgotten with the process.
type coldData struct {
	config func() *config.BrokerValues
	log    *slog.Logger

	mu         sync.Mutex
	thresholds map[string]int64
}

// maxThresholds bounds what requests can put into the table.
const maxThresholds = 10_000

// update takes lines of group=bytes; as in Java a line that is no such thing is passed over.
func (c *coldData) update(r *remoting.Request) (*protocol.Response, error) {
	set, err := properties.Parse(r.Body)
	if err != nil {
		return nil, protocol.Errorf(protocol.RespSystemError, "%s", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range set {
		n, err := strconv.ParseInt(e.Value, 10, 64)
		if _, known := c.thresholds[e.Key]; err != nil || !known && len(c.thresholds) >= maxThresholds {
			c.log.Warn("cold read threshold not set", "client", r.Channel.RemoteAddr(), "group", e.Key, "threshold", e.Value)
			continue
		}
		if c.thresholds == nil {
			c.thresholds = map[string]int64{}
		}
		c.thresholds[e.Key] = n
	}
	return &protocol.Response{}, nil
}

func (c *coldData) remove(r *remoting.Request) (*protocol.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.thresholds, strings.TrimSpace(string(r.Body)))
	return &protocol.Response{}, nil
}

// coldDataInfo is the answer of 2003.
type coldDataInfo struct {
	RuntimeTable            fastjson.Map[string, int64] `fastjson:"runtimeTable,empty"`
	ConfigTable             fastjson.Map[string, int64] `fastjson:"configTable,empty"`
	CgColdReadThreshold     int64                       `fastjson:"cgColdReadThreshold"`
	GlobalColdReadThreshold int64                       `fastjson:"globalColdReadThreshold"`
	GlobalAcc               int64                       `fastjson:"globalAcc"`
}

func (c *coldData) info(*remoting.Request) (*protocol.Response, error) {
	v := c.config()
	b := &coldDataInfo{CgColdReadThreshold: v.CgColdReadThreshold, GlobalColdReadThreshold: v.GlobalColdReadThreshold}
	b.RuntimeTable.Clear()
	b.ConfigTable.Clear()
	c.mu.Lock()
	for _, group := range slices.Sorted(maps.Keys(c.thresholds)) {
		b.ConfigTable.Set(group, c.thresholds[group])
	}
	c.mu.Unlock()
	return answerJSON(b), nil
}

// readAheadModes are those of madvise(2) that Java's broker knows: normal and random.
var readAheadModes = []string{"0", "1"}

// readAhead answers as Java does. The log of this broker is read with the kernel's own read-ahead, whatever the mode.
func (c *coldData) readAhead(r *remoting.Request) (*protocol.Response, error) {
	mode, ok := r.Fields.Get("READ_AHEAD_MODE")
	switch {
	case !ok:
		return nil, protocol.Errorf(protocol.RespSystemError, "set commitlog readahead mode failed")
	case !slices.Contains(readAheadModes, mode):
		return nil, protocol.Errorf(protocol.RespInvalidParameter, "set commitlog readahead mode param value error")
	}
	return &protocol.Response{Remark: protocol.Some("set commitlog readahead mode success, mode: " + mode)}, nil
}

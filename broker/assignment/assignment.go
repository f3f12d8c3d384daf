// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package assignment

import (
	"context"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"rocketmq-go/broker/metafile"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

const (
	retryPrefix = "%RETRY%"
	lmqPrefix   = "%LMQ%"
)

// Rules are the configuration keys that the service follows. They are asked for at each use.
type Rules struct {
	BrokerName  string
	Unbalanced  bool                        // serverLoadBalancerEnable=false: each client gets all queues
	DefaultMode protocol.MessageRequestMode // defaultMessageRequestMode
	PopShare    int32                       // defaultPopShareQueueNum
}

// Options are what a Service needs.
type Options struct {
	Dir   string // the store's root; the file is <Dir>/config/messageRequestMode.json
	Rules func() Rules
	// Clients are the ids of a group's clients, none if it is offline.
	Clients func(group string) []string
	// Queues are the queues of a topic that may be read, of all brokers; false if nobody knows the topic.
	Queues func(ctx context.Context, topic string) ([]protocol.MessageQueue, bool)
	// Pop tells that clients can be told to pop. Without it the mode POP is kept, and answered as PULL.
	Pop bool
	Log *slog.Logger // nil: slog.Default
}

// Service is safe for concurrent use.
type Service struct {
	o      Options
	writer *metafile.Writer

	mu    sync.RWMutex
	modes map[string]map[string]*protocol.SetMessageRequestModeRequestBody // topic → group
}

// New loads the modes.
func New(o Options) (*Service, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	s := &Service{o: o, modes: map[string]map[string]*protocol.SetMessageRequestModeRequestBody{}}
	path := filepath.Join(o.Dir, "config", "messageRequestMode.json")
	file, source, err := metafile.Load(path, s.load)
	if err != nil {
		return nil, err
	}
	if source == metafile.FromBackup || source == metafile.FromBroken {
		o.Log.Error("message request modes not read from their file", "file", path, "used", source)
	}
	s.writer = metafile.NewWriter(file, s.render, metafile.Options{Log: o.Log})
	return s, nil
}

// CheckMode tells why a mode cannot be set, whether or not topic and group exist.
func CheckMode(mode *protocol.SetMessageRequestModeRequestBody) error {
	if strings.HasPrefix(mode.Topic, retryPrefix) {
		return protocol.Errorf(protocol.RespNoPermission, "retry topic is not allowed to set mode")
	}
	return nil
}

// SetMode says how a group shall consume a topic. Both exist.
func (s *Service) SetMode(mode *protocol.SetMessageRequestModeRequestBody) {
	s.mu.Lock()
	s.setLocked(mode.Topic, mode.ConsumerGroup, mode)
	s.mu.Unlock()
	s.writer.Changed()
}

func (s *Service) setLocked(topic, group string, mode *protocol.SetMessageRequestModeRequestBody) {
	groups := s.modes[topic]
	if groups == nil {
		groups = map[string]*protocol.SetMessageRequestModeRequestBody{}
		s.modes[topic] = groups
	}
	groups[group] = mode
}

// mode is how a group shall consume a topic: as it was set; retry topics by pulling; else as the configuration says.
func (s *Service) mode(topic, group string, rules Rules) (mode protocol.MessageRequestMode, popShare int32) {
	s.mu.RLock()
	set := s.modes[topic][group]
	s.mu.RUnlock()
	mode, popShare = rules.DefaultMode, rules.PopShare
	switch {
	case set != nil:
		mode, popShare = set.Mode, set.PopShareQueueNum
	case strings.HasPrefix(topic, retryPrefix):
		mode = protocol.RequestModePull
	}
	if !s.o.Pop || mode == "" {
		mode = protocol.RequestModePull
	}
	return mode, popShare
}

// Assign answers which queues a client gets, nil if that cannot be said: nobody knows the topic, the group is offline,
// the strategy unknown.
func (s *Service) Assign(ctx context.Context, ask *protocol.QueryAssignmentRequestBody) []protocol.MessageQueueAssignment {
	rules := s.o.Rules()
	mode, popShare := s.mode(ask.Topic, ask.ConsumerGroup, rules)
	queues, ok := s.divide(ctx, ask, rules, mode, popShare)
	if !ok {
		return nil
	}
	assigned := make([]protocol.MessageQueueAssignment, 0, len(queues))
	for i := range queues {
		assigned = append(assigned, protocol.MessageQueueAssignment{MessageQueue: &queues[i], Mode: mode})
	}
	return assigned
}

func (s *Service) divide(
	ctx context.Context, ask *protocol.QueryAssignmentRequestBody, rules Rules, mode protocol.MessageRequestMode, popShare int32,
) ([]protocol.MessageQueue, bool) {
	queues, ok := s.queues(ctx, ask.Topic, rules)
	if !ok || ask.MessageModel == protocol.Broadcasting || rules.Unbalanced {
		return queues, ok
	}
	clients := slices.Sorted(slices.Values(s.o.Clients(ask.ConsumerGroup)))
	divide := strategies[ask.StrategyName]
	if len(clients) == 0 || divide == nil {
		return nil, false
	}
	index := slices.Index(clients, ask.ClientID)
	switch {
	case mode == protocol.RequestModePop:
		return share(queues, clients, index, popShare, divide), true
	case index < 0:
		return nil, true
	}
	return divide(queues, index, len(clients)), true
}

func (s *Service) queues(ctx context.Context, topic string, rules Rules) ([]protocol.MessageQueue, bool) {
	if strings.HasPrefix(topic, lmqPrefix) {
		return []protocol.MessageQueue{{Topic: topic, BrokerName: rules.BrokerName}}, true
	}
	queues, ok := s.o.Queues(ctx, topic)
	queues = slices.Clone(queues)
	slices.SortFunc(queues, compareQueues)
	return queues, ok
}

// Sync waits until all changes so far are on disk.
func (s *Service) Sync(ctx context.Context) error { return s.writer.Sync(ctx) }

// Close writes what is not on disk yet.
func (s *Service) Close() error { return s.writer.Close() }

func (s *Service) load(text []byte) error {
	var body protocol.MessageRequestModeSerializeWrapper
	if err := fastjson.Unmarshal(text, &body); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.modes)
	for topic, groups := range body.MessageRequestModeMap.All() {
		for group, mode := range groups.All() {
			if mode != nil {
				s.setLocked(topic, group, mode)
			}
		}
	}
	return nil
}

// Replace makes the table a copy of a master's (the body of code 402).
func (s *Service) Replace(master []byte) error {
	if err := s.load(master); err != nil {
		return err
	}
	s.writer.Changed()
	return nil
}

// Body is the whole table as it is written and answered (code 402).
func (s *Service) Body() *protocol.MessageRequestModeSerializeWrapper {
	s.mu.RLock()
	defer s.mu.RUnlock()
	b := &protocol.MessageRequestModeSerializeWrapper{}
	b.MessageRequestModeMap.Clear()
	for _, topic := range slices.Sorted(maps.Keys(s.modes)) {
		groups := fastjson.MapOf[string, *protocol.SetMessageRequestModeRequestBody](len(s.modes[topic]))
		for _, group := range slices.Sorted(maps.Keys(s.modes[topic])) {
			groups.Set(group, s.modes[topic][group])
		}
		b.MessageRequestModeMap.Set(topic, groups)
	}
	return b
}

func (s *Service) render() []byte { return fastjson.Options{Pretty: true}.Marshal(s.Body()) }

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package kvconfig keeps the name server's key-value configuration: small texts by namespace and key, of which
// RocketMQ uses one namespace, OrderTopics. It lives in one file,
//
//	{"configTable":{"ORDER_TOPIC_CONFIG":{"TopicA":"broker-a:4;broker-b:4"},"Other":{}}}
//
// which is read at start and written anew at every change, the former content going to FILE.bak.
package kvconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

// OrderTopics is the namespace of the topics with a fixed number of queues per broker ("brokerName:queues;…").
// Brokers get it whole with the answer to each registration.
const OrderTopics = "ORDER_TOPIC_CONFIG"

// Store is the configuration. Its methods may be called from any goroutine.
type Store struct {
	path string

	mu         sync.RWMutex
	namespaces map[string]namespace
}

// namespace is immutable.
type namespace struct {
	table map[string]string
	json  []byte // {"table":{…}}
}

// Open reads the file. A missing file is an empty configuration; for a damaged one its .bak is taken, if that is whole.
func Open(path string, log *slog.Logger) (*Store, error) {
	s := &Store{path: path, namespaces: make(map[string]namespace)}
	err := s.load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil && s.load(path+".bak") == nil {
		log.Warn("key-value configuration is damaged, the former one is used", "err", err)
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("key-value configuration: %w", err)
	}
	return s, nil
}

type file struct {
	ConfigTable fastjson.Map[string, fastjson.Map[string, string]] `json:"configTable"`
}

func (s *Store) load(path string) error {
	text, err := os.ReadFile(path)
	if err != nil || len(text) == 0 {
		return err
	}
	var f file
	if err := fastjson.Unmarshal(text, &f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for name, entries := range f.ConfigTable.All() {
		s.namespaces[name] = newNamespace(maps.Collect(entries.All()))
	}
	return nil
}

func newNamespace(table map[string]string) namespace {
	kv := protocol.KVTable{Table: sortedMap(table)}
	return namespace{table: table, json: fastjson.Marshal(&kv)}
}

func sortedMap(m map[string]string) fastjson.Map[string, string] {
	out := fastjson.MapOf[string, string](len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out.Set(k, m[k])
	}
	return out
}

// Get is the value of a key.
func (s *Store) Get(name, key string) (string, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	value, ok := s.namespaces[name].table[key]
	return value, ok
}

// Namespace is all keys of a namespace as JSON, {"table":{…}}. The caller must not change the bytes.
func (s *Store) Namespace(name string) ([]byte, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n, ok := s.namespaces[name]
	return n.json, ok
}

// Put sets a key. On an error nothing has changed.
func (s *Store) Put(name, key, value string) error {
	return s.change(name, func(table map[string]string) { table[strings.Clone(key)] = strings.Clone(value) })
}

// Delete removes a key; its namespace stays. On an error nothing has changed.
func (s *Store) Delete(name, key string) error {
	s.mu.RLock()
	_, ok := s.namespaces[name]
	s.mu.RUnlock()
	if !ok {
		return nil
	}
	return s.change(name, func(table map[string]string) { delete(table, key) })
}

// change edits a copy of a namespace, writes the file and then lets readers see it.
func (s *Store) change(name string, edit func(map[string]string)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	table := maps.Clone(s.namespaces[name].table)
	if table == nil {
		table = make(map[string]string)
	}
	edit(table)
	next := maps.Clone(s.namespaces)
	next[strings.Clone(name)] = newNamespace(table)
	if err := save(s.path, next); err != nil {
		return err
	}
	s.namespaces = next
	return nil
}

func save(path string, namespaces map[string]namespace) error {
	f := file{ConfigTable: fastjson.MapOf[string, fastjson.Map[string, string]](len(namespaces))}
	for _, name := range slices.Sorted(maps.Keys(namespaces)) {
		f.ConfigTable.Set(name, sortedMap(namespaces[name].table))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	old, err := os.ReadFile(path)
	if err == nil {
		err = write(path+".bak", old)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := write(path+".tmp", fastjson.Marshal(&f)); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

func write(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

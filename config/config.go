// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// Config is the live configuration of one process. Values are read with Load; Update changes them while the process
// runs. All methods may be called concurrently.
type Config[T any] struct {
	role    role[T]
	keys    []Key
	version string // compatVersion, fixed at start
	file    string // -c
	blocked map[string]bool
	now     func() time.Time

	launched *state[T] // as -p shows it
	current  atomic.Pointer[state[T]]

	mu          sync.Mutex // held by writers
	subscribers []func(old, new *T, keys []string)
}

// Broker is the live configuration of a broker, Namesrv that of a name server, Controller that of a controller.
type (
	Broker     = Config[BrokerValues]
	Namesrv    = Config[NamesrvValues]
	Controller = Config[ControllerValues]
)

// role is what brokers and name servers do differently.
type role[T any] struct {
	name      string // for people
	objects   func(*T) []object
	own       func(*T) *OwnConfig
	preset    func(*T)                     // the launcher's values, before the file
	normalise func(*T)                     // what setters do beyond storing
	finish    func(*T, *loader) error      // derived values and checks, after the file
	construct func(*T)                     // what building the server changes, which -p does not show
	refuse    func(*T) []refusal           // what cannot be enforced yet
	fixed     func(old, next *T) []refusal // what a hot update must not change
	storeFile func(*T) string              // where hot update writes without -c
	blocked   []string                     // keys hot update refuses, besides configBlackList
	blackList func(*T) string              // configBlackList
	remark497 string                       // answer to a blocked key in 4.9.7
	// shares is the owner of further keys that are right in the file, in the words of foreign; nil: there is none.
	shares func(given map[string]string) string
}

// state is one immutable version of the configuration.
type state[T any] struct {
	values  T                 // in force
	written T                 // the same, but for keys that hold from the next start on only
	set     map[string]bool   // Object.Name of Strings that are no longer null
	extra   map[string]string // everything that stood in the file, by key
	version DataVersion
}

func (s *state[T]) clone() *state[T] {
	c := *s
	c.set, c.extra = maps.Clone(s.set), maps.Clone(s.extra)
	return &c
}

// Load gives the values of this moment. They never change; a caller that looks at several keys loads once.
func (c *Config[T]) Load() *T { return &c.current.Load().values }

// File is the file given by -c, or empty.
func (c *Config[T]) File() string { return c.file }

// CompatVersion is the RocketMQ version whose rules hold: V533 or V497.
func (c *Config[T]) CompatVersion() string { return c.version }

// DataVersion counts the updates since the start.
func (c *Config[T]) DataVersion() DataVersion { return c.current.Load().version }

// VersionText is the data version in the JSON form that answers to getBrokerConfig carry in the field "version"; 4.9.7
// knows no stateVersion.
func (c *Config[T]) VersionText() string {
	v := c.DataVersion()
	if c.version == V497 {
		return fmt.Sprintf(`{"counter":%d,"timestamp":%d}`, v.Counter, v.Timestamp)
	}
	return fmt.Sprintf(`{"counter":%d,"stateVersion":%d,"timestamp":%d}`, v.Counter, v.StateVersion, v.Timestamp)
}

// Keys is the table of all keys of this process, in Java's order of declaration per object.
func (c *Config[T]) Keys() []Key { return slices.Clone(c.keys) }

// OnUpdate registers f to be called after each change of values, in the order of the changes, with the keys of the
// request that the configuration knows (whether or not their values differ). f must not call Update or Adjust.
func (c *Config[T]) OnUpdate(f func(old, new *T, keys []string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscribers = append(c.subscribers, f)
}

// Adjust changes values that the process itself decides, such as the port it was given by the system or its role. It
// neither counts as an update nor reaches the file.
func (c *Config[T]) Adjust(f func(*T)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.current.Load().clone()
	f(&next.values)
	f(&next.written)
	c.current.Store(next)
}

// Exposed is the body of the answers to getBrokerConfig (26) and getNamesrvConfig (319): sorted key=value lines.
func (c *Config[T]) Exposed() string {
	shown := c.exposed(c.current.Load())
	var b strings.Builder
	for _, key := range slices.SortedFunc(maps.Keys(shown), compareUTF16) {
		b.WriteString(key)
		b.WriteByte('=')
		b.WriteString(shown[key])
		b.WriteByte('\n')
	}
	return b.String()
}

// exposed merges what the file said with the values of the exposed objects; the latter win, later objects over
// earlier ones. Credentials are left out, even if the file holds them.
func (c *Config[T]) exposed(s *state[T]) map[string]string {
	shown := maps.Clone(s.extra)
	values := s.written
	objects := c.role.objects(&values)
	for i := range c.keys {
		k := &c.keys[i]
		if _, exists := k.in(c.version); !exists || !objects[k.object].exposed {
			continue
		}
		if field := k.valueIn(objects); !k.isNull(s.set, field, c.version) {
			shown[k.Name] = text(field)
		}
	}
	for i := range c.keys {
		if name := c.keys[i].Name; c.keys[i].Secret && shown[name] != "" {
			delete(shown, name)
		}
	}
	return shown
}

// compareUTF16 orders strings as Java does.
func compareUTF16(a, b string) int {
	if isASCII(a) || isASCII(b) {
		return strings.Compare(a, b)
	}
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// valueIn is the field of the key in the given objects.
func (k *Key) valueIn(objects []object) reflect.Value {
	return reflect.ValueOf(objects[k.object].value).Elem().Field(k.field)
}

func (k *Key) id() string { return k.Object + "." + k.Name }

// isNull reports whether Java's field would be null.
func (k *Key) isNull(set map[string]bool, field reflect.Value, version string) bool {
	d, _ := k.in(version)
	return d == null && !set[k.id()] && field.String() == ""
}

// DataVersion is the version of a configuration.
type DataVersion struct {
	Counter      int64 // updates since the start
	StateVersion int64 // 0 without a controller
	Timestamp    int64 // of the last update, or of the start; ms
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"rocketmq-go/compat/properties"
)

// Options say where a configuration comes from. The order of precedence, from weak to strong: built-in defaults,
// System and Env (for the keys that have such a source), File, Set, NamesrvAddr.
type Options struct {
	File        string                   // -c; empty: no file is read
	NamesrvAddr string                   // -n
	Set         map[string]string        // further settings by key; getBrokerConfig shows them like those of the file
	System      func(name string) string // Java system properties (-Dname=value); nil: none
	Env         func(name string) string // nil: os.Getenv
	Now         func() time.Time         // nil: time.Now
	CPUs        int                      // processors that defaults are computed from; 0: those of the machine

	// CompatVersion is used where the file does not say; empty: V533.
	CompatVersion string
}

// Exit codes of the Java launchers; the shell sees their low eight bits.
const (
	ExitOK         = 0
	ExitUsage      = 1   // unknown option
	ExitConflict   = 252 // two modes that exclude each other
	ExitBadValue   = 253 // a value with which the process cannot run, or a failed initialisation
	ExitNoHome     = 254 // no installation directory
	ExitUnreadable = 255 // the file cannot be read, or the start failed
)

// ExitError ends a start: Text goes to the terminal, Code to the shell.
type ExitError struct {
	Code int
	Text string
	Keys []string // those that stand in the way, if it is about keys
}

func (e *ExitError) Error() string { return e.Text }

// Warning says that a key of the file does not do what its author meant.
type Warning struct {
	Key   string
	Value string // as written
	Text  string // what is wrong, and what holds instead
}

func (w Warning) String() string {
	return fmt.Sprintf("configuration key %s=%s: %s", w.Key, w.Value, w.Text)
}

// LoadBroker reads the configuration of a broker. The error, if any, is an *ExitError. A configuration that comes along
// with an error asks for something this server does not have; it may be printed, not run.
func LoadBroker(o Options) (*Broker, []Warning, error) { return load(o, brokerRole()) }

// LoadNamesrv reads the configuration of a name server. Errors are as for LoadBroker.
func LoadNamesrv(o Options) (*Namesrv, []Warning, error) { return load(o, namesrvRole()) }

// LoadController reads the configuration of a controller. Errors are as for LoadBroker.
func LoadController(o Options) (*Controller, []Warning, error) { return load(o, controllerRole()) }

// loader collects what there is to say while a configuration is read.
type loader struct {
	options  Options
	host     host
	given    map[string]string // file and Set
	ipReason string
	shares   string // owner of keys that are right beside those of the role
	warnings []Warning
}

func (l *loader) warn(key, value, format string, args ...any) {
	l.warnings = append(l.warnings, Warning{key, value, fmt.Sprintf(format, args...)})
}

func load[T any](o Options, r role[T]) (*Config[T], []Warning, error) {
	if o.System == nil {
		o.System = func(string) string { return "" }
	}
	if o.Env == nil {
		o.Env = os.Getenv
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	l := &loader{options: o, host: thisHost(o.System), given: map[string]string{}}
	if o.CPUs > 0 {
		l.host.cpus = o.CPUs
	}
	l.host.address, l.ipReason = chooseAddress(systemInterfaces())
	if err := l.readFile(); err != nil {
		return nil, nil, err
	}
	if err := l.readTLSFile(); err != nil {
		return nil, nil, err
	}
	if r.shares != nil {
		l.shares = r.shares(l.given)
	}
	c := &Config[T]{role: r, file: o.File, now: o.Now}
	if c.version = cmp.Or(trim(l.given["compatVersion"]), o.CompatVersion, V533); c.version != V533 && c.version != V497 {
		return nil, nil, &ExitError{ExitBadValue, fmt.Sprintf("compatVersion=%s: must be %s or %s", c.version, V533, V497), nil}
	}
	s := &state[T]{set: map[string]bool{}, extra: l.given, version: DataVersion{Timestamp: o.Now().UnixMilli()}}
	c.keys = tableOf(r.objects(&s.values))
	c.defaults(s, l)
	r.preset(&s.values)
	r.own(&s.values).CompatVersion = c.version
	l.apply(c.keys, r.objects(&s.values), s.set)
	r.normalise(&s.values)
	if err := r.finish(&s.values, l); err != nil {
		return nil, l.warnings, err
	}
	c.blocked = blockedKeys(r, &s.values)
	c.launched = s.clone()
	r.construct(&s.values)
	s.written = s.values
	c.current.Store(s)
	if err := startError(r.name, r.refuse(&s.values)); err != nil {
		// What is refused need not be warned of.
		l.warnings = slices.DeleteFunc(l.warnings, func(w Warning) bool { return slices.Contains(err.Keys, w.Key) })
		return c, l.warnings, err
	}
	return c, l.warnings, nil
}

func (l *loader) readFile() error {
	if l.options.File != "" {
		data, err := os.ReadFile(l.options.File)
		if errors.Is(err, fs.ErrNotExist) {
			return &ExitError{Code: ExitUnreadable, Text: fmt.Sprintf("configuration file %s does not exist", l.options.File)}
		} else if err != nil {
			return &ExitError{Code: ExitUnreadable, Text: fmt.Sprintf("configuration file cannot be read: %v", err)}
		}
		list, err := properties.Parse(data)
		if err != nil {
			return &ExitError{Code: ExitUnreadable, Text: fmt.Sprintf("configuration file %s: %v", l.options.File, err)}
		}
		l.given = asMap(list)
	}
	maps.Copy(l.given, l.options.Set)
	return nil
}

const (
	tlsFileKey     = "tls.config.file"
	tlsFileDefault = "/etc/rocketmq/tls.properties"
)

// readTLSFile reads the file that holds the TLS settings of all RocketMQ processes of a machine. As in Java its keys win
// over system properties, and it need not exist.
func (l *loader) readTLSFile() error {
	named := cmp.Or(trim(l.given[tlsFileKey]), l.options.System(tlsFileKey))
	file := cmp.Or(named, tlsFileDefault)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && named == "" {
		return nil
	} else if err != nil {
		return &ExitError{Code: ExitUnreadable, Text: fmt.Sprintf("TLS settings cannot be read: %v", err)}
	}
	list, err := properties.Parse(data)
	if err != nil {
		return &ExitError{Code: ExitUnreadable, Text: fmt.Sprintf("TLS settings %s: %v", file, err)}
	}
	settings, system := asMap(list), l.options.System
	l.options.System = func(name string) string {
		if value, ok := settings[name]; ok && strings.HasPrefix(name, "tls.") {
			return trim(value)
		}
		return system(name)
	}
	return nil
}

func asMap(list properties.List) map[string]string {
	m := make(map[string]string, len(list))
	for _, e := range list {
		m[e.Key] = e.Value
	}
	return m
}

// defaults gives every field its value of a fresh Java object, with what the environment contributes.
func (c *Config[T]) defaults(s *state[T], l *loader) {
	objects := c.role.objects(&s.values)
	for i := range c.keys {
		k := &c.keys[i]
		field := k.valueIn(objects)
		if d, _ := k.in(c.version); d != null {
			setText(field, l.host.expand(d))
		}
		outside := ""
		if k.sys != "" {
			outside = l.options.System(k.sys)
		}
		if outside == "" && k.env != "" {
			outside = l.options.Env(k.env)
		}
		if outside == "" {
			continue
		}
		if !setText(field, outside) {
			l.warn(cmp.Or(k.sys, k.env), outside, "not a Java %s; %s is used", k.Type, text(field))
		}
		s.set[k.id()] = true
	}
}

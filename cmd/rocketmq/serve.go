// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"rocketmq-go/broker"
	"rocketmq-go/config"
	"rocketmq-go/store"
)

// launch are the options that the name server and the broker share: those of the Java launchers, and our own.
type launch struct {
	configFile     string
	namesrvAddr    string
	printAll       bool
	printImportant bool
	logLevel       string
	portFile       string
}

func (l *launch) bindJava(fs *pflag.FlagSet, important bool) {
	fs.StringVarP(&l.configFile, "configFile", "c", "", "configuration file with the keys of the Java server")
	fs.StringVarP(&l.namesrvAddr, "namesrvAddr", "n", "", "name server list, host:port separated by semicolons")
	fs.BoolVarP(&l.printAll, "printConfigItem", "p", false, "print the whole configuration and exit")
	if important {
		fs.BoolVarP(&l.printImportant, "printImportantConfig", "m", false, "print the important configuration and exit")
	}
	l.bindOwn(fs)
}

func (l *launch) bindOwn(fs *pflag.FlagSet) {
	fs.StringVar(&l.logLevel, "log-level", "warn", "what goes to standard error, too: debug, info, warn or error")
	fs.StringVar(&l.portFile, "port-file", "", "write the addresses, as JSON, to this file when ready")
}

// begin prepares what a server needs before everything else: what it says on standard error, and no port file of a former
// one.
func (l *launch) begin(w io.Writer) (slog.Handler, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.logLevel)); err != nil {
		return nil, usageError(fmt.Sprintf("--log-level %s: debug, info, warn or error", l.logLevel))
	}
	if err := l.removePorts(); err != nil {
		return nil, err
	}
	if err := l.tryPorts(); err != nil {
		return nil, err
	}
	return slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}), nil
}

func (l *launch) options(e env) config.Options {
	getenv := func(name string) string {
		if v := e.getenv(name); v != "" || name != "ROCKETMQ_HOME" {
			return v
		}
		return homeOfBinary()
	}
	return config.Options{File: l.configFile, NamesrvAddr: l.namesrvAddr, Env: getenv}
}

// homeOfBinary stands in for ROCKETMQ_HOME: the folder above the one with the binary, as in a distribution.
func homeOfBinary() string {
	exe, err := os.Executable()
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(exe); err == nil {
		exe = real
	}
	return filepath.Dir(filepath.Dir(exe))
}

// javaServer is one of the servers that Java's launchers start; V are its configuration's values.
type javaServer[V any] struct {
	name, synopsis string
	log            string // the name of its log file
	important      bool   // has -m
	load           func(config.Options) (*config.Config[V], []config.Warning, error)
	own            func(*V) *config.OwnConfig
}

// begin reads arguments and configuration and opens the log files. done: the process ends with code;
// otherwise the caller closes the watch.
func (s javaServer[V]) begin(e env, l *launch) (cfg *config.Config[V], w *watch, code int, done bool) {
	fs := newFlags(s.name, s.synopsis, e)
	l.bindJava(fs.FlagSet, s.important)
	if code, finished := fs.parse(); finished {
		return nil, nil, code, true
	}
	fs.ignoreMore()
	console, err := l.begin(e.stderr)
	if err != nil {
		return nil, nil, fail(e, s.name, err), true
	}
	cfg, warnings, err := s.load(l.options(e))
	if (l.printAll || l.printImportant) && cfg != nil {
		if err := cfg.Print(e.stdout, l.printImportant); err != nil {
			return nil, nil, fail(e, s.name, err), true
		}
		return nil, nil, exitOK, true
	}
	if code, ok := loaded(e, s.name, warnings, err); !ok {
		return nil, nil, code, true
	}
	w = newWatch(console, s.log, s.own(cfg.Load()))
	w.loaded(warnings)
	cfg.OnUpdate(func(_, v *V, _ []string) { w.setLevel(s.own(v).LogLevel) })
	return cfg, w, exitOK, false
}

// sayFile prints the line with which Java's name server and controller confirm the file of -c.
func (l *launch) sayFile(e env) {
	if l.configFile != "" {
		fmt.Fprintf(e.stdout, "load config properties file OK, %s\n", l.configFile)
	}
}

// loaded reports what the configuration has to say and tells whether the process may go on.
func loaded(e env, what string, warnings []config.Warning, err error) (code int, ok bool) {
	for _, w := range warnings {
		fmt.Fprintf(e.stderr, "%s: WARN %s\n", what, w)
	}
	if err != nil {
		return fail(e, what, err), false
	}
	return exitOK, true
}

// usageError is a wrong value of an option.
type usageError string

func (e usageError) Error() string { return string(e) }

// fail prints a start's error on one line, with a remedy where there is one, and chooses the exit code.
func fail(e env, what string, err error) int {
	if exit := (*config.ExitError)(nil); errors.As(err, &exit) {
		fmt.Fprintln(e.stderr, exit.Text)
		return exit.Code
	}
	if bad := usageError(""); errors.As(err, &bad) {
		fmt.Fprintf(e.stderr, "%s: %s; '%s -h' lists the options\n", what, bad, what)
		return exitUsage
	}
	text := strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
	fmt.Fprintf(e.stderr, "%s: %s%s\n", what, text, remedy(what, err))
	return exitFailed
}

func remedy(what string, err error) string {
	port, place := "listenPort", "storePathRootDir"
	if what == "rocketmq standalone" {
		port, place = "--namesrv-port or --listen-port", "--store"
	}
	var locked *store.LockedError
	switch {
	case errors.As(err, &locked) && strings.HasPrefix(what, "rocketmq store"):
		return " (stop the server that uses this store)"
	case errors.As(err, &locked):
		return " (stop the server that uses this store, or choose another place with " + place + ")"
	case errors.Is(err, syscall.EADDRINUSE):
		return " (another server has this port: stop it, or choose another with " + port + ")"
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return " (give this user the right to it, or choose another place with " + place + ")"
	case errors.Is(err, syscall.EROFS):
		return " (the file system is read-only: choose another place with " + place + ")"
	case errors.Is(err, syscall.ENOSPC):
		return " (the disk is full: free some space, or choose another place with " + place + ")"
	}
	return ""
}

// ports is the content of --port-file.
type ports struct {
	Namesrv    string `json:"namesrv,omitempty"`
	Controller string `json:"controller,omitempty"`
	Broker     string `json:"broker,omitempty"`
	Fast       string `json:"fast,omitempty"`
	HTTP       string `json:"http,omitempty"`
	PID        int    `json:"pid"`
}

// write makes the file appear whole: whoever waits for it reads complete JSON.
func (p ports) write(file string) error {
	if file == "" {
		return nil
	}
	p.PID = os.Getpid()
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".tmp", append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("--port-file: %w", err)
	}
	return os.Rename(file+".tmp", file)
}

// serve announces a server that is ready, waits for its end, and closes it. The port file exists
// while it serves.
func (l *launch) serve(ctx context.Context, e env, name string, p ports, announce func(), shut func() error) int {
	announce()
	err := p.write(l.portFile)
	if err == nil {
		<-ctx.Done()
		err = l.removePorts()
	}
	if err := errors.Join(err, shut()); err != nil {
		return fail(e, name, err)
	}
	return exitOK
}

// tryPorts finds out before the start whether the port file can be written.
func (l *launch) tryPorts() error {
	if l.portFile == "" {
		return nil
	}
	err := os.WriteFile(l.portFile+".tmp", nil, 0o644)
	if err == nil {
		err = os.Remove(l.portFile + ".tmp")
	}
	if err != nil {
		return fmt.Errorf("--port-file: %w", err)
	}
	return nil
}

// removePorts removes the port file; before a start it is a former one's, whose readers would take it for this one's.
func (l *launch) removePorts() error {
	if l.portFile == "" {
		return nil
	}
	if err := os.Remove(l.portFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--port-file: %w", err)
	}
	return nil
}

// reachable is the address a client on this machine connects to: a wildcard becomes the loopback address.
func reachable(a netip.AddrPort) string {
	if a.Addr().IsUnspecified() {
		a = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), a.Port())
	}
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()).String()
}

// clientAddress says which address clients are told, and why.
func clientAddress(b *broker.Broker, ip string) string {
	address, why := b.Advertised()
	if ip == config.AutoIP {
		_, port, _ := strings.Cut(address, ":")
		return fmt.Sprintf("Clients will be told the address at which they reach the name server, port %s (brokerIP1=auto)", port)
	}
	return fmt.Sprintf("Clients will be told %s (%s)", address, why)
}

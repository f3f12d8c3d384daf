// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"rocketmq-go/broker"
	"rocketmq-go/config"
	"rocketmq-go/namesrv"
	"rocketmq-go/remoting"
	"rocketmq-go/telemetry/logs"
)

// standalone are the options of the command that runs both servers.
type standalone struct {
	launch
	store       string
	listenPort  int
	namesrvPort int
	httpPort    int
	bind        string
	set         []string
	changed     func(flag string) bool
}

func runStandalone(ctx context.Context, e env) int {
	const name = "rocketmq standalone"
	var s standalone
	fs := newFlags(name, name+" [--store DIR] [--listen-port N] [--namesrv-port N] [-c FILE]", e)
	fs.StringVar(&s.store, "store", "", "store directory (storePathRootDir); default ./data")
	fs.IntVar(&s.listenPort, "listen-port", config.BrokerPort, "port of the broker; 0: a free one, with the fast port two below")
	fs.IntVar(&s.namesrvPort, "namesrv-port", config.NamesrvPort, "port of the name server; 0: a free one")
	fs.IntVar(&s.httpPort, "http-port", 0, "port for /metrics, /healthz and /readyz of both servers; 0: a free one; none if not given")
	fs.StringVar(&s.bind, "bind", "0.0.0.0", "address to listen on")
	fs.StringArrayVar(&s.set, "set", nil, "key=value, a key of the broker's configuration; may be repeated")
	fs.StringVarP(&s.configFile, "configFile", "c", "", "configuration file of the broker")
	s.bindOwn(fs.FlagSet)
	s.changed = fs.Changed
	if code, finished := fs.parse(); finished {
		return code
	}
	if code, finished := fs.noMore(); finished {
		return code
	}
	if err := s.checkPorts(); err != nil {
		return fail(e, name, err)
	}
	console, err := s.begin(e.stderr)
	if err != nil {
		return fail(e, name, err)
	}

	nsConfig, warnings, err := config.LoadNamesrv(s.namesrvOptions(e))
	if code, ok := loaded(e, name, warnings, err); !ok {
		return code
	}
	options, err := s.brokerOptions(e)
	if err != nil {
		return fail(e, name, err)
	}
	cfg, warnings, err := config.LoadBroker(options)
	if code, ok := loaded(e, name, warnings, err); !ok {
		return code
	}
	if cfg.Load().Store.BrokerRole == config.Slave {
		return fail(e, name, &config.ExitError{Code: config.ExitBadValue, Text: "brokerRole=SLAVE: this command runs a master with a name " +
			"server of its own, which no master of the slave knows. Start a slave with mqbroker -c FILE.", Keys: []string{"brokerRole"}})
	}
	w := newWatch(console, "broker", &cfg.Load().Own)
	defer w.close()
	w.loaded(warnings)
	cfg.OnUpdate(func(_, v *config.BrokerValues, _ []string) { w.setLevel(v.Own.LogLevel) })

	nsConfig.Adjust(func(v *config.NamesrvValues) { v.Own = cfg.Load().Own }) // TLS and the like are the process's
	ns, err := startNamesrv(nsConfig, w.log.With(logs.File, "namesrv"))
	if err != nil {
		return w.fail(e, name, err)
	}
	defer ns.Close()
	cfg.Adjust(func(v *config.BrokerValues) {
		v.NamesrvAddr = reachable(ns.Addr())
		v.Client.UseTLS = v.Client.UseTLS || remoting.TLSMode(v.Own.TLSServerMode) == remoting.TLSEnforcing
	})
	b, err := startBroker(ctx, cfg, w.log)
	if err == nil {
		err = w.serveBroker(cfg.Load(), b.Ready, b.Collect, ns.Collect)
		if err != nil {
			err = errors.Join(err, closeBroker(b))
		}
	}
	if err != nil {
		return w.fail(e, name, err)
	}
	p := ports{
		Namesrv: reachable(ns.Addr()), Broker: reachable(b.Addr()), Fast: reachable(b.FastAddr()), HTTP: w.httpAddr(),
	}
	return s.serve(ctx, e, name, p, func() { s.announce(e, ns, b, cfg.Load()) },
		func() error { return errors.Join(w.end(), closeBroker(b)) })
}

func (s *standalone) announce(e env, ns *namesrv.Server, b *broker.Broker, v *config.BrokerValues) {
	store := v.Store.StorePathRootDir
	if abs, err := filepath.Abs(store); err == nil {
		store = abs
	}
	fmt.Fprintf(e.stdout, `RocketMQ is ready.
  name server  %s
  broker       %s (fast port %d)
  store        %s
  %s
Next: %s demo -n %s
`, reachable(ns.Addr()), reachable(b.Addr()), b.FastAddr().Port(), store, clientAddress(b, v.BrokerIP1), calledAs(), reachable(ns.Addr()))
}

// calledAs is how this binary was called, so that what is printed can be pasted.
func calledAs() string {
	if filepath.Base(os.Args[0]) == "rocketmq" {
		return os.Args[0]
	}
	return "rocketmq"
}

func (s *standalone) namesrvOptions(e env) config.Options {
	o := s.options(e)
	o.File = ""
	o.Set = map[string]string{"listenPort": strconv.Itoa(s.namesrvPort), "bindAddress": s.bind}
	if s.configFile == "" || s.changed("store") {
		o.Set["kvConfigPath"] = filepath.Join(s.storeDir(), "namesrv", "kvConfig.json")
		o.Set["configStorePath"] = filepath.Join(s.storeDir(), "namesrv", "namesrv.properties")
	}
	return o
}

func (s *standalone) checkPorts() error {
	for _, o := range []struct {
		flag      string
		port, min int
	}{{"namesrv-port", s.namesrvPort, 1}, {"listen-port", s.listenPort, 3}, {"http-port", s.httpPort, 1}} {
		if o.port != 0 && (o.port < o.min || o.port > 65535) {
			return usageError(fmt.Sprintf("--%s %d: %d to 65535, or 0 for a free one", o.flag, o.port, o.min))
		}
	}
	return nil
}

func (s *standalone) storeDir() string {
	if s.store == "" {
		return "data"
	}
	return s.store
}

func (s *standalone) brokerOptions(e env) (config.Options, error) {
	o := s.options(e)
	o.Set = map[string]string{}
	// What the file says holds, unless the command line names the same thing.
	preset := func(key, value, flag string) {
		if s.configFile == "" || flag != "" && s.changed(flag) {
			o.Set[key] = value
		}
	}
	preset("listenPort", strconv.Itoa(s.listenPort), "listen-port")
	preset("bindAddress", s.bind, "bind")
	preset("brokerIP1", config.AutoIP, "")
	preset("enablePropertyFilter", "true", "") // SQL92; Java's default is to refuse it
	preset("storePathRootDir", s.storeDir(), "store")
	preset("logDir", filepath.Join(s.storeDir(), "logs"), "store")
	if s.changed("http-port") {
		o.Set["httpListen"] = net.JoinHostPort(s.bind, strconv.Itoa(s.httpPort))
	}
	for _, kv := range s.set {
		key, value, ok := strings.Cut(kv, "=")
		if !ok {
			return o, usageError(fmt.Sprintf("--set %s: key=value is expected", kv))
		}
		o.Set[key] = value
	}
	return o, nil
}

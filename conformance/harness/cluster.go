// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// settings say which servers make the cluster.
type settings struct {
	server, namesrvKind, brokerKind string
	compat                          string
	auth                            string // which access rules: acl, users, or none
	withProxy                       bool   // Apache's proxy before the servers
	root, binary, work              string
	extra, namesrvExtra             map[string]string // keys of the broker and of the name server
	java                            []string          // options of Java
}

func (s *settings) complete() error {
	if s.namesrvKind == "" {
		s.namesrvKind = s.server
	}
	if s.brokerKind == "" {
		s.brokerKind = s.server
	}
	for _, k := range []string{s.namesrvKind, s.brokerKind} {
		if k != "ours" && apacheVersion(k) == "" {
			return fmt.Errorf("unknown server %q (ours, apache-5.3.3, apache-4.9.7)", k)
		}
	}
	root, err := filepath.Abs(s.root)
	if err != nil {
		return err
	}
	s.root = root
	if err := s.secure(); err != nil {
		return err
	}
	if s.binary == "" {
		s.binary = filepath.Join(root, "bin", "rocketmq")
	}
	s.binary, err = filepath.Abs(s.binary)
	return err
}

// label names the cluster in file names.
func (s settings) label() string {
	l := s.brokerKind
	if s.compat != "" && s.brokerKind == "ours" {
		l += "-" + s.compat
	}
	if s.namesrvKind != s.brokerKind {
		l = s.namesrvKind + "+" + l
	}
	return l
}

// expectedBroker is the Apache broker whose table ours must equal.
func (s settings) expectedBroker() string {
	if s.brokerKind != "ours" {
		return s.brokerKind
	}
	if s.auth == "acl" { // which 5.3.3 does not know
		return "apache-4.9.7"
	}
	if s.compat != "" {
		return "apache-" + s.compat
	}
	return "apache-5.3.3"
}

// cluster is one name server and one broker on this machine.
type cluster struct {
	settings
	tempWork        bool
	namesrv, broker *server
	proxy           *server // nil without
	control         *http.Server
	mu              sync.Mutex // one restart at a time
}

func startCluster(ctx context.Context, s settings) (*cluster, error) {
	c := &cluster{settings: s}
	if c.work == "" {
		w, err := os.MkdirTemp("", "rocketmq-conformance-")
		if err != nil {
			return nil, err
		}
		c.work, c.tempWork = w, true
	}
	work, err := filepath.Abs(c.work)
	if err != nil {
		return nil, err
	}
	c.work = work
	ports, err := freeTriples(3)
	if err != nil {
		return nil, err
	}
	if err := c.configure(ctx, ports[0], ports[1]); err != nil {
		return nil, err
	}
	if err := c.namesrv.start(ctx); err != nil {
		return nil, err
	}
	if err := c.startBroker(ctx); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	if err := c.makeUsers(ctx); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	if c.withProxy {
		if err := c.startProxy(ctx, ports[2]); err != nil {
			return nil, errors.Join(err, c.stop())
		}
	}
	return c, nil
}

// startBroker returns when the name server lists the broker.
func (c *cluster) startBroker(ctx context.Context) error {
	start := time.Now()
	if err := c.broker.start(ctx); err != nil {
		return err
	}
	for {
		info, err := clusterInfo(c.namesrv.addr())
		if err == nil && strings.Contains(info, c.broker.addr()) {
			fmt.Fprintf(os.Stderr, "broker %s ready after %d ms\n", c.broker.kind, time.Since(start).Milliseconds())
			return nil
		}
		if time.Since(start) > startLimit {
			return fmt.Errorf("the broker is not registered: %q %v", info, err)
		}
		if err := c.broker.alive(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(30 * time.Millisecond):
		}
	}
}

// configure writes the configuration files and prepares the command lines.
func (c *cluster) configure(ctx context.Context, nsPort, brokerPort int) error {
	common, err := os.ReadFile(filepath.Join(c.root, "conformance", "broker.conf"))
	if err != nil {
		return err
	}
	nsDir, brokerDir := filepath.Join(c.work, "namesrv"), filepath.Join(c.work, "broker")
	ns := map[string]string{
		"listenPort":      fmt.Sprint(nsPort),
		"kvConfigPath":    filepath.Join(nsDir, "kvConfig.json"),
		"configStorePath": filepath.Join(nsDir, "namesrv.properties"),
	}
	broker := map[string]string{
		"namesrvAddr":        fmt.Sprintf("127.0.0.1:%d", nsPort),
		"listenPort":         fmt.Sprint(brokerPort),
		"brokerIP1":          "127.0.0.1",
		"storePathRootDir":   filepath.Join(brokerDir, "store"),
		"storePathCommitLog": filepath.Join(brokerDir, "store", "commitlog"),
	}
	if err := c.writeRules(brokerDir); err != nil {
		return err
	}
	if c.compat != "" {
		ns["compatVersion"], broker["compatVersion"] = c.compat, c.compat
	}
	maps.Copy(broker, c.extra)
	maps.Copy(ns, c.namesrvExtra)
	if c.withProxy {
		maps.Copy(broker, proxyBrokerKeys)
	}
	if c.namesrv, err = c.newServer(ctx, c.namesrvKind, "namesrv", nsDir, nsPort, "", ns); err != nil {
		return err
	}
	c.broker, err = c.newServer(ctx, c.brokerKind, "broker", brokerDir, brokerPort, string(common), broker)
	return err
}

func (c *cluster) stop() error {
	if c.control != nil {
		_ = c.control.Close()
	}
	var errs []error
	for _, s := range []*server{c.proxy, c.broker, c.namesrv} {
		if s != nil {
			errs = append(errs, s.stop(syscall.SIGTERM))
		}
	}
	return errors.Join(errs...)
}

func (c *cluster) removeWork() {
	if c.tempWork {
		_ = os.RemoveAll(c.work)
	}
}

// serveControl listens for the suites' wish to have the broker restarted.
func (c *cluster) serveControl() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /restart", func(w http.ResponseWriter, req *http.Request) {
		if err := c.restartBroker(req.FormValue("how")); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	c.control = &http.Server{Handler: mux}
	go func() { _ = c.control.Serve(l) }()
	return l.Addr().String(), nil
}

func (c *cluster) restartBroker(how string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	sig, ok := map[string]syscall.Signal{"term": syscall.SIGTERM, "kill": syscall.SIGKILL}[how]
	if !ok {
		return fmt.Errorf("unknown way to restart %q (term or kill)", how)
	}
	if err := c.broker.stop(sig); err != nil {
		return err
	}
	return c.startBroker(context.Background())
}

// freeTriples finds ports p whose neighbours p−2 and p+1 are free too (a broker uses all three), below the range
// that the kernel gives to outgoing connections, and below that of conformance/mqadmin.
func freeTriples(n int) ([]int, error) {
	var found []int
	start := 12000 + os.Getpid()%1500*10
	for p := start; p < 28000 && len(found) < n; p += 10 {
		if free(p-2) && free(p) && free(p+1) {
			found = append(found, p)
		}
	}
	if len(found) < n {
		return nil, errors.New("no free ports")
	}
	return found, nil
}

func free(port int) bool {
	l, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package registration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Sources say where the addresses of the name servers come from.
type Sources struct {
	// List is namesrvAddr: host:port, separated by semicolons. If it is empty AddressServer is asked.
	List string
	// ByDNS (fetchNameSrvAddrByDnsLookup) makes each address that a host of List has a name server of its own. Otherwise a
	// host is one name server, and resolved at each connect.
	ByDNS       bool
	DNSInterval time.Duration
	// AddressServer is a URL whose answer is such a list; empty: there is none.
	AddressServer         string
	AddressServerInterval time.Duration
}

// DiscoveryOptions of a Discovery.
type DiscoveryOptions struct {
	Sources func() Sources
	// Resolver finds the addresses of hosts; nil: the system's.
	Resolver *net.Resolver
	// Lookup and Get stand in for the resolver and for HTTP in tests; nil: the real ones.
	Lookup func(ctx context.Context, host string) ([]string, error)
	Get    func(ctx context.Context, url string) (string, error)
	// Changed is told of each new list.
	Changed func()
	Log     *slog.Logger
}

const (
	// lookupTimeout bounds one look, as in Java.
	lookupTimeout = 3 * time.Second
	// lookupRetry is the pause after a look that failed while no name server is known.
	lookupRetry = time.Second
	// sourcesTurn is how often it is looked whether the sources are others.
	sourcesTurn = time.Second
	// maxList bounds the answer of an address server.
	maxList = 64 << 10
)

// Discovery knows the addresses of the name servers. What is looked up is looked up again now and then; when that fails,
// the last list stays.
type Discovery struct {
	o DiscoveryOptions

	mu    sync.Mutex
	of    Sources             // what the rest was looked up for
	hosts map[string][]string // addresses by "host:port"
	list  []string            // of the address server
	next  time.Time           // when to look again
	fails bool                // the last look did
}

// NewDiscovery makes one that has looked up nothing yet.
func NewDiscovery(o DiscoveryOptions) *Discovery {
	if o.Lookup == nil {
		resolver := o.Resolver
		if resolver == nil {
			resolver = net.DefaultResolver
		}
		o.Lookup = resolver.LookupHost
	}
	if o.Get == nil {
		o.Get = getter(o.Resolver)
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	return &Discovery{o: o, hosts: map[string][]string{}}
}

// Servers are the addresses, host:port each.
func (d *Discovery) Servers() []string {
	s := d.o.Sources()
	if s.List != "" && !s.ByDNS {
		return split(s.List)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.List == "" {
		return slices.Clone(d.list)
	}
	var all []string
	for _, addr := range split(s.List) {
		all = append(all, d.hosts[addr]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// split takes a list apart.
func split(list string) (addrs []string) {
	for addr := range strings.SplitSeq(list, ";") {
		if addr = strings.TrimSpace(addr); addr != "" {
			addrs = append(addrs, addr)
		}
	}
	return addrs
}

// Run looks things up until ctx ends.
func (d *Discovery) Run(ctx context.Context) error {
	turn := time.NewTicker(sourcesTurn)
	defer turn.Stop()
	for {
		d.Look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-turn.C:
		}
	}
}

// Look looks up what is due. Run does so; others may want the first list earlier.
func (d *Discovery) Look(ctx context.Context) {
	s := d.o.Sources()
	d.mu.Lock()
	due := s != d.of || !time.Now().Before(d.next)
	d.mu.Unlock()
	if !due || s.List != "" && !s.ByDNS || s.List == "" && s.AddressServer == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	before := d.Servers()
	var err error
	interval := s.AddressServerInterval
	if s.List == "" {
		err = d.ask(ctx, s.AddressServer)
	} else {
		interval = s.DNSInterval
		err = d.resolve(ctx, split(s.List))
	}
	after := d.Servers()
	d.mu.Lock()
	failed := d.fails && s == d.of
	d.of, d.fails = s, err != nil
	if err != nil && len(after) == 0 {
		interval = min(interval, lookupRetry)
	}
	d.next = time.Now().Add(max(interval, lookupRetry))
	d.mu.Unlock()
	if err != nil && !failed && ctx.Err() != context.Canceled {
		d.o.Log.Warn("name servers cannot be looked up; the known ones stay", "known", after, "error", err)
	}
	if !slices.Equal(before, after) {
		d.o.Log.Info("name servers", "before", before, "now", after)
		d.o.Changed()
	}
}

// resolve looks up hosts; one that cannot be keeps its addresses.
func (d *Discovery) resolve(ctx context.Context, list []string) error {
	found := map[string][]string{}
	var failed error
	for _, addr := range list {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		ips, err := d.o.Lookup(ctx, host)
		if err == nil && len(ips) == 0 {
			err = fmt.Errorf("%s has no address", host)
		}
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		for _, ip := range ips {
			found[addr] = append(found[addr], net.JoinHostPort(ip, port))
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for addr := range d.hosts {
		if !slices.Contains(list, addr) {
			delete(d.hosts, addr)
		}
	}
	for addr, all := range found {
		d.hosts[addr] = all
	}
	return failed
}

// ask takes the list of an address server.
func (d *Discovery) ask(ctx context.Context, url string) error {
	text, err := d.o.Get(ctx, url)
	if err != nil {
		return err
	}
	// As in Java what follows the first line is nobody's.
	line, _, _ := strings.Cut(strings.ReplaceAll(strings.TrimSpace(text), "\r", "\n"), "\n")
	list := split(line)
	for _, addr := range list {
		_, port, err := net.SplitHostPort(addr)
		if n, bad := strconv.Atoi(port); err != nil || bad != nil || n <= 0 || n > 65535 {
			return fmt.Errorf("%s answers with something else than a list of name servers: %.80q", url, line)
		}
	}
	if len(list) == 0 {
		return fmt.Errorf("%s answers with an empty list", url)
	}
	slices.Sort(list)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = slices.Compact(list)
	return nil
}

// getter makes the function that asks an address server. Like Java it uses no proxy.
func getter(resolver *net.Resolver) func(ctx context.Context, url string) (string, error) {
	dialer := &net.Dialer{Resolver: resolver}
	c := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
	return func(ctx context.Context, url string) (string, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return "", err
		}
		answer, err := c.Do(request)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return "", fmt.Errorf("%s answers %s", url, answer.Status)
		}
		text, err := io.ReadAll(io.LimitReader(answer.Body, maxList))
		return string(text), err
	}
}

// AddressServerURL is where Java asks: at port 8080 unless the domain names one.
func AddressServerURL(domain, subGroup string) string {
	if !strings.Contains(domain, ":") {
		domain += ":8080"
	}
	return "http://" + domain + "/rocketmq/" + subGroup
}

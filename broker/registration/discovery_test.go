// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package registration

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// world answers for resolver and address server, and notes when it was asked.
type world struct {
	mu      sync.Mutex
	sources Sources
	hosts   map[string][]string
	list    string
	broken  bool
	asked   []string
	changes int
	began   time.Time
	log     strings.Builder
}

func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *world) note(what string) error {
	w.asked = append(w.asked, fmt.Sprint(what, "@", time.Since(w.began)))
	if w.broken {
		return errors.New("unreachable")
	}
	return nil
}

func (w *world) said() string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	said := strings.Join(w.asked, " ")
	w.asked = nil
	return said
}

// discover runs a Discovery in a bubble until the test ends.
func discover(t *testing.T, s Sources) (*world, *Discovery) {
	w := &world{sources: s, hosts: map[string][]string{}, began: time.Now()}
	d := NewDiscovery(DiscoveryOptions{
		Sources: func() Sources {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.sources
		},
		Lookup: func(_ context.Context, host string) ([]string, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.hosts[host], w.note(host)
		},
		Get: func(_ context.Context, url string) (string, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.list, w.note(url)
		},
		Changed: func() { w.set(func() { w.changes++ }) },
		Log:     slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = d.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return w, d
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// A plain list is taken as it is, and changes at once with the configuration.
func TestListIsTakenAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := discover(t, Sources{List: "ns.test:9876; 10.0.0.1:9876;", AddressServer: "http://never"})
		time.Sleep(time.Hour)
		expect(t, "asked", w.said(), "")
		expect(t, "servers", fmt.Sprint(d.Servers()), "[ns.test:9876 10.0.0.1:9876]")
		w.set(func() { w.sources.List = "b:1" })
		expect(t, "servers", fmt.Sprint(d.Servers()), "[b:1]")
	})
}

func TestHostsAreLookedUpAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := discover(t, Sources{List: "a.test:1;b.test:2", ByDNS: true, DNSInterval: 2 * time.Minute})
		w.set(func() { w.broken = true })
		synctest.Wait()
		w.said()
		time.Sleep(1500 * time.Millisecond)
		expect(t, "nothing is known, so it is asked again soon", w.said(), "a.test@1s b.test@1s")
		w.set(func() {
			w.broken = false
			w.hosts["a.test"], w.hosts["b.test"] = []string{"10.0.0.2", "10.0.0.1"}, []string{"fd00::1"}
		})
		time.Sleep(time.Second)
		expect(t, "asked", w.said(), "a.test@2s b.test@2s")
		expect(t, "servers", fmt.Sprint(d.Servers()), "[10.0.0.1:1 10.0.0.2:1 [fd00::1]:2]")
		time.Sleep(119 * time.Second)
		expect(t, "not before two minutes", w.said(), "")
		w.set(func() { w.hosts["a.test"], w.hosts["b.test"] = []string{"10.0.0.9"}, nil })
		time.Sleep(time.Second)
		expect(t, "asked", w.said(), "a.test@2m2s b.test@2m2s")
		expect(t, "b.test keeps what it had", fmt.Sprint(d.Servers()), "[10.0.0.9:1 [fd00::1]:2]")
		w.set(func() { w.sources.List = "b.test:2" })
		time.Sleep(time.Second)
		expect(t, "another list is looked up at once", w.said(), "b.test@2m3s")
		expect(t, "servers", fmt.Sprint(d.Servers()), "[[fd00::1]:2]")
		expect(t, "told of changes", fmt.Sprint(w.changes), "2")
	})
}

func TestAddressServerIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		url := AddressServerURL("ns.test", "nsaddr")
		expect(t, "URL", url, "http://ns.test:8080/rocketmq/nsaddr")
		expect(t, "URL with a port", AddressServerURL("127.0.0.1:81", "x"), "http://127.0.0.1:81/rocketmq/x")
		w, d := discover(t, Sources{AddressServer: url, AddressServerInterval: 10 * time.Second})
		w.set(func() { w.list = " b:9876;a:9876\r\nsomething else\n" })
		time.Sleep(500 * time.Millisecond)
		w.said()
		time.Sleep(time.Second)
		expect(t, "servers", fmt.Sprint(d.Servers()), "[a:9876 b:9876]")
		// Whatever goes wrong, the last list stays.
		for _, wrong := range []string{"", "<html>Not here</html>", "c:0", "c", "c:x;d:1", "unreachable"} {
			w.set(func() { w.list, w.broken = wrong, wrong == "unreachable" })
			w.said()
			time.Sleep(10 * time.Second)
			if asked := w.said(); !strings.HasPrefix(asked, url+"@") || strings.Contains(asked, " ") {
				t.Errorf("asked in ten seconds: %q", asked)
			}
			expect(t, "after "+wrong, fmt.Sprint(d.Servers()), "[a:9876 b:9876]")
		}
		w.set(func() { w.list, w.broken = "c:1", false })
		time.Sleep(10 * time.Second)
		expect(t, "servers", fmt.Sprint(d.Servers()), "[c:1]")
		if n := strings.Count(w.log.String(), "level=WARN"); n != 1 {
			t.Errorf("%d warnings of one trouble:\n%s", n, w.log.String())
		}
	})
}

// The real thing: HTTP on the loopback.
func TestAddressServerOverHTTP(t *testing.T) {
	var mu sync.Mutex
	status, text, paths := http.StatusOK, "10.0.0.1:9876", ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		paths += r.URL.Path
		w.WriteHeader(status)
		fmt.Fprint(w, text)
	}))
	defer server.Close()
	url := AddressServerURL(strings.TrimPrefix(server.URL, "http://"), "our-group")
	d := NewDiscovery(DiscoveryOptions{
		Sources: func() Sources { return Sources{AddressServer: url} }, Log: slog.New(slog.DiscardHandler),
	})
	look := func() string {
		d.mu.Lock()
		d.next = time.Time{}
		d.mu.Unlock()
		d.Look(t.Context())
		return fmt.Sprint(d.Servers())
	}
	expect(t, "first", look(), "[10.0.0.1:9876]")
	expect(t, "path", paths, "/rocketmq/our-group")
	mu.Lock()
	status, text = http.StatusNotFound, "10.0.0.2:9876"
	mu.Unlock()
	expect(t, "not found", look(), "[10.0.0.1:9876]")
	mu.Lock()
	status = http.StatusOK
	mu.Unlock()
	expect(t, "changed", look(), "[10.0.0.2:9876]")
	server.Close()
	expect(t, "gone", look(), "[10.0.0.2:9876]")
}

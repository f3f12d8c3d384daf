// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package web_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"rocketmq-go/telemetry/metric"
	"rocketmq-go/telemetry/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, o web.Options) func(method, path string) (int, string) {
	t.Helper()
	o.Addr = "127.0.0.1:0"
	s, err := web.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return func(method, path string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if path == "/metrics" && resp.StatusCode == http.StatusOK {
			if got := resp.Header.Get("Content-Type"); got != "text/plain; version=0.0.4; charset=utf-8" {
				t.Errorf("content type %q", got)
			}
		}
		return resp.StatusCode, string(text)
	}
}

func TestPaths(t *testing.T) {
	var missing error
	get := start(t, web.Options{
		Collect: []func(*metric.Writer){
			func(w *metric.Writer) { w.Gauge("one", "1").Value(1) }, func(w *metric.Writer) { w.Gauge("two", "2").Value(2) },
		},
		Ready: func() error { return missing },
	})
	for _, path := range []string{"/metrics", "/", "/anything"} {
		code, text := get("GET", path)
		for _, want := range []string{"\none 1\n", "\ntwo 2\n", "\ngo_goroutines ", "\nprocess_resident_memory_bytes "} {
			if code != 200 || !strings.Contains(text, want) {
				t.Errorf("%s: %d, without %q:\n%s", path, code, want, text)
			}
		}
	}
	for _, c := range []struct {
		method, path string
		code         int
		text         string
	}{
		{"GET", "/healthz", 200, "ok\n"},
		{"GET", "/readyz", 200, "ok\n"},
		{"HEAD", "/metrics", 200, ""},
		{"POST", "/metrics", 405, "only GET is answered\n"},
		{"GET", "/debug/pprof/", 404, "404 page not found\n"},
	} {
		if code, text := get(c.method, c.path); code != c.code || text != c.text {
			t.Errorf("%s %s: %d %q", c.method, c.path, code, text)
		}
	}
	missing = errors.New("the store takes no messages")
	if code, text := get("GET", "/readyz"); code != 503 || text != "the store takes no messages\n" {
		t.Errorf("not ready: %d %q", code, text)
	}
}

func TestProfilesOnlyWhereTheyAreSwitchedOn(t *testing.T) {
	get := start(t, web.Options{Pprof: true})
	if code, text := get("GET", "/debug/pprof/goroutine?debug=1"); code != 200 || !strings.Contains(text, "goroutine profile") {
		t.Errorf("%d %s", code, text)
	}
}

func TestManyAtOnce(t *testing.T) {
	var running, most int
	var mu sync.Mutex
	get := start(t, web.Options{Collect: []func(*metric.Writer){func(w *metric.Writer) {
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		w.Gauge("big", "Big.").Value(1, "label", strings.Repeat("x", 1<<16))
		mu.Lock()
		running--
		mu.Unlock()
	}}})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if code, text := get("GET", "/metrics"); code != 200 || !strings.Contains(text, strings.Repeat("x", 1<<16)) {
				t.Errorf("%d, %d bytes", code, len(text))
			}
		})
	}
	all.Wait()
	if most != 1 {
		t.Errorf("%d collections at once", most)
	}
}

func TestAddressInUse(t *testing.T) {
	s, err := web.Start(web.Options{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := web.Start(web.Options{Addr: s.Addr().String()}); err == nil {
		t.Error("no error")
	}
}

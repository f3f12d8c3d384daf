// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package schedule

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"go.uber.org/goleak"

	"rocketmq-go/message"
	"rocketmq-go/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestScenarios runs the stories under testdata/scenario in virtual time. Commands:
//
//	start levels=(1s,5s)      load and run; default are Java's 18 levels
//	stop                      end cleanly: offsets are written
//	kill                      end without writing
//	add level=1 body=a n=3    n messages of the level (a0 a1 a2) arrive now; delay=… if not Java's
//	advance by=1s             shows what is delivered meanwhile: when, topic-queue, body
//	file / put-file           config/delayOffset.json
//	fail body=a times=3       puts of this body fail
//	expire level=1 n=2        the first messages are deleted
//	behind bytes=100          what the queues lack behind the log
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenario", func(t *testing.T, path string) {
		synctest.Test(t, func(t *testing.T) {
			s := &story{t: t, store: newFakeStore(), dir: t.TempDir()}
			s.store.outcome = s.outcome
			datadriven.RunTest(t, path, s.run)
			s.end(true)
		})
	})
}

type story struct {
	t       *testing.T
	dir     string
	store   *fakeStore
	service *Service
	cancel  context.CancelFunc
	done    chan error
	log     strings.Builder

	// Guarded by store.mu.
	failBody   string
	failTimes  int
	failStatus store.PutStatus
}

func (s *story) run(t *testing.T, d *datadriven.TestData) string {
	arg := func(name string) (v string) { d.MaybeScanArgs(t, name, &v); return v }
	number := func(name string, def int) int { d.MaybeScanArgs(t, name, &def); return def }
	path := filepath.Join(s.dir, "config", "delayOffset.json")
	switch d.Cmd {
	case "start":
		return s.start(strings.Join(vals(d, "levels"), " "))
	case "stop", "kill":
		s.end(d.Cmd == "stop")
		return ""
	case "add":
		level, n := number("level", 1), number("n", 1)
		for i := range n {
			body := arg("body")
			if n > 1 {
				body = fmt.Sprint(body, i)
			}
			s.store.add(level, s.delayOf(level, arg("delay")), "GDelay", body)
		}
		synctest.Wait()
		return ""
	case "advance":
		by, err := time.ParseDuration(arg("by"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(by)
		synctest.Wait()
		return s.flushLog() + strings.Join(s.store.take(), "\n")
	case "file":
		text, err := os.ReadFile(path)
		if err != nil {
			return "no file"
		}
		return string(text)
	case "put-file":
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(d.Input), 0o644); err != nil {
			t.Fatal(err)
		}
		return ""
	case "json":
		return string(s.service.JSON())
	case "progress":
		return fmt.Sprintf("%v %+v", s.service.Progress(), s.service.Stats())
	case "fail":
		s.store.mu.Lock()
		defer s.store.mu.Unlock()
		s.failBody, s.failTimes, s.failStatus = arg("body"), number("times", 1), store.ServiceNotAvailable
		if arg("status") == "illegal" {
			s.failStatus = store.MessageIllegal
		}
		return ""
	case "expire":
		s.store.expire(int32(number("level", 1)), number("n", 1))
		return ""
	case "behind":
		s.store.mu.Lock()
		defer s.store.mu.Unlock()
		s.store.behind = int64(number("bytes", 0))
		return ""
	}
	return "unknown command"
}

// delayOf is the delay that a message of a level gets when it is stored.
func (s *story) delayOf(level int, given string) time.Duration {
	if given == "" {
		given = strings.Fields(DefaultLevels)[level-1]
	}
	delays, err := ParseLevels(given)
	if err != nil {
		s.t.Fatal(err)
	}
	return delays[0]
}

func vals(d *datadriven.TestData, name string) []string {
	for _, a := range d.CmdArgs {
		if a.Key == name {
			return a.Vals
		}
	}
	return nil
}

func (s *story) start(levels string) string {
	if levels == "" {
		levels = DefaultLevels
	}
	delays, err := ParseLevels(levels)
	if err != nil {
		return err.Error()
	}
	s.service, err = New(Options{
		Dir: s.dir, Levels: delays, Store: s.store, Put: s.store.put,
		Log: slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{ReplaceAttr: dropTime})),
	})
	if err != nil {
		return err.Error()
	}
	s.store.service = s.service
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	s.done = make(chan error, 1)
	go func() { s.done <- s.service.Run(ctx) }()
	synctest.Wait()
	return s.flushLog() + strings.Join(s.store.take(), "\n")
}

func dropTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

func (s *story) flushLog() string {
	lines := strings.SplitAfter(s.log.String(), "\n")
	s.log.Reset()
	slices.Sort(lines) // the levels run at the same time
	return strings.Join(lines, "")
}

func (s *story) end(clean bool) {
	if s.service == nil {
		return
	}
	s.cancel()
	if err := <-s.done; err != nil {
		s.t.Error(err)
	}
	if clean {
		if err := s.service.Close(); err != nil {
			s.t.Error(err)
		}
	}
	s.service, s.store.service = nil, nil
}

func (s *story) outcome(m *message.Message, done func(store.PutResult)) bool {
	s.store.mu.Lock()
	fail, status := string(m.Body) == s.failBody && s.failTimes > 0, s.failStatus
	if fail {
		s.failTimes--
	}
	s.store.mu.Unlock()
	if fail {
		done(store.PutResult{Status: status})
	}
	return fail
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package logs

import (
	"context"
	"io"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Handler is a slog.Handler that writes into the files.
func (f *Files) Handler() slog.Handler { return f.handler(f.o.Main) }

// Unfiltered is a slog.Handler that writes everything into one file, whatever the level is.
func (f *Files) Unfiltered(name string) slog.Handler { return f.format(name, slog.Level(math.MinInt)) }

func (f *Files) handler(name string) *handler {
	return &handler{files: f, name: name, to: f.format(name, f.o.Level)}
}

// format is how lines of a file are written.
func (f *Files) format(name string, level slog.Leveler) slog.Handler {
	w := f.file(name)
	if f.o.JSON {
		return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})
	}
	return &javaLine{w: w, level: level, name: name}
}

// handler chooses the file.
type handler struct {
	files *Files
	name  string
	to    slog.Handler
	// with makes the present handler from a fresh one, to take what was added along to another file.
	with []func(slog.Handler) slog.Handler
}

func (h *handler) Enabled(ctx context.Context, l slog.Level) bool { return h.to.Enabled(ctx, l) }

func (h *handler) Handle(ctx context.Context, r slog.Record) error { return h.to.Handle(ctx, r) }

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var rest []slog.Attr
	name := h.name
	for _, a := range attrs {
		if a.Key == File {
			name = a.Value.String()
		} else {
			rest = append(rest, a)
		}
	}
	n := h
	if name != h.name {
		n = h.files.handler(name)
		for _, with := range h.with {
			n = n.add(with)
		}
	}
	if len(rest) == 0 {
		return n
	}
	return n.add(func(to slog.Handler) slog.Handler { return to.WithAttrs(rest) })
}

func (h *handler) WithGroup(group string) slog.Handler {
	return h.add(func(to slog.Handler) slog.Handler { return to.WithGroup(group) })
}

func (h *handler) add(with func(slog.Handler) slog.Handler) *handler {
	return &handler{files: h.files, name: h.name, to: with(h.to), with: append(h.with[:len(h.with):len(h.with)], with)}
}

// javaLine writes lines with the layout of Java's servers, so that what reads theirs reads these; the name of the file
// stands where they have the thread:
//
//	2026-11-30 03:10:55 INFO broker - topic changed topic=T queues=4
//
// Unlike Java's the time is local, not always GMT+8.
type javaLine struct {
	w     io.Writer
	level slog.Leveler
	name  string
	attrs []byte // of WithAttrs
	group string // prefix of keys
}

const timeLayout = "2006-01-02 15:04:05"

var lines = sync.Pool{New: func() any { return new([]byte) }}

func (h *javaLine) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level.Level() }

func (h *javaLine) Handle(_ context.Context, r slog.Record) error {
	line := lines.Get().(*[]byte)
	defer lines.Put(line)
	b := r.Time.AppendFormat((*line)[:0], timeLayout)
	b = append(append(b, ' '), r.Level.String()...)
	b = append(append(append(b, ' '), h.name...), " - "...)
	b = append(b, oneLine(r.Message)...)
	b = append(b, h.attrs...)
	r.Attrs(func(a slog.Attr) bool {
		b = appendAttr(b, h.group, a)
		return true
	})
	*line = append(b, '\n')
	_, err := h.w.Write(*line)
	return err
}

func (h *javaLine) WithAttrs(attrs []slog.Attr) slog.Handler {
	n := *h
	n.attrs = n.attrs[:len(n.attrs):len(n.attrs)]
	for _, a := range attrs {
		n.attrs = appendAttr(n.attrs, h.group, a)
	}
	return &n
}

func (h *javaLine) WithGroup(name string) slog.Handler {
	n := *h
	n.group += name + "."
	return &n
}

func appendAttr(b []byte, group string, a slog.Attr) []byte {
	v := a.Value.Resolve()
	if a.Equal(slog.Attr{}) {
		return b
	}
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, part := range v.Group() {
			b = appendAttr(b, group, part)
		}
		return b
	}
	b = append(append(append(b, ' '), group...), a.Key...)
	return append(append(b, '='), quoted(text(v))...)
}

func text(v slog.Value) string {
	if v.Kind() == slog.KindTime {
		return v.Time().Format(time.RFC3339Nano)
	}
	return v.String()
}

// quoted puts quotes around what could be misread.
func quoted(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r == '"' || r == '=' || unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// oneLine keeps a message on its line.
func oneLine(s string) string {
	if strings.ContainsAny(s, "\r\n") {
		return strings.NewReplacer("\r", `\r`, "\n", `\n`).Replace(s)
	}
	return s
}

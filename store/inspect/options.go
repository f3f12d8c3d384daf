// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package inspect writes and prints store directories, in the forms of the tools that do the same with Java's store
// code: Feed makes a directory of INPUT records, reproducible byte for byte, and Dump prints what a directory holds as
// JSON lines. Equal lines mean that both implementations see the same.
//
// For operators it looks at directories without opening them as a store: Check before a take-over from Java, ReadStat,
// and Verify, which walks over the log once and beside it over all queues and the index, whose entries are in the order
// of their records. These three only read. Repair changes a directory, under its lock, and keeps what it replaces.
package inspect

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/store"
)

// Options are the key=value arguments of the tools: names of MessageStoreConfig, compatVersion, and the tools' own.
type Options struct {
	Store   store.Config
	What    string   // what Dump prints: queues,msgs,phy,index
	Keys    []string // TOPIC#KEY to look up
	AllKeys bool     // look all keys up that are found in messages
	Start   bool     // dump as a running broker would see it, not only recovered
	Unknown []string // keys that were ignored

	flushing store.Flushing
}

// defaults are the small files of the golden directories.
func defaults() Options {
	return Options{
		Store: store.Config{
			CommitLogFileSize: 1 << 20, ConsumeQueueFileSize: 40000, BatchQueueFileSize: 46000, IndexSlots: 500, IndexUnits: 2000,
			EnableLMQ: true, EnableMultiDispatch: true,
		},
		What:     "queues,msgs,phy,index",
		flushing: store.Flushing{LeastPages: 4, QueueLeastPages: 2},
	}
}

// setters are the keys that matter to the store.
var setters = map[string]func(o *Options, v string) error{
	"mappedFileSizeCommitLog":         func(o *Options, v string) error { return setInt(&o.Store.CommitLogFileSize, v) },
	"mappedFileSizeConsumeQueue":      func(o *Options, v string) error { return setInt(&o.Store.ConsumeQueueFileSize, v) },
	"mapperFileSizeBatchConsumeQueue": func(o *Options, v string) error { return setInt(&o.Store.BatchQueueFileSize, v) },
	"enableConsumeQueueExt":           func(o *Options, v string) error { return setBool(&o.Store.ExtEnabled, v) },
	"mappedFileSizeConsumeQueueExt":   func(o *Options, v string) error { return setInt(&o.Store.ExtFileSize, v) },
	"maxHashSlotNum":                  func(o *Options, v string) error { return setInt(&o.Store.IndexSlots, v) },
	"maxIndexNum":                     func(o *Options, v string) error { return setInt(&o.Store.IndexUnits, v) },
	"messageIndexEnable":              func(o *Options, v string) error { return setNot(&o.Store.IndexDisabled, v) },
	"messageIndexSafe":                func(o *Options, v string) error { return setBool(&o.Store.IndexSafe, v) },
	"maxMessageSize":                  func(o *Options, v string) error { return setInt(&o.Store.MaxMessageSize, v) },
	"checkCRCOnRecover":               func(o *Options, v string) error { return setNot(&o.Store.NoCheckCRCOnRecover, v) },
	"enableLmq":                       func(o *Options, v string) error { return setBool(&o.Store.EnableLMQ, v) },
	"enableMultiDispatch":             func(o *Options, v string) error { return setBool(&o.Store.EnableMultiDispatch, v) },
	"maxLmqConsumeQueueNum":           func(o *Options, v string) error { return setInt(&o.Store.MaxLMQ, v) },
	"enabledAppendPropCRC":            func(o *Options, v string) error { return setBool(&o.Store.AppendPropCRC, v) },
	"forceVerifyPropCRC":              func(o *Options, v string) error { return setBool(&o.Store.ForceVerifyPropCRC, v) },
	"storePathCommitLog":              func(o *Options, v string) error { o.Store.CommitLogDir = v; return nil },
	"syncFlushTimeout":                func(o *Options, v string) error { return setMillis(&o.flushing.SyncTimeout, v) },
	"flushIntervalCommitLog":          func(o *Options, v string) error { return setMillis(&o.flushing.Interval, v) },
	"flushCommitLogLeastPages":        func(o *Options, v string) error { return setInt(&o.flushing.LeastPages, v) },
	"flushIntervalConsumeQueue":       func(o *Options, v string) error { return setMillis(&o.flushing.QueueInterval, v) },
	"flushConsumeQueueLeastPages":     func(o *Options, v string) error { return setInt(&o.flushing.QueueLeastPages, v) },
	"flushDiskType":                   func(o *Options, v string) error { o.Store.SyncFlush = v == "SYNC_FLUSH"; return nil },
	"compatVersion":                   func(o *Options, v string) error { o.Store.Compat49 = strings.HasPrefix(v, "4.9"); return nil },
	"what":                            func(o *Options, v string) error { o.What = v; return nil },
	"allkeys":                         func(o *Options, v string) error { return setBool(&o.AllKeys, v) },
	"mode":                            func(o *Options, v string) error { o.Start = v == "start"; return nil },
	"keys":                            func(o *Options, v string) error { o.Keys = strings.Split(v, ";"); return nil },
	"settle":                          func(*Options, string) error { return nil },
}

func setInt[T int | int32 | int64](p *T, v string) error {
	n, err := strconv.ParseInt(v, 10, 64)
	*p = T(n)
	return err
}

func setMillis(p *time.Duration, v string) error {
	var ms int64
	err := setInt(&ms, v)
	*p = time.Duration(ms) * time.Millisecond
	return err
}

func setBool(p *bool, v string) (err error) {
	*p, err = strconv.ParseBool(v)
	return err
}

func setNot(p *bool, v string) error {
	err := setBool(p, v)
	*p = !*p
	return err
}

// ParseOptions reads key=value arguments. Keys that do not matter to the store are collected in Unknown.
func ParseOptions(args []string) (Options, error) {
	o := defaults()
	for _, a := range args {
		key, value, ok := strings.Cut(a, "=")
		if !ok {
			return o, fmt.Errorf("%q is not key=value", a)
		}
		set := setters[key]
		if set == nil {
			o.Unknown = append(o.Unknown, key)
			continue
		}
		if err := set(&o, value); err != nil {
			return o, fmt.Errorf("%s: %w", a, err)
		}
	}
	slices.Sort(o.Unknown)
	flushing := o.flushing
	o.Store.Flushing = func() store.Flushing { return flushing }
	return o, nil
}

// dialect is how the release writes properties.
func (o *Options) dialect() message.Dialect {
	if o.Store.Compat49 {
		return message.Java49
	}
	return message.Java5
}

func (o *Options) warn(w io.Writer) {
	for _, key := range o.Unknown {
		fmt.Fprintf(w, "%s has no effect here\n", key)
	}
	if o.Store.Log == nil {
		o.Store.Log = slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
}

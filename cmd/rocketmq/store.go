// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"rocketmq-go/config"
	"rocketmq-go/store/inspect"
)

// storeCommand is one sub-command of store that works on a directory.
type storeCommand struct {
	name     string
	synopsis string
	about    string
	run      func(s *storeRun) int
}

var storeCommands = []storeCommand{
	{"check", "check [DIR] [-c broker.conf] [--from-version 4.9.7|5.3.3]", `Tells whether this server can take the directory over from a Java broker: OK, OK with conditions, or NO, each with the
reasons, and what is to be known about the way back. Nothing is changed; messages are not read (verify does that).
Exit code 0, or 1 for NO and where there is no store.
`, storeCheck},
	{"stat", "stat [DIR] [-c broker.conf]", `Prints sizes, offsets, times and the number of messages per queue. Quick; nothing is changed.
`, storeStat},
	{"verify", "verify [DIR] [-c broker.conf]", `Reads the whole commit log and compares it with the consume queues and the index. Each disagreement is printed with its
place. Nothing is changed. Stop the broker first: of a running one it sees a moment. Exit code 0, or 1 for damage and where
there is no store.
`, storeVerify},
	{"repair", "repair [DIR] [-c broker.conf] --truncate-tail|--fill-damage|--rebuild-queues|--rebuild-index …", `Does what the options say, in the order below, and tells what it did. What is replaced is kept in DIR/bak-TIMESTAMP.
Refused while a broker has the directory open. Run verify before and after it.
`, storeRepair},
}

const storeUsage = `usage: rocketmq store COMMAND …

on the directory of a stopped broker, Java's or ours (DIR, or storePathRootDir of -c broker.conf):
  check                                      can this server take it over from Java?
  stat                                       what is in it
  verify                                     do log, consume queues and index agree?
  repair                                     make it well; only what you ask for

for tests and comparisons with Java's store code:
  feed INPUTS.jsonl[.gz] DIR [key=value …]   write INPUT records into an empty store directory
  dump DIR [key=value …]                     open a copy of a store directory and print it as JSON lines

key=value are store configuration keys (mappedFileSizeCommitLog=…) and compatVersion=5.3.3|4.9.7.
dump recovers what it opens, as a broker would: give it a copy.

'rocketmq store COMMAND -h' says more about a command.
`

func runStore(_ context.Context, e env) int {
	if len(e.args) == 0 {
		fmt.Fprint(e.stderr, storeUsage)
		return exitUsage
	}
	name, args := e.args[0], e.args[1:]
	for _, c := range storeCommands {
		if c.name == name {
			e.args = args
			return c.run(newStoreRun(c, e))
		}
	}
	if wantsHelp(args) {
		fmt.Fprint(e.stdout, storeUsage)
		return exitOK
	}
	switch name {
	case "feed":
		return inspect.FeedCommand(args, e.stdout, e.stderr)
	case "dump":
		return inspect.DumpCommand(args, e.stdout, e.stderr)
	case "-h", "--help", "help":
		fmt.Fprint(e.stdout, storeUsage)
		return exitOK
	}
	fmt.Fprintf(e.stderr, "rocketmq store: no command %q\n\n%s", name, storeUsage)
	return exitUsage
}

// storeRun is a run of a storeCommand.
type storeRun struct {
	*flagSet
	configFile string
	place      inspect.Place
	settings   inspect.Settings
	levels     []time.Duration
}

func newStoreRun(c storeCommand, e env) *storeRun {
	s := &storeRun{flagSet: newFlags("rocketmq store "+c.name, "rocketmq store "+c.synopsis+"\n\n"+strings.TrimSuffix(c.about, "\n"), e)}
	s.StringVarP(&s.configFile, "configFile", "c", "", "the broker's configuration: where the store is and how large its files are")
	return s
}

// parse reads the command line and the configuration.
func (s *storeRun) parse() (code int, finished bool) {
	if code, finished := s.flagSet.parse(); finished {
		return code, true
	}
	if s.NArg() > 1 || s.NArg() == 0 && s.configFile == "" {
		fmt.Fprintf(s.env.stderr, "%s: give one store directory, or a configuration with -c\n", s.Name())
		return exitUsage, true
	}
	if s.configFile != "" {
		if err := s.load(); err != nil {
			return fail(s.env, s.Name(), err), true
		}
	}
	if s.NArg() == 1 && s.Arg(0) != s.place.Dir {
		s.place = inspect.Place{Dir: s.Arg(0)} // a copy: the configuration only tells how the files look
	}
	return exitOK, false
}

func (s *storeRun) load() error {
	l := launch{configFile: s.configFile}
	cfg, _, err := config.LoadBroker(l.options(s.env))
	if cfg == nil {
		return err
	}
	if err != nil { // may be looked at, not run
		s.settings.Refused = err.Error()
	}
	v := &cfg.Load().Store
	users := &cfg.Load().Auth
	s.settings.Users = users.AuthenticationEnabled || users.AuthorizationEnabled
	s.place = inspect.Place{Dir: v.StorePathRootDir, CommitLogDirs: s.logDirs(v)}
	s.settings.Given, s.settings.Ext = true, v.EnableConsumeQueueExt
	s.settings.Compat = cfg.CompatVersion()
	s.settings.TimerLogFile = int64(v.MappedFileSizeTimerLog)
	s.settings.CompactionLogFile, s.settings.CompactionQueueFile = v.CompactionMappedFileSize, v.CompactionCqMappedFileSize
	s.settings.Sizes = inspect.Sizes{
		CommitLogFile: int64(v.MappedFileSizeCommitLog), ConsumeQueueFile: int64(v.ConsumeQueueFileSize()),
		BatchQueueFile: int64(v.MapperFileSizeBatchConsumeQueue), ExtFile: int64(v.MappedFileSizeConsumeQueueExt), IndexSlots: int32(v.MaxHashSlotNum), IndexUnits: int32(v.MaxIndexNum),
	}
	s.levels, err = v.DelayLevels()
	return err
}

// logDirs are the directories of the commit log; none where DIR stands for all.
func (s *storeRun) logDirs(v *config.MessageStoreConfig) []string {
	if v.StorePathCommitLog == "" {
		return nil
	}
	list := v.StorePathCommitLog
	if v.ReadOnlyCommitLogStorePaths != "" {
		list += "," + v.ReadOnlyCommitLogStorePaths
	}
	return strings.Split(list, ",")
}

func storeCheck(s *storeRun) int {
	from := s.String("from-version", "", "the release that wrote it: 4.9.7 or 5.3.3 (default: what it looks like)")
	if code, finished := s.parse(); finished {
		return code
	}
	switch *from {
	case "", "4.9.7", "5.3.3":
	default:
		fmt.Fprintf(s.env.stderr, "%s: --from-version %s: 4.9.7 or 5.3.3\n", s.Name(), *from)
		return exitUsage
	}
	p, err := inspect.Check(s.place, inspect.CheckOptions{From: *from, Settings: s.settings})
	if err != nil {
		return fail(s.env, s.Name(), err)
	}
	p.Print(s.env.stdout)
	if !p.OK() {
		return exitFailed
	}
	return exitOK
}

func storeStat(s *storeRun) int {
	if code, finished := s.parse(); finished {
		return code
	}
	st, err := inspect.ReadStat(s.place, s.settings.Sizes)
	if err != nil {
		return fail(s.env, s.Name(), err)
	}
	st.Print(s.env.stdout)
	return exitOK
}

func storeVerify(s *storeRun) int {
	if code, finished := s.parse(); finished {
		return code
	}
	r, err := inspect.Verify(s.place, inspect.VerifyOptions{
		Sizes: s.settings.Sizes, DelayLevels: s.levels, Progress: progressBar(s.env.stderr),
	})
	if err != nil {
		return fail(s.env, s.Name(), err)
	}
	r.Print(s.env.stdout)
	if r.Damaged() {
		return exitFailed
	}
	return exitOK
}

func storeRepair(s *storeRun) int {
	var o inspect.RepairOptions
	s.BoolVar(&o.TruncateTail, "truncate-tail", false, "cut off what follows the last message of the log and is none, and the units that lead there")
	s.BoolVar(&o.FillDamage, "fill-damage", false, "put records that nobody gets over parts of the log that cannot be read, so that what follows is kept")
	s.BoolVar(&o.RebuildQueues, "rebuild-queues", false, "make all consume queues anew from the log")
	s.BoolVar(&o.RebuildIndex, "rebuild-index", false, "make the index anew from the log")
	s.SortFlags = false
	if code, finished := s.parse(); finished {
		return code
	}
	if !o.TruncateTail && !o.FillDamage && !o.RebuildQueues && !o.RebuildIndex {
		fmt.Fprintf(s.env.stderr, "%s: say what to do: --truncate-tail, --fill-damage, --rebuild-queues or --rebuild-index; verify tells what is needed\n", s.Name())
		return exitUsage
	}
	o.Sizes, o.DelayLevels, o.Progress = s.settings.Sizes, s.levels, progressBar(s.env.stderr)
	if err := inspect.Repair(s.place, o, s.env.stdout); err != nil {
		return fail(s.env, s.Name(), err)
	}
	return exitOK
}

// progressBar draws on a terminal, now and then; nil if w is none.
func progressBar(w io.Writer) func(done, total int64) {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	if _, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS); err != nil {
		return nil
	}
	start := time.Now()
	var shown time.Time
	return func(done, total int64) {
		now := time.Now()
		if total <= 0 || now.Sub(start) < 500*time.Millisecond || done < total && now.Sub(shown) < 100*time.Millisecond {
			return
		}
		shown = now
		const width = 40
		n := int(width * done / total)
		fmt.Fprintf(f, "\r[%s%s] %3d %%  %d of %d MiB ", strings.Repeat("=", n), strings.Repeat(" ", width-n), 100*done/total, done>>20, total>>20)
		if done >= total {
			fmt.Fprint(f, "\r\033[K")
		}
	}
}

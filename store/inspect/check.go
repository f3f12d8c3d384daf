// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package inspect

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"rocketmq-go/store/compaction"
	"rocketmq-go/store/consumequeue"
)

// Settings are what a broker's configuration says, as far as it matters to a take-over.
type Settings struct {
	Sizes        Sizes // 0: Java's default
	TimerLogFile int64 // mappedFileSizeTimerLog; 0: Java's default
	// compactionMappedFileSize and compactionCqMappedFileSize; 0: Java's defaults
	CompactionLogFile, CompactionQueueFile int
	Ext                                    bool   // enableConsumeQueueExt
	Compat                                 string // compatVersion
	Given                                  bool   // there is a configuration: else defaults are compared with
	Users                                  bool   // authenticationEnabled or authorizationEnabled
	Refused                                string // why a broker does not start with it; empty if it does
}

func (s Settings) withDefaults() Settings {
	s.Sizes.CommitLogFile = cmp.Or(s.Sizes.CommitLogFile, 1<<30)
	s.Sizes.ConsumeQueueFile = cmp.Or(s.Sizes.ConsumeQueueFile, 6000000)
	s.Sizes.BatchQueueFile = cmp.Or(s.Sizes.BatchQueueFile, 300000*consumequeue.BatchUnitSize)
	s.Sizes.ExtFile = cmp.Or(s.Sizes.ExtFile, 48<<20)
	s.Sizes.IndexSlots = cmp.Or(s.Sizes.IndexSlots, 5000000)
	s.Sizes.IndexUnits = cmp.Or(s.Sizes.IndexUnits, 20000000)
	s.TimerLogFile = cmp.Or(s.TimerLogFile, 100<<20)
	s.CompactionLogFile = cmp.Or(s.CompactionLogFile, 100<<20)
	s.CompactionQueueFile = cmp.Or(s.CompactionQueueFile, 10<<20)
	return s
}

// CheckOptions of Check.
type CheckOptions struct {
	From     string // release that wrote the directory: 4.9.7 or 5.3.3; empty: what the files look like
	Settings Settings
}

// Preflight tells whether this server can take over a directory.
type Preflight struct {
	Dir        string
	From       string   // release the directory comes from
	No         []string // reasons against it
	Conditions []string // what has to be done or known first
	Facts      []string // what was found in order
	Back       []string // what is to be known about the way back to From
}

// OK tells whether there is no reason against it.
func (p *Preflight) OK() bool { return len(p.No) == 0 }

// Verdict is OK, OK with conditions, or NO.
func (p *Preflight) Verdict() string {
	switch {
	case !p.OK():
		return "NO"
	case len(p.Conditions) > 0:
		return "OK with conditions"
	}
	return "OK"
}

// Print writes it for people: the verdict first.
func (p *Preflight) Print(out io.Writer) {
	fmt.Fprintf(out, "%s: take over %s\n", p.Verdict(), p.Dir)
	for _, part := range []struct {
		title string
		lines []string
	}{
		{"Reasons against it:", p.No},
		{"Conditions:", p.Conditions},
		{"Found:", p.Facts},
		{"The way back to Java " + p.From + ":", p.Back},
	} {
		if len(part.lines) == 0 {
			continue
		}
		fmt.Fprintf(out, "\n%s\n", part.title)
		for _, l := range part.lines {
			fmt.Fprintf(out, "  - %s\n", l)
		}
	}
}

func (p *Preflight) no(format string, args ...any) { p.No = append(p.No, fmt.Sprintf(format, args...)) }

func (p *Preflight) condition(format string, args ...any) {
	p.Conditions = append(p.Conditions, fmt.Sprintf(format, args...))
}

func (p *Preflight) fact(format string, args ...any) {
	p.Facts = append(p.Facts, fmt.Sprintf(format, args...))
}

func (p *Preflight) back(format string, args ...any) {
	p.Back = append(p.Back, fmt.Sprintf(format, args...))
}

// Check looks at a store directory before this server takes it over. It changes nothing, and does not read messages:
// see Verify for that.
func Check(place Place, o CheckOptions) (*Preflight, error) {
	t, err := openTree(place)
	if err != nil {
		return nil, err
	}
	c := checker{Preflight: &Preflight{Dir: place.Dir, From: o.From}, t: t, given: o.Settings.Given, set: o.Settings.withDefaults()}
	if o.Settings.Refused != "" {
		c.no("the configuration: %s", o.Settings.Refused)
	}
	for _, look := range []func() error{
		c.lock, c.stopped, c.foreign, c.access, c.metadata, c.sizes, c.features, c.extensions, c.topics, c.disk, c.wayBack,
	} {
		if err := look(); err != nil {
			return nil, err
		}
	}
	return c.Preflight, nil
}

type checker struct {
	*Preflight
	t     *tree
	set   Settings
	given bool
	meta  topicsFile
	long  []string // topics that only v2 records can have
}

func (c *checker) stopped() error {
	if c.t.abort {
		c.condition("the abort file is there: the broker is still running (on another machine, if the directory is shared), " +
			"or was killed. Stop it with mqshutdown broker first; after a kill the first start checks the end of the log")
	}
	if _, ok := c.t.checkpointTimes(); !ok && len(c.t.log.files) > 0 {
		c.condition("the checkpoint file is missing or too short: after a kill the whole log has to be read")
	}
	if len(c.t.log.files) == 0 && len(c.t.queues) > 0 {
		c.no("there are consume queues, but no commit log in %s: a start would delete all consume queues. Check storePathCommitLog",
			strings.Join(c.t.logDirs(), ", "))
	}
	return nil
}

// sizes compares the files with the configuration.
func (c *checker) sizes() error {
	t := c.t
	before := len(c.Conditions) + len(c.No)
	source := "the default"
	if c.given {
		source = "the configuration"
	}
	differs := func(key string, files, set int64) {
		if files > 0 && files != set {
			c.condition("set %s=%d: the files have that size, %s is %d", key, files, source, set)
		}
	}
	differs("mappedFileSizeCommitLog", t.sizes.CommitLogFile, c.set.Sizes.CommitLogFile)
	differs("mappedFileSizeConsumeQueue", t.sizes.ConsumeQueueFile, (c.set.Sizes.ConsumeQueueFile+19)/20*20)
	differs("mapperFileSizeBatchConsumeQueue", t.sizes.BatchQueueFile, (c.set.Sizes.BatchQueueFile+45)/46*46)
	differs("mappedFileSizeConsumeQueueExt", t.sizes.ExtFile, c.set.Sizes.ExtFile)
	for i, f := range t.log.files {
		c.fileSize(&f, t.log.size, i == len(t.log.files)-1)
		if i > 0 && t.log.files[i-1].base+t.log.size != f.base {
			c.condition("%s: the file before it is missing; messages that were in it are lost", t.rel(f.path))
		}
	}
	for _, q := range t.queues {
		for i, f := range q.files {
			c.fileSize(&f, q.size, i == len(q.files)-1)
		}
		for i, f := range q.ext.files {
			c.fileSize(&f, t.sizes.ExtFile, i == len(q.ext.files)-1)
		}
	}
	timers, err := listStream(t.join("timerlog"))
	if err != nil {
		return err
	}
	if len(timers.files) > 0 {
		differs("mappedFileSizeTimerLog", timers.files[0].size, c.set.TimerLogFile)
	}
	if err := c.compactionSizes(differs); err != nil {
		return err
	}
	c.indexSizes(source)
	if len(c.Conditions)+len(c.No) == before {
		c.fact("file sizes: as %s says", source)
	}
	return nil
}

// compactionSizes compares the files of the first queue of a compaction topic. A log's size of k queue files comes from any
// configured value that is a little less.
func (c *checker) compactionSizes(differs func(key string, files, set int64)) error {
	queueSize := compaction.QueueFileSize(c.set.CompactionQueueFile)
	for _, part := range []struct {
		dir, key  string
		set, less int64
	}{
		{"compactionCq", "compactionCqMappedFileSize", queueSize, 0},
		{"compactionLog", "compactionMappedFileSize", compaction.LogFileSize(c.set.CompactionLogFile, queueSize), 1},
	} {
		files, err := filepath.Glob(filepath.Join(c.t.join("compaction", part.dir), "*", "*", strings.Repeat("[0-9]", 20)))
		if err != nil || len(files) == 0 {
			return err
		}
		info, err := os.Stat(files[0])
		if err != nil {
			return err
		}
		differs(part.key, info.Size()-part.less, part.set-part.less)
	}
	return nil
}

func (c *checker) fileSize(f *piece, size int64, last bool) {
	switch {
	case f.size == size:
	case f.size == 0 && last:
		c.condition("%s is an empty last file: this server and 5.x delete it, 4.9 does not start with it", c.t.rel(f.path))
	default:
		c.no("%s has %d bytes, the other files %d: no broker starts with it. See rocketmq store verify and repair", c.t.rel(f.path), f.size, size)
	}
}

func (c *checker) indexSizes(source string) {
	if len(c.t.index) == 0 {
		return
	}
	size := c.t.index[0].size
	if indexFileSize(c.set.Sizes.IndexSlots, c.set.Sizes.IndexUnits) == size {
		return
	}
	slots, units, ok := indexShape(size, Sizes{})
	if !ok {
		c.condition("index files have %d bytes, which %s does not make: set maxHashSlotNum and maxIndexNum to what the old broker had", size, source)
		return
	}
	c.condition("set maxHashSlotNum=%d and maxIndexNum=%d (if the old broker had four entries per slot, as the defaults): "+
		"index files have %d bytes, %s makes %d", slots, units, size, source, indexFileSize(c.set.Sizes.IndexSlots, c.set.Sizes.IndexUnits))
}

// disk compares with the limits of Java's defaults.
func (c *checker) disk() error {
	for _, dir := range c.t.logDirs() {
		used, free, err := diskUsage(dir, c.t.Dir)
		if err != nil {
			return err
		}
		switch {
		case used > 0.90:
			c.condition("the disk of %s is %.0f %% full (%s free): above 90 %% (diskSpaceWarningLevelRatio) messages are refused", dir, 100*used, bytesText(free))
		case used > 0.75:
			c.condition("the disk of %s is %.0f %% full (%s free): above 75 %% (diskMaxUsedSpaceRatio) old files are deleted", dir, 100*used, bytesText(free))
		default:
			c.fact("disk of %s: %.0f %% used, %s free", dir, 100*used, bytesText(free))
		}
	}
	return nil
}

// wayBack tells what Java will do with what this server leaves.
func (c *checker) wayBack() error {
	c.back("stop this server cleanly, then start Java on the same directory: it finds its own formats")
	c.back("Java writes config/*.json and the checkpoint anew, and leaves alone what it does not know (deletedTopics)")
	c.back("after a kill instead of a stop Java deletes index files newer than the checkpoint: older messages in them are then not found by key")
	if c.From == "4.9.7" {
		if c.set.Compat != "" && !strings.HasPrefix(c.set.Compat, "4.9") || c.given && c.set.Compat == "" {
			c.condition("set compatVersion=4.9.7: without it this server behaves and writes as 5.3.3")
		} else if !c.given {
			c.condition("set compatVersion=4.9.7 in the configuration, so that this server behaves and writes as the old one")
		}
		c.back("4.9 does not deliver timer messages and does not know POP; topic attributes are dropped")
	}
	if len(c.long) > 0 {
		c.back("to 4.9 there is none: records of topics longer than 127 characters (%s) end the log for it", list(c.long))
	}
	return nil
}

// list prints some names, cut where they are long.
func list(names []string) string {
	const most, longest = 3, 60
	var sb strings.Builder
	for i, n := range names {
		if i == most {
			fmt.Fprintf(&sb, " and %d more", len(names)-most)
			break
		}
		if i > 0 {
			sb.WriteString(", ")
		}
		if len(n) > longest {
			n = n[:longest] + "…"
		}
		sb.WriteString(n)
	}
	return sb.String()
}

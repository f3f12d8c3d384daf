// Package store keeps messages. Store is all that the broker sees; the directory is one that Apache RocketMQ 4.9 and 5.x
// can open, and theirs can be opened here, at any moment: after a clean stop and after a crash.
//
//	lock                                   held while a store is open
//	abort                                  is there while a store is open, and after a crash
//	checkpoint                             how far everything was on disk, in store times
//	commitlog/00000000000000000000 …       all messages, one after the other            (package commitlog)
//	consumequeue/TOPIC/QUEUEID/0000… …     where the messages of each queue are         (package consumequeue)
//	consumequeue_ext/TOPIC/QUEUEID/0… …    tags, times and filter bits of the messages   (package consumequeue)
//	batchconsumequeue/TOPIC/QUEUEID/0000…  the same for topics whose batches are one record
//	index/yyyyMMddHHmmssSSS …              where the messages of a key are              (package index)
//	deletedTopics                          topics whose records in the log are nobody's (ours)
//
// A Put encodes the message into the log, under one lock that orders all appends, and answers; or, with SyncFlush, once
// the flusher has written the log to disk. The dispatcher follows the log in order and feeds consume queues, index and
// Config.Arrived: only what is in a consume queue is visible to a Get. All but the log can be made again from it, and
// Open does so for what a crash left undone.
//
// Goroutines of an open store: dispatcher, flusher (log), upkeep (queues, index, checkpoint), and the commit log's
// helper, which reserves disk space and faults pages in ahead of the appends. None of them wakes while nothing is put.
// The cleaner's look at the disks every 10 s is all that an idle store does.
package store

import (
	"log/slog"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/store/consumequeue"
	"rocketmq-go/store/segment"
)

// Config says where and how. Zero values mean Java's defaults (reference: store format, section 15).
type Config struct {
	Dir                   string   // storePathRootDir
	CommitLogDir          string   // storePathCommitLog; empty: Dir/commitlog
	CommitLogDirs         []string // storePathCommitLog with several directories, which take turns; empty: CommitLogDir
	ReadOnlyCommitLogDirs []string // readOnlyCommitLogStorePaths: directories of the log that take no new files
	CommitLogFileSize     int64    // mappedFileSizeCommitLog, bytes
	ConsumeQueueFileSize  int64    // mappedFileSizeConsumeQueue, bytes, rounded up to whole units
	ExtEnabled            bool     // enableConsumeQueueExt
	ExtFileSize           int64    // mappedFileSizeConsumeQueueExt, bytes
	BatchQueueFileSize    int64    // mapperFileSizeBatchConsumeQueue, bytes, rounded up to whole units
	IndexSlots            int32    // maxHashSlotNum
	IndexUnits            int32    // maxIndexNum
	IndexDisabled         bool     // messageIndexEnable=false
	IndexSafe             bool     // messageIndexSafe
	MaxMessageSize        int32    // maxMessageSize, bytes of body
	SyncFlush             bool     // flushDiskType=SYNC_FLUSH
	NoCheckCRCOnRecover   bool     // checkCRCOnRecover=false
	EnableLMQ             bool     // enableLmq
	EnableMultiDispatch   bool     // enableMultiDispatch
	MaxLMQ                int      // maxLmqConsumeQueueNum
	AppendPropCRC         bool     // enabledAppendPropCRC
	ForceVerifyPropCRC    bool
	Compat49              bool // compatVersion=4.9.7: 4.9 rules (no v2 records, checkpoint and abort form, …)

	// Flushing says how soon what was appended is on disk; asked in each round. nil: as a Java broker that is told nothing.
	Flushing func() Flushing
	// PageCacheBusyTimeout is how long the log's lock may be held before a Put gives up at once; asked in each Put that has
	// to wait. nil: 1 s (osPageCacheBusyTimeOutMills).
	PageCacheBusyTimeout func() time.Duration
	// LongestWait is how long a Put may wait for the log's lock; after that it stores nothing. Asked in each Put that had to
	// wait; nil, or zero: for ever (brokerFastFailureEnable, waitTimeMillsInSendQueue).
	LongestWait func() time.Duration
	// LongTopics tells whether topics of more than 127 bytes are taken; nil: they are (autoMessageVersionOnTopicLen).
	LongTopics func() bool

	// DelayLevels gives the delay of each level (index 0 is level 1). The store needs it to fill the delivery time
	// into the consume-queue units of SCHEDULE_TOPIC_XXXX.
	DelayLevels func() []time.Duration
	// FilterBitMap appends the bit map of a message's filters to dst, for its extension unit; nothing where there are none.
	// It is called with ExtEnabled only, in the order of the log, by one goroutine at a time. nil: no bit maps.
	FilterBitMap func(dst []byte, topic string, properties []byte, storeTime int64) []byte
	// BatchTopic tells whether a topic has queue.type=BatchCQ; nil: none has. 4.9 knows no such topics.
	BatchTopic func(topic string) bool
	// Cleaning says when old files are deleted, and when the disk is too full to take messages. It is asked again in each
	// round. nil: nothing is deleted, and disks are not looked at.
	Cleaning func() CleaningRules
	// Limits of reads; asked in each. nil: DefaultReadLimits.
	Limits    func() ReadLimits
	DiskUsage func(dir string) float64 // used part of a directory's disk, -1 if unknown; nil: as the system tells
	Now       func() time.Time         // nil: time.Now. Store timestamps come from it.
	Log       *slog.Logger             // nil: slog.Default
	// Flushed is told how long each write of the commit log to the disk took; may be nil.
	Flushed func(took time.Duration)
	// Arrived is told of each unit that was added to a queue, in order, one at a time, on the dispatcher's goroutine or
	// one that calls Dispatch. It must be quick.
	Arrived func(a Arrival)
	// Renumbered is told of each topic with a queue that has begun anew, before Arrived is told of its first message. The
	// dispatcher waits for it. nil: nobody has to know.
	Renumbered func(topic string)

	// Slave makes the log a copy of a master's: Put refuses everything, AppendLog appends.
	Slave bool
	// Replication knows the slaves of this store; nil: there are none.
	Replication Replication
	// SlaveTimeout is how long a Put waits for slaves; asked in each that does. nil: 3 s (slaveTimeout).
	SlaveTimeout func() time.Duration

	disk segment.Disk // nil: the operating system's; tests have their own
}

// Flushing are the times and amounts of writing to disk. Times that are not positive are Java's defaults.
type Flushing struct {
	SyncTimeout           time.Duration // a Put with SyncFlush is answered FlushDiskTimeout after it (syncFlushTimeout)
	Interval              time.Duration // flushIntervalCommitLog
	LeastPages            int           // of 4 KiB; 0: what there is is written (flushCommitLogLeastPages)
	ThoroughInterval      time.Duration // flushCommitLogThoroughInterval
	QueueInterval         time.Duration // flushIntervalConsumeQueue
	QueueLeastPages       int           // flushConsumeQueueLeastPages, as above
	QueueThoroughInterval time.Duration // flushConsumeQueueThoroughInterval
}

// flushing are the rules of this moment.
func (s *Store) flushing() Flushing {
	f := Flushing{LeastPages: 4, QueueLeastPages: 2}
	if s.cfg.Flushing != nil {
		f = s.cfg.Flushing()
	}
	orDefault(&f.SyncTimeout, 5*time.Second)
	orDefault(&f.Interval, 500*time.Millisecond)
	orDefault(&f.ThoroughInterval, 10*time.Second)
	orDefault(&f.QueueInterval, time.Second)
	orDefault(&f.QueueThoroughInterval, time.Minute)
	return f
}

func orDefault[T int | int32 | int64 | time.Duration](p *T, v T) {
	if *p <= 0 {
		*p = v
	}
}

// Replication is what a store asks of the slaves that copy its log. Store.Acknowledged has to be called when Acked changes.
type Replication interface {
	// Appended is called when there is more to copy. It must be quick.
	Appended()
	// Need is how many slaves must have the log up to end before the sender of the message there is answered. Another status
	// than PutOK is his answer at once; the message stays.
	Need(end int64) (slaves int, status PutStatus)
	// Admit is what a put is answered before anything is stored; PutOK: it is stored.
	Admit() PutStatus
	// Acked is the place up to which at least so many slaves have the log.
	Acked(slaves int) int64
}

// Arrival is a message that can now be read from a queue. Properties is a view, valid during the call.
type Arrival struct {
	Topic      string // interned, may be kept
	QueueID    int32
	Offset     int64 // queue offset of the message
	TagsCode   int64
	StoreTime  int64 // ms
	Properties []byte
}

// PutStatus is the outcome of a Put, with Java's names.
type PutStatus uint8

const (
	PutOK             PutStatus = iota
	FlushDiskTimeout            // stored, but not on disk in time
	FlushSlaveTimeout           // stored, but not on the slave in time
	SlaveNotAvailable           // stored
	ServiceNotAvailable
	CreateMappedFileFailed
	MessageIllegal
	PropertiesSizeExceeded
	OSPageCacheBusy
	InSyncReplicasNotEnough
	LMQQueueNumExceeded
	UnknownError
)

// PutResult tells where a message was stored. For a batch, Offsets has the physical offset of each entry.
type PutResult struct {
	Status      PutStatus
	PhyOffset   int64
	Size        int32 // bytes of the record, of all records for a batch
	QueueOffset int64 // of the first entry for a batch
	StoreTime   int64 // ms
	Messages    int   // that were stored
	Offsets     []int64
}

// GetStatus is the outcome of a Get, with Java's names.
type GetStatus uint8

const (
	Found GetStatus = iota
	NoMatchedMessage
	MessageWasRemoving
	OffsetFoundNull
	OffsetOverflowBadly
	OffsetOverflowOne
	OffsetTooSmall
	NoMatchedLogicQueue
	NoMessageInQueue
	OffsetReset
)

// Matcher chooses messages during a Get and for held pulls.
type Matcher interface {
	// MatchUnit looks at the queue unit only. False skips the message without reading it.
	MatchUnit(tagsCode int64) bool
	// MatchRecord looks at the stored message's encoded properties. Called only when NeedRecord is true.
	MatchRecord(properties []byte) bool
	NeedRecord() bool
}

// ExtMatcher is a Matcher that wants to see the extensions of units too, where there are some.
type ExtMatcher interface {
	Matcher
	// MatchExt is asked after MatchUnit. False skips the message without reading it. The bit map is a view.
	MatchExt(x ExtUnit) bool
}

// GetRequest asks for messages of one queue from Offset on.
type GetRequest struct {
	Topic    string
	QueueID  int32
	Offset   int64
	MaxCount int
	Match    Matcher // nil: everything
}

// GetResult says what a Get found; the records were appended to the caller's buffer.
type GetResult struct {
	Status          GetStatus
	NextBeginOffset int64
	MinOffset       int64
	MaxOffset       int64
	Count           int // messages
	// Behind is how many bytes before the log's end the last examined record begins.
	Behind int64
	// BehindMemory tells that the last examined record lies further behind the log's end than
	// accessMessageInMemoryMaxRatio of the machine's memory: Java then suggests to read from a slave.
	BehindMemory bool
}

// Boundary chooses between equal or neighbouring messages in OffsetByTime.
type Boundary uint8

const (
	Lower Boundary = iota
	Upper
)

// Unit is one consume-queue entry: PhyOffset, Size and TagsCode.
type Unit = consumequeue.Unit

// ExtUnit is the extension of a unit: TagsCode, StoreTime and BitMap.
type ExtUnit = consumequeue.ExtUnit

// Span is such an entry with the messages that it stands for: more than one only in a batch queue.
type Span = consumequeue.Span

// IndexResult are the physical offsets found for a key, newest first, and how far the index reaches
// (0 if nothing was found).
type IndexResult struct {
	PhyOffsets          []int64
	LastUpdateTimestamp int64
	LastUpdatePhyOffset int64
}

// API is the set of methods of *Store that the broker uses. It exists as documentation and for small fakes in tests.
type API interface {
	// Put appends one message, or with SysInnerBatch a client batch as one record. done is called exactly once: before Put returns when nothing has to be waited for,
	// else from another goroutine when the flush (or its time-out) came. A property WAIT=false never waits.
	Put(m *message.Message, done func(PutResult))
	// PutBatch appends the entries of a client batch (Body is the encoded batch) as one record each, in one piece.
	// Properties are put behind those of each entry as they are: Java writes them anew from a map (message.Rebuild).
	PutBatch(m *message.Message, done func(PutResult))
	// Get appends the matching records to dst.
	Get(dst []byte, r GetRequest) ([]byte, GetResult)

	MinOffset(topic string, queueID int32) int64 // 0 for an unknown queue
	MaxOffset(topic string, queueID int32) int64 // next offset to be written; 0 for an unknown queue
	// OffsetByTime finds the queue offset for a store time in ms.
	OffsetByTime(topic string, queueID int32, ms int64, b Boundary) int64
	// StoreTime is the store time (ms) of the message at a queue offset, -1 when it cannot be read.
	StoreTime(topic string, queueID int32, offset int64) int64
	// Unit reads one consume-queue entry. TagsCode is that of the tags, or a delivery time, also if the entry has an
	// extension: see Ext.
	Unit(topic string, queueID int32, offset int64) (Unit, bool)
	// Ext reads the extension of a consume-queue entry; false if it has none.
	Ext(topic string, queueID int32, offset int64) (ExtUnit, bool)
	// Span reads the entry that stands for the message with a queue offset, or, where there is none, the next one.
	Span(topic string, queueID int32, offset int64) (Span, bool)
	// Record appends the record at a physical offset to dst; false if there is none. size 0: read it from the record.
	Record(dst []byte, phyOffset int64, size int32) ([]byte, bool)
	// InMemory tells whether a queue offset's record is within the hot part of the log (4.9's estimate, 40 % of memory).
	InMemory(topic string, queueID int32, offset int64) bool
	// QueryIndex looks a key up, newest first.
	QueryIndex(topic, key string, max int, beginMs, endMs int64) IndexResult

	MinPhyOffset() int64 // of the first file of the log; -1 before the first message
	MaxPhyOffset() int64
	FlushedOffset() int64
	DispatchBehind() int64 // bytes appended but not yet visible in queues
	Queues() map[string][]int32
	DeleteTopics(topics []string) // consume queues and their files
	Writable() bool
	// CleanNow orders cleaning at once; DiskUsage tells how full the disks are.
	CleanNow(kind CleanKind)
	DiskUsage() (log, queues, index float64)
	// Dispatch makes messages with Gathered visible on the caller's goroutine, best once for all messages of a read from a
	// socket: that saves waking the dispatcher's (some µs of CPU) for each message at low rates. A call that is forgotten
	// delays messages until the next one, or by Flushing.Interval at most. Config.Arrived may be called; the caller must not
	// hold locks that it takes.
	Dispatch()
	Close() error
}

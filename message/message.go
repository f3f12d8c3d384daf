// Package message is the message model: properties, ids, system flags and the record layout that commit log and wire
// share. It knows nothing of connections or files.
package message

import "net/netip"

// Message is a message on its way into the store. Strings and slices may be views into a request; the store copies
// what it keeps before Put returns.
type Message struct {
	Topic                     string
	QueueID                   int32
	Flag                      int32 // the user's own flag
	SysFlag                   int32 // Sys* bits; the store sets the IPv6 bits from the hosts
	BornTimestamp             int64 // ms, the producer's clock
	BornHost                  netip.AddrPort
	StoreHost                 netip.AddrPort
	ReconsumeTimes            int32
	PreparedTransactionOffset int64
	Properties                []byte // encoded: name 0x01 value 0x02 …
	Body                      []byte

	// Gathered is not stored: whoever puts this message calls the store's Dispatch soon afterwards, best once for all
	// that it puts together.
	Gathered bool
	// NoWait is not stored: the sender waits neither for the disk nor for slaves, as with a property WAIT=false.
	NoWait bool
}

// Bits of SysFlag (store-format: the same in records, requests and replies).
const (
	SysCompressed      = 0x1
	SysMultiTags       = 0x2
	SysTransactionMask = 0xC
	SysNotTransaction  = 0x0
	SysPrepared        = 0x4
	SysCommit          = 0x8
	SysRollback        = 0xC
	SysBornHostV6      = 0x10
	SysStoreHostV6     = 0x20
	SysNeedUnwrap      = 0x40
	SysInnerBatch      = 0x80
	SysCompressionMask = 0x700
	SysCompressionLZ4  = 0x100
	SysCompressionZSTD = 0x200
	SysCompressionZLIB = 0x300
)

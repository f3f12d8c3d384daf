// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package acting lets a slave act as master while the master is away (5.x, enableSlaveActingMaster).
//
//	Group     who of the broker's name lives, as the name servers say: every second. Of the slaves the one with the smallest id
//	          acts while there is no master: it runs what else only a master runs, which is delay levels, timers, the questions
//	          about transactions and POP.
//	Bridge    what that wants to store goes to the master of another name (enableRemoteEscape), or has to wait.
//	Returning what a broker does at its start before any client is told of it. A master has its slaves connect, and takes over
//	          how far consumers and messages with a delay have come.
//
// A slave's log stays a copy of its master's, whatever happens: the store of a slave takes no messages, and nothing here asks it
// to. So a master that returns finds logs that end where its own does, or before; a slave with a longer one, whose master has
// lost its end with its disk, keeps it from returning.
//
//	master     ── alive ──┤ killed            ├─ alone ─┬─ alive ──
//	name server   0,1     │ 1                 │         │ 0,1
//	slave 1    ── follows ┼ 1 s ┬─ acts ──────┤ follows ┴──────────
//
// Alone, which is at its start, a master is known to nobody and takes no messages. It tells its slaves where it is (906); the one
// that acts stops before it answers. Then nobody delivers anything until the master has asked it how far it has come.
package acting

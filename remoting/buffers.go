// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package remoting

import (
	"math/bits"
	"sync"
)

// Sizes of read and write buffers. A connection without a request in it has none.
const (
	minBuffer  = 4 << 10
	readBuffer = 64 << 10
	maxBuffer  = 16 << 20
)

// buffers lends byte slices in powers of two between minBuffer and maxBuffer; larger ones are left to the collector.
type buffers struct {
	pools [13]sync.Pool // 4 KiB << i, each holds *[]byte
	heads sync.Pool     // empty *[]byte, so that put allocates nothing
}

func (p *buffers) class(n int) int {
	if n <= minBuffer {
		return 0
	}
	return bits.Len(uint(n-1)) - 12
}

// get returns a buffer of length 0 with a capacity of at least n.
func (p *buffers) get(n int) []byte {
	if n > maxBuffer {
		return make([]byte, 0, n)
	}
	c := p.class(n)
	if h, _ := p.pools[c].Get().(*[]byte); h != nil {
		b := *h
		*h = nil
		p.heads.Put(h)
		return b[:0]
	}
	return make([]byte, 0, minBuffer<<c)
}

// put gives a buffer back. Those that grew by append to another size are not kept.
func (p *buffers) put(b []byte) {
	n := cap(b)
	if n < minBuffer || n > maxBuffer || n&(n-1) != 0 {
		return
	}
	h, _ := p.heads.Get().(*[]byte)
	if h == nil {
		h = new([]byte)
	}
	*h = b[:0]
	p.pools[p.class(n)].Put(h)
}

// grow returns b with room for n more bytes, in a larger buffer of the pool if needed.
func (p *buffers) grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	c := p.get(max(len(b)+n, min(2*cap(b), maxBuffer)))
	c = append(c, b...)
	p.put(b)
	return c
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package route

import (
	"fmt"
	"sync"
	"testing"
	"unsafe"
)

func unsafeString(b []byte) string { return unsafe.String(&b[0], len(b)) }

// TestConcurrentUse lets brokers come and go while clients look up; run it with -race.
func TestConcurrentUse(t *testing.T) {
	tb, _ := newTable("5.3.3")
	var wg sync.WaitGroup
	for b := range 4 {
		wg.Go(func() {
			name := fmt.Sprintf("b%d", b)
			for i := range 200 {
				r := reg(name, 0, int64(i), "T1", fmt.Sprintf("T%d", i))
				r.Conn, r.Print = &fakeConn{}, uint64(i/2+1)
				if _, ok := tb.Renew(r); !ok {
					tb.Register(r, i%3 == 0)
				}
				tb.WipeWrite(name)
				if i%5 == 0 {
					tb.Closed(r.Conn)
				}
			}
		})
	}
	for range 2 {
		wg.Go(func() {
			for i := range 2000 {
				tb.Lookup("T1", View{Flavour: Flavour(i % 2), Acting: i%3 == 0})
				if i%100 == 0 {
					tb.Clusters()
					tb.Topics()
					tb.Expire()
				}
			}
		})
	}
	wg.Wait()
	for b := range 4 {
		tb.Unregister("C", fmt.Sprintf("b%d", b), fmt.Sprintf("b%d-0", b), 0)
	}
	if got := tb.Topics(); len(got) != 0 {
		t.Errorf("topics without brokers: %v", got)
	}
}

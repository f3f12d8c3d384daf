// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package plain

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Addresses is a pattern of client addresses:
//
//	(blank)                   nobody
//	*  *.*.*.*                everybody, by IPv6 too
//	10.1.1.1                  one address
//	10.1.1.1,fd00::1          several
//	10.1.1.{1,2}              several that differ in the last part
//	10.1.*.*  10.1.1.5-20     parts that may be anything, or between two numbers
//
// and the last three with the groups of IPv6, where a "*" at the end stands for all groups that are missing. It matches
// what it says; Java ignores what follows the first part that is open, takes no range in the first part, and IPv6
// addresses with a zone match nothing.
type Addresses struct {
	all bool
	any []spans
}

// spans are the parts of an address, 4 or 8 of them.
type spans []span

type span struct{ low, high uint16 }

// everybody is how the pattern for all addresses is written.
var everybody = []string{"*", "*.*.*.*", "*:*:*:*:*:*:*:*"}

// ParseAddresses reads a pattern. What is wrong is said in Java's words.
func ParseAddresses(text string) (Addresses, error) {
	var a Addresses
	if slices.Contains(everybody, text) {
		a.all = true
		return a, nil
	}
	if strings.TrimSpace(text) == "" {
		return a, nil
	}
	list, head := text, ""
	if before, inside, ok := strings.Cut(text, "{"); ok {
		if list, ok = strings.CutSuffix(inside, "}"); !ok {
			return a, badAddress(text)
		}
		head = before
	} else if !strings.Contains(text, ",") {
		s, err := parsePattern(text)
		a.any = []spans{s}
		return a, err
	}
	for part := range strings.SplitSeq(list, ",") {
		if part == "" {
			continue
		}
		s, ok := parseOne(head + part)
		if !ok {
			return a, badAddress(head + part)
		}
		a.any = append(a.any, s)
	}
	return a, nil
}

func badAddress(text string) error {
	return inJava("Netaddress examine Exception netaddress is %s", text)
}

// parseOne reads one address.
func parseOne(text string) (spans, bool) {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return nil, false
	}
	parts := partsOf(a)
	s := make(spans, len(parts))
	for i, p := range parts {
		s[i] = span{p, p}
	}
	return s, true
}

// partsOf are the numbers that an address is written with.
func partsOf(a netip.Addr) []uint16 {
	a = a.Unmap()
	if a.Is4() {
		b := a.As4()
		return []uint16{uint16(b[0]), uint16(b[1]), uint16(b[2]), uint16(b[3])}
	}
	b := a.As16()
	parts := make([]uint16, 8)
	for i := range parts {
		parts[i] = uint16(b[2*i])<<8 | uint16(b[2*i+1])
	}
	return parts
}

// parsePattern reads an address of which parts may be open.
func parsePattern(text string) (spans, error) {
	if !strings.ContainsAny(text, "*-") {
		s, ok := parseOne(text)
		if !ok {
			return nil, badAddress(text)
		}
		return s, nil
	}
	words, base, most := strings.Split(text, "."), 10, uint64(255)
	if strings.Contains(text, ":") {
		words, base, most = groups(text), 16, 0xffff
	}
	if len(words) != 4 && base == 10 || len(words) != 8 && base == 16 {
		return nil, inJava("Netaddress examine scope Exception netaddress is %s", text)
	}
	s := make(spans, len(words))
	for i, word := range words {
		low, high, isRange := strings.Cut(word, "-")
		if word == "*" {
			s[i] = span{0, uint16(most)}
			continue
		}
		if !isRange {
			high = low
		}
		l, err := strconv.ParseUint(low, base, 16)
		h, err2 := strconv.ParseUint(high, base, 16)
		if err != nil || err2 != nil || l > h || h > most {
			return nil, badAddress(text)
		}
		s[i] = span{uint16(l), uint16(h)}
	}
	return s, nil
}

// groups are those of an IPv6 pattern, with what "::" and a "*" at the end stand for.
func groups(text string) []string {
	head, tail, short := strings.Cut(text, "::")
	words := strings.Split(head, ":")
	switch {
	case short:
		if head == "" {
			words = nil
		}
		end := strings.Split(tail, ":")
		for n := len(words) + len(end); n < 8; n++ {
			words = append(words, "0")
		}
		words = append(words, end...)
	case words[len(words)-1] == "*":
		for len(words) < 8 {
			words = append(words, "*")
		}
	}
	return words
}

// Contains tells whether the pattern matches an address; one that is not known only the pattern for everybody matches.
func (a *Addresses) Contains(addr netip.Addr) bool {
	if a.all {
		return true
	}
	if len(a.any) == 0 || !addr.IsValid() {
		return false
	}
	parts := partsOf(addr)
	return slices.ContainsFunc(a.any, func(s spans) bool {
		if len(s) != len(parts) {
			return false
		}
		for i, p := range parts {
			if p < s[i].low || p > s[i].high {
				return false
			}
		}
		return true
	})
}

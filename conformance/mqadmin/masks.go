// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"regexp"
	"sort"
	"strings"
)

// masks replace what differs between two runs on the same servers, in the way in which the recordings have it replaced.
type masks struct {
	work  string
	addrs [][2]string // address and what stands for it, the longest first
}

func newMasks(work string, addrs map[string]string) *masks {
	m := &masks{work: work}
	for addr, name := range addrs {
		m.addrs = append(m.addrs, [2]string{addr, name})
	}
	sort.Slice(m.addrs, func(i, j int) bool { return len(m.addrs[i][0]) > len(m.addrs[j][0]) })
	return m
}

// mask is one replacement, wherever the characters around a match allow it.
type mask struct {
	find    *regexp.Regexp
	replace string // $1 stands for the first group
	// not before, not behind: characters that must not be there
	notBefore, notBehind string
}

const (
	digits  = "0123456789"
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	word    = digits + letters + "_"
)

func (m mask) apply(s string) string {
	var out strings.Builder
	pos := 0
	for pos <= len(s) {
		at := m.find.FindStringSubmatchIndex(s[pos:])
		if at == nil {
			break
		}
		begin, end := pos+at[0], pos+at[1]
		blocked := begin > 0 && strings.IndexByte(m.notBefore, s[begin-1]) >= 0 || end < len(s) && strings.IndexByte(m.notBehind, s[end]) >= 0
		if blocked || begin == end {
			out.WriteString(s[pos:min(begin+1, len(s))])
			pos = begin + 1
			continue
		}
		out.WriteString(s[pos:begin])
		out.Write(m.find.ExpandString(nil, m.replace, s[pos:], at))
		pos = end
	}
	if pos < len(s) {
		out.WriteString(s[pos:])
	}
	return out.String()
}

func replacing(pattern, replace string) mask {
	return mask{find: regexp.MustCompile(pattern), replace: replace}
}

// everywhere are the masks of all outputs, in their order; "" stands for the addresses.
var everywhere = []mask{
	{find: regexp.MustCompile(`/(?:[\w.+-]+/)+[\w.+-]*`), replace: "<PATH>", notBefore: digits + letters + ".>/"},
	{find: regexp.MustCompile(`(127\.0\.0\.1|localhost):\d{4,5}`), replace: "${1}:<PORT>", notBehind: digits},
	replacing(`\d{4}-\d\d-\d\d[ #,T]\d\d:\d\d:\d\d(?:[,.:]\d{1,3})?Z?`, "<TIME>"),
	{
		find: regexp.MustCompile(`20[2-9]\d[01]\d[0-3]\d[0-2]\d[0-5]\d[0-5]\d(?:\d{3})?`), replace: "<TIME>",
		notBefore: digits + ".", notBehind: digits,
	},
	replacing(`^(RMQ_SYS_TRANS_(?:OP_)?HALF_TOPIC +CID_RMQ_SYS_TRANS +\S+ +\d+) .*`, "$1  <N>"),
	replacing(`(physicOffset=|commitLogOffset=)\d+`, "${1}<N>"),
	replacing(`^(CommitLog Offset: +)\d+`, "${1}<N>"),
	replacing(`("counter":\s*)\d+`, "${1}<N>"),
	{find: regexp.MustCompile(`@[0-9a-f]{6,8}`), replace: "@<HASH>", notBehind: word + "-"},
	{
		find: regexp.MustCompile(`[0-9A-F]{32}(?:[0-9A-F]{24}|[0-9A-F]{8})?`), replace: "<ID>",
		notBefore: digits + letters, notBehind: digits + letters,
	},
	{find: regexp.MustCompile(`1[6-9]\d{11}`), replace: "<MS>", notBefore: digits + ".", notBehind: digits},
}

// hostKeys are configuration values that depend on the machine.
const hostKeys = `^(\s*)(listenPort|haListenPort|metricsPromExporterPort|brokerIP1|brokerIP2|rocketmqHome|registerNameServerPeriod` +
	`|brokerNotActiveTimeoutMillis|fetchNamesrvAddrByAddressServer|.*ThreadPoolNums|.*ThreadPoolsNums|.*ThreadNums|.*SelectorThreads` +
	`|clientCallbackExecutorThreads|.*storePath.*|.*Path|.*Dir|controllerDLeger.*|jraft.*|maxWorker.*|timerGetMessageThreadNum|timerPutMessageThreadNum` +
	`)(\s*[=:]\s*).*$`

// named are the masks that the plan names for some outputs.
var named = map[string]mask{
	"rate":         {find: regexp.MustCompile(`\d+\.\d+`), replace: "<F>", notBefore: word + ".", notBehind: word + "."},
	"number":       {find: regexp.MustCompile(`\d+`), replace: "<N>", notBefore: word + ".<", notBehind: word + ".>"},
	"host":         replacing(hostKeys, "${1}${2}${3}<HOST>"),
	"namesrv":      replacing(`"(namesrvSize|namesrvAddr)".*`, `"${1}"`),
	"epoch":        replacing(`"epoch":\s*\d+`, `"epoch":<N>`),
	"max-offset":   replacing(`(#MasterCommitLogMaxOffset\t)\d+`, "${1}<N>"),
	"queues":       replacing(`\(\d+,\d+ms(?:\|[^)]*)?\)`, "<Q>"),
	"rest":         replacing(`(<F>)\s+.*`, "${1}  <REST>"),
	"dashes":       replacing(`-\d+-`, "-<N>-"),
	"file":         replacing(`<PATH>\S*`, "<FILE>"),
	"millis":       {find: regexp.MustCompile(`\d+ms`), replace: "<N>ms", notBefore: word},
	"updated":      replacing(`lastUpdateTimestamp=\d+`, "lastUpdateTimestamp=<MS>"),
	"queue-id":     replacing(`queueId=\d+`, "queueId=<N>"),
	"queue-offset": replacing(`queueOffset=\d+`, "queueOffset=<N>"),
	"rt":           replacing(`rt=\d+`, "rt=<N>"),
}

// runtimeKept are the keys of brokerStatus whose values are compared.
var runtimeKept = map[string]bool{"bootTimestamp": true, "brokerActive": true, "brokerRole": true, "brokerVersion": true, "brokerVersionDesc": true}

var (
	runtimeLine   = regexp.MustCompile(`^(<BROKER\d*>\s+)?(\w[\w.<>]*)(\s*):(.*)$`)
	runtimeFloat  = regexp.MustCompile(`-?\d+\.\d+(E-?\d+)?`)
	runtimeNumber = mask{find: regexp.MustCompile(`-?\d+`), replace: "<N>", notBefore: "<" + word, notBehind: word + ">"}
	otherIP       = regexp.MustCompile(`\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}`)
)

func (m *masks) line(s string, names []string) string {
	if m.work != "" {
		s = strings.ReplaceAll(s, m.work, "<WORK>")
	}
	s = everywhere[0].apply(s)
	for _, a := range m.addrs {
		s = mask{find: regexp.MustCompile(regexp.QuoteMeta(a[0])), replace: a[1], notBefore: digits + ".", notBehind: digits}.apply(s)
	}
	for _, x := range everywhere[1:] {
		s = x.apply(s)
	}
	s = otherIP.ReplaceAllStringFunc(s, func(ip string) string {
		for _, known := range []string{"127.0.0.", "0.0.0.0", "192.168.0."} {
			if strings.HasPrefix(ip, known) {
				return ip
			}
		}
		return "<IP>"
	})
	for _, name := range names {
		if name == "runtime" {
			s = runtimeMask(s)
		} else {
			s = named[name].apply(s)
		}
	}
	return s
}

func runtimeMask(s string) string {
	f := runtimeLine.FindStringSubmatch(s)
	if f == nil || runtimeKept[f[2]] {
		return s
	}
	value := runtimeNumber.apply(runtimeFloat.ReplaceAllString(f[4], "<F>"))
	if strings.HasSuffix(f[2], "Tps") && !strings.HasPrefix(f[2], "timer") {
		value = "<TPS>"
	}
	return f[1] + f[2] + " : " + strings.TrimSpace(value)
}

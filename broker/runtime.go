// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"rocketmq-go/message"
)

// runtime is the table of code 28: what tools show of a broker. There are no thread pools, so their queues are empty.
func (b *Broker) runtime() map[string]string {
	v := b.values()
	up := b.o.Now().Sub(b.started)
	sent, read := b.stats.AllPut.Sum(), b.stats.AllGet.Sum()
	ratio, total, free := diskUse(v.Store.CommitLogPath())
	t := map[string]string{
		"brokerVersion":                   strconv.Itoa(int(b.profile.Version)),
		"brokerVersionDesc":               "V" + strings.ReplaceAll(b.profile.Release, ".", "_"),
		"bootTimestamp":                   strconv.FormatInt(b.started.UnixMilli(), 10),
		"brokerActive":                    strconv.FormatBool(b.store.Writable()),
		"startAcceptSendRequestTimeStamp": strconv.FormatInt(v.StartAcceptSendRequestTimeStamp, 10),
		"runtime": fmt.Sprintf("[ %d days, %d hours, %d minutes, %d seconds ]",
			int(up.Hours())/24, int(up.Hours())%24, int(up.Minutes())%60, int(up.Seconds())%60),
		"putTps":                      rates(b.stats.AllPut.PerSecond()),
		"getFoundTps":                 rates(b.stats.AllGet.PerSecond()),
		"getTransferedTps":            rates(b.stats.AllGet.PerSecond()),
		"getTransferredTps":           rates(b.stats.AllGet.PerSecond()),
		"msgPutTotalYesterdayMorning": "0",
		"msgPutTotalTodayMorning":     "0",
		"msgPutTotalTodayNow":         strconv.FormatInt(sent, 10),
		"msgGetTotalYesterdayMorning": "0",
		"msgGetTotalTodayMorning":     "0",
		"msgGetTotalTodayNow":         strconv.FormatInt(read, 10),
		"commitLogMinOffset":          strconv.FormatInt(b.store.MinPhyOffset(), 10),
		"commitLogMaxOffset":          strconv.FormatInt(b.store.MaxPhyOffset(), 10),
		"dispatchBehindBytes":         strconv.FormatInt(b.store.DispatchBehind(), 10),
		"remainHowManyDataToFlush":    fmt.Sprintf("%d B", b.store.MaxPhyOffset()-b.store.FlushedOffset()),
		"commitLogDiskRatio":          fmt.Sprintf("%.2f", ratio),
		"consumeQueueDiskRatio":       fmt.Sprintf("%.2f", ratio),
		"commitLogDirCapacity":        fmt.Sprintf("Total : %.1f GiB, Free : %.1f GiB.", total, free),
		"pageCacheLockTimeMills":      "0",
		"earliestMessageTimeStamp":    strconv.FormatInt(b.earliest(), 10),
		"timerReadBehind":             "0",
		"timerOffsetBehind":           "0",
		"timerCongestNum":             "0",
		"timerEnqueueTps":             "0.0",
		"timerDequeueTps":             "0.0",
	}
	for _, pool := range []string{"send", "pull", "litePull", "query", "ack"} {
		t[pool+"ThreadPoolQueueSize"] = "0"
		t[pool+"ThreadPoolQueueHeadWaitTimeMills"] = "0"
	}
	t["sendThreadPoolQueueCapacity"] = strconv.Itoa(v.SendThreadPoolQueueCapacity)
	t["pullThreadPoolQueueCapacity"] = strconv.Itoa(v.PullThreadPoolQueueCapacity)
	b.timerRuntime(t)
	for _, p := range b.schedule.Progress() {
		t[fmt.Sprintf("scheduleMessageOffset_%d", p.Level)] = fmt.Sprintf("%d,%d", p.Delivered, p.Max)
	}
	return t
}

// earliest is the store time of the oldest message, in ms, -1 if there is none.
func (b *Broker) earliest() int64 {
	record, ok := b.store.Record(nil, b.store.MinPhyOffset(), 0)
	if !ok {
		return -1
	}
	if ms, ok := message.StoreTimestampOf(record); ok {
		return ms
	}
	return -1
}

// rates prints a rate as Java does: of the last 10 s, 60 s and 600 s. Only the minute's is kept here.
func rates(perSecond float64) string { return fmt.Sprintf("%g %g %g", perSecond, perSecond, perSecond) }

// diskUse is how full the file system of a directory is, and its size and room in GiB.
func diskUse(dir string) (ratio, total, free float64) {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil || fs.Blocks == 0 {
		return 0, 0, 0
	}
	const gib = 1 << 30
	used := fs.Blocks - fs.Bfree
	return float64(used) / float64(used+fs.Bavail),
		float64(fs.Blocks) * float64(fs.Bsize) / gib, float64(fs.Bavail) * float64(fs.Bsize) / gib
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"rocketmq-go/broker/stats"
	"rocketmq-go/message"
	"rocketmq-go/store"
)

// runtime is the table of code 28: what tools show of a broker. All keys of the release are there, because tools convert
// what they expect without asking; what this broker does not have says zero.
func (b *Broker) runtime() map[string]string {
	t := map[string]string{}
	b.lifeRuntime(t)
	b.trafficRuntime(t)
	b.storeRuntime(t)
	b.diskRuntime(t)
	b.queueRuntime(t)
	for _, key := range []string{"timerReadBehind", "timerOffsetBehind", "timerCongestNum"} {
		t[key] = "0"
	}
	t["timerEnqueueTps"], t["timerDequeueTps"] = "0.0", "0.0"
	b.timerRuntime(t)
	if !b.profile.Runtime5 {
		for _, key := range runtime5 {
			delete(t, key)
		}
	}
	return t
}

// runtime5 are keys that came with 5.x. Its tools do without them, but not without getTransferredTps.
var runtime5 = []string{
	"brokerActive", "timerReadBehind", "timerOffsetBehind", "timerCongestNum", "timerEnqueueTps", "timerDequeueTps",
	"ackThreadPoolQueueSize", "ackThreadPoolQueueHeadWaitTimeMills", "ackThreadPoolQueueCapacity",
	"litePullThreadPoolQueueSize", "litePullThreadPoolQueueHeadWaitTimeMills", "litePullThreadPoolQueueCapacity",
}

func (b *Broker) lifeRuntime(t map[string]string) {
	up := b.o.Now().Sub(b.started)
	t["brokerVersion"] = strconv.Itoa(int(b.profile.Version))
	t["brokerVersionDesc"] = "V" + strings.ReplaceAll(b.profile.Release, ".", "_")
	t["bootTimestamp"] = number(b.started.UnixMilli())
	t["brokerActive"] = strconv.FormatBool(b.isSlave() && b.acts() || !b.isSlave() && b.store.Writable() && b.master.Ready() == nil)
	t["startAcceptSendRequestTimeStamp"] = number(b.values().StartAcceptSendRequestTimeStamp)
	t["runtime"] = fmt.Sprintf("[ %d days, %d hours, %d minutes, %d seconds ]",
		int(up.Hours())/24, int(up.Hours())%24, int(up.Minutes())%60, int(up.Seconds())%60)
}

// trafficRuntime: the rates are three numbers, over 10 s, 60 s and 600 s. In Java a window that is longer than the broker
// has been up is an empty text, which tools cannot read.
func (b *Broker) trafficRuntime(t map[string]string) {
	r := b.stats.Report()
	t["putTps"] = rates(r.Put)
	t["getFoundTps"] = rates(r.Found)
	t["getMissTps"] = rates(r.Missed)
	total := r.Found
	for i := range total {
		total[i] += r.Missed[i]
	}
	t["getTotalTps"] = rates(total)
	t["getTransferredTps"] = rates(r.Transferred)
	t["getTransferedTps"] = t["getTransferredTps"] // as 4.x writes it

	t["msgPutTotalYesterdayMorning"], t["msgPutTotalTodayMorning"] = number(r.PutAtMidnight[0]), number(r.PutAtMidnight[1])
	t["msgGetTotalYesterdayMorning"], t["msgGetTotalTodayMorning"] = number(r.GetAtMidnight[0]), number(r.GetAtMidnight[1])
	put, got := b.stats.Totals()
	t["msgPutTotalTodayNow"], t["msgGetTotalTodayNow"] = number(put), number(got)

	times, bytes := max(r.Stored, 1), b.store.MaxPhyOffset()-b.storeBegan
	t["putMessageTimesTotal"] = number(times)
	t["putMessageFailedTimes"] = number(r.Failed)
	t["putMessageSizeTotal"] = number(bytes)
	t["putMessageAverageSize"] = double(float64(bytes) / float64(times))
	t["putMessageEntireTimeMax"] = number(r.LongestPut.Milliseconds())
	t["getMessageEntireTimeMax"] = number(r.LongestGet.Milliseconds())
	t["putLatency99"], t["putLatency999"] = millis(r.Percent99), millis(r.Percent999)
	var classes strings.Builder
	for i, c := range stats.PutClasses {
		fmt.Fprintf(&classes, "[%s]:%d ", c.Name, r.Classes[i])
	}
	t["putMessageDistributeTime"] = classes.String()
}

func (b *Broker) storeRuntime(t map[string]string) {
	t["commitLogMinOffset"] = number(b.store.MinPhyOffset())
	t["commitLogMaxOffset"] = number(b.store.MaxPhyOffset())
	t["dispatchBehindBytes"] = number(b.store.DispatchBehind())
	t["dispatchMaxBuffer"] = "0"
	t["remainHowManyDataToFlush"] = size(max(b.store.MaxPhyOffset()-b.store.FlushedOffset(), 0))
	t["remainTransientStoreBufferNumbs"] = number(math.MaxInt32) // as without a pool in Java
	var locked int64
	if since := b.store.CommitLog().StuckSince(); since != 0 {
		locked = max(b.o.Now().UnixMilli()-since, 0)
	}
	t["pageCacheLockTimeMills"] = number(locked)
	t["earliestMessageTimeStamp"] = number(b.earliest())
	for _, p := range b.schedule.Progress() {
		t[fmt.Sprintf("scheduleMessageOffset_%d", p.Level)] = fmt.Sprintf("%d,%d", p.Delivered, p.Max)
	}
}

func (b *Broker) diskRuntime(t map[string]string) {
	log, queues, _ := b.store.DiskUsage()
	t["commitLogDiskRatio"] = double(log)
	for _, dir := range b.store.LogDirs() {
		t["commitLogDiskRatio_"+dir] = double(store.DiskUsage(dir))
	}
	t["consumeQueueDiskRatio"] = double(queues)
	total, free := diskSpace(b.values().Store.StorePathRootDir)
	t["commitLogDirCapacity"] = fmt.Sprintf("Total : %s, Free : %s.", size(total), size(free))
}

// queueRuntime tells of Java's thread pools. There are none here, so nothing waits for them.
func (b *Broker) queueRuntime(t map[string]string) {
	v := b.values()
	for pool, capacity := range map[string]int{
		"send": v.SendThreadPoolQueueCapacity, "pull": v.PullThreadPoolQueueCapacity,
		"litePull": v.LitePullThreadPoolQueueCapacity, "query": v.QueryThreadPoolQueueCapacity, "ack": v.AckThreadPoolQueueCapacity,
	} {
		t[pool+"ThreadPoolQueueSize"] = "0"
		t[pool+"ThreadPoolQueueHeadWaitTimeMills"] = "0"
		t[pool+"ThreadPoolQueueCapacity"] = strconv.Itoa(capacity)
	}
	t["EndTransactionQueueSize"] = "0"
	t["EndTransactionThreadPoolQueueCapacity"] = strconv.Itoa(v.EndTransactionPoolQueueCapacity)
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

func number[N int | int64](n N) string { return strconv.FormatInt(int64(n), 10) }

// double prints a number as Java prints a double of usual size.
func double(f float64) string {
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

func millis(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond)) }

func rates(perSecond [len(stats.RateWindows)]float64) string {
	var texts []string
	for _, f := range perSecond {
		texts = append(texts, double(f))
	}
	return strings.Join(texts, " ")
}

// size prints a number of bytes for people, as Java does.
func size(bytes int64) string {
	if bytes < 1024 {
		return fmt.Sprintf("%d B", bytes)
	}
	f, unit := float64(bytes)/1024, 0
	for ; f >= 1024 && unit < len("KMGTPE")-1; unit++ {
		f /= 1024
	}
	return fmt.Sprintf("%.1f %ciB", f, "KMGTPE"[unit])
}

// diskSpace is the size of a directory's file system and the room on it, in bytes.
func diskSpace(dir string) (total, free int64) {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil {
		return 0, 0
	}
	return int64(fs.Blocks) * fs.Bsize, int64(fs.Bavail) * fs.Bsize
}

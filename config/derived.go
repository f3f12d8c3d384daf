// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// CommitLogPath is the directory of the commit log, or the separated list of them.
func (s *MessageStoreConfig) CommitLogPath() string {
	return cmp.Or(s.StorePathCommitLog, filepath.Join(s.StorePathRootDir, "commitlog"))
}

// ConsumeQueueFileSize is MappedFileSizeConsumeQueue rounded up to whole units of 20 bytes.
func (s *MessageStoreConfig) ConsumeQueueFileSize() int {
	return (s.MappedFileSizeConsumeQueue + 19) / 20 * 20
}

// PlainACLFile is the file of access rules of 4.x; empty: without ROCKETMQ_HOME there is none.
func (v *BrokerValues) PlainACLFile() string { return v.belowHome(v.Own.PlainACLFile) }

// PlainACLDir is the directory of more of them; empty as above.
func (v *BrokerValues) PlainACLDir() string { return v.belowHome(filepath.Join("conf", "acl")) }

func (v *BrokerValues) belowHome(path string) string {
	switch {
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	case v.RocketmqHome == "":
		return ""
	}
	return filepath.Join(v.RocketmqHome, path)
}

// DiskMaxUsedRatio is DiskMaxUsedSpaceRatio within the limits 10 and 95, percent.
func (s *MessageStoreConfig) DiskMaxUsedRatio() int { return min(max(s.DiskMaxUsedSpaceRatio, 10), 95) }

// DiskWarningRatio is the used part of the disk above which writing stops, as a fraction.
func (v *BrokerValues) DiskWarningRatio() float64 {
	return diskRatio(v.Own.DiskSpaceWarningLevel, v.Store.DiskSpaceWarningLevelRatio)
}

// DiskCleanForciblyRatio is the used part of the disk above which files are deleted even if not expired, as a fraction.
func (v *BrokerValues) DiskCleanForciblyRatio() float64 {
	return diskRatio(v.Own.DiskSpaceCleanForcibly, v.Store.DiskSpaceCleanForciblyRatio)
}

func diskRatio(fraction float64, percent int) float64 {
	if fraction > 0 {
		return fraction
	}
	return float64(min(max(percent, 10), 90)) / 100
}

// DelayLevels is the parsed MessageDelayLevel: index 0 is level 1.
func (s *MessageStoreConfig) DelayLevels() ([]time.Duration, error) {
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}
	var levels []time.Duration
	for _, level := range strings.Split(s.MessageDelayLevel, " ") {
		var unit time.Duration
		if level != "" {
			unit = units[level[len(level)-1]]
		}
		if unit == 0 {
			return nil, fmt.Errorf("messageDelayLevel: %q does not end in s, m, h or d", level)
		}
		n, err := strconv.ParseInt(level[:len(level)-1], 10, 64)
		if err != nil || n < 0 || n > int64(1<<62/unit) {
			return nil, fmt.Errorf("messageDelayLevel: %q is not a number with a unit", level)
		}
		levels = append(levels, time.Duration(n)*unit)
	}
	return levels, nil
}

// normalise does what Java's setters do beyond storing the value.
func (v *BrokerValues) normalise() {
	v.Store.HaListenPort = max(v.Store.HaListenPort, 0)
	switch p := &v.Store.TimerPrecisionMs; {
	case *p < 200:
		*p = 100
	case *p < 500:
		*p = 200
	case *p < 1000:
		*p = 500
	default:
		*p = 1000
	}
}

// sizeBitMaps computes the length of the SQL92 filters' bit maps from the Bloom filter they come from, as Java does while
// it builds the broker: the bits for n entries with an error rate of f, in whole bytes.
func (v *BrokerValues) sizeBitMaps() {
	n, f := float64(v.ExpectConsumerNumUseFilter), float64(v.MaxErrorRateOfBloomFilter)/100
	if n < 1 || f <= 0 || f >= 1 {
		return
	}
	bits := math.Ceil(n * math.Log2(1/f) * math.Log2E)
	v.Store.BitMapLengthConsumeQueueExt = int(math.Ceil(bits/8)) * 8
}

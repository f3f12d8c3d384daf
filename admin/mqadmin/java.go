// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"
)

// How Java prints values.

// double is Double.toString.
func double(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 0):
		return strings.TrimPrefix(fmt.Sprintf("%+.0f", f), "+") + "inity"
	}
	if abs := math.Abs(f); abs != 0 && (abs < 1e-3 || abs >= 1e7) {
		text := strconv.FormatFloat(f, 'E', -1, 64)
		mantissa, exponent, _ := strings.Cut(text, "E")
		if !strings.Contains(mantissa, ".") {
			mantissa += ".0"
		}
		n, _ := strconv.Atoi(exponent)
		return mantissa + "E" + strconv.Itoa(n)
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// number reads a number of a server's text as Java does, 0 if there is none.
func number(text string) float64 {
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		return 0
	}
	return f
}

func whole(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// pairs is AbstractMap.toString of a map in a given order.
func pairs(all iter.Seq2[string, string]) string {
	var words []string
	for k, v := range all {
		words = append(words, k+"="+v)
	}
	return "{" + strings.Join(words, ", ") + "}"
}

// listText is AbstractCollection.toString.
func listText[T any](list []T) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = fmt.Sprint(v)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// orNull prints an absent text as Java prints null.
func orNull(s string) string {
	if s == "" {
		return "null"
	}
	return s
}

// Layouts of times.
const (
	withMillis = "2006-01-02 15:04:05,000"
	// compactMillis needs the dot that Go wants before fractions; time takes it out.
	compactMillis = "20060102150405.000"
	toSecond      = "2006-01-02 15:04:05"
)

func (c *Call) time(millis int64, layout string) string {
	text := time.UnixMilli(millis).In(c.env.Location).Format(layout)
	if layout == compactMillis {
		return strings.Replace(text, ".", "", 1)
	}
	return text
}

// timeOption reads a time: milliseconds, "now", or yyyy-MM-dd#HH:mm:ss:SSS.
func (c *Call) timeOption(name string, def int64) (int64, error) {
	text := c.text(name)
	switch {
	case text == "":
		return def, nil
	case text == "now":
		return c.env.Now().UnixMilli(), nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	// Go reads milliseconds behind a dot or a comma only.
	normal := text
	if i := strings.LastIndexByte(text, ':'); i >= 0 && strings.Count(text, ":") == 3 {
		normal = text[:i] + "." + text[i+1:]
	}
	t, err := time.ParseInLocation("2006-01-02#15:04:05.000", normal, c.env.Location)
	if err != nil {
		return 0, misused("option -%s: %q is no time: want milliseconds or yyyy-MM-dd#HH:mm:ss:SSS", name, text)
	}
	return t.UnixMilli(), nil
}

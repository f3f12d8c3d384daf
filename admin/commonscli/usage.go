// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package commonscli

import "strings"

// The measures of Java's usage texts.
const (
	usageWidth = 110
	leftPad    = 1
	gap        = 3 // between an option and its description
)

// Usage is the text that Java prints for a command: a line with all options, and one for each.
func Usage(name string, options []Option) string {
	var b strings.Builder
	synopsis := "usage: " + name + " " + synopsis(options)
	indent := strings.Index(synopsis, " ") + 1
	wrap(&b, synopsis, indent)

	shown := sorted(options)
	left := make([]string, len(shown))
	width := 0
	for i := range shown {
		left[i] = leftColumn(&shown[i])
		width = max(width, len(left[i]))
	}
	for i := range shown {
		wrap(&b, left[i]+strings.Repeat(" ", width-len(left[i])+gap)+shown[i].About, width+gap)
	}
	return b.String()
}

func leftColumn(o *Option) string {
	text := strings.Repeat(" ", leftPad)
	switch {
	case o.Short == "":
		text += "   --" + o.Long
	case o.Long == "":
		text += "-" + o.Short
	default:
		text += "-" + o.Short + ",--" + o.Long
	}
	if o.Arg {
		text += " <arg>"
	}
	return text
}

func synopsis(options []Option) string {
	var words []string
	done := map[int]bool{}
	shown := sorted(options)
	for i := range shown {
		o := &shown[i]
		switch {
		case o.Group == 0:
			words = append(words, inSynopsis(o, !o.Required))
		case !done[o.Group]:
			done[o.Group] = true
			var members []string
			for j := range shown {
				if shown[j].Group == o.Group {
					members = append(members, inSynopsis(&shown[j], false))
				}
			}
			words = append(words, strings.Join(members, " | "))
		default:
			words = append(words, "") // Java leaves a blank for each further member of a group
		}
	}
	return strings.Join(words, " ")
}

func inSynopsis(o *Option, optional bool) string {
	text := "-" + o.Short
	if o.Short == "" {
		text = "--" + o.Long
	}
	if o.Arg {
		text += " <arg>"
	}
	if optional {
		return "[" + text + "]"
	}
	return text
}

// wrap writes a text in lines of at most usageWidth, all but the first one indented.
func wrap(b *strings.Builder, text string, indent int) {
	pos := wrapAt(text, 0)
	if pos < 0 {
		b.WriteString(strings.TrimRight(text, " ") + "\n")
		return
	}
	b.WriteString(strings.TrimRight(text[:pos], " ") + "\n")
	if indent >= usageWidth {
		indent = 1
	}
	pad := strings.Repeat(" ", indent)
	for {
		text = pad + strings.TrimSpace(text[pos:])
		pos = wrapAt(text, 0)
		if pos < 0 {
			b.WriteString(text + "\n")
			return
		}
		if len(text) > usageWidth && pos == indent-1 {
			pos = usageWidth
		}
		b.WriteString(strings.TrimRight(text[:pos], " ") + "\n")
	}
}

// wrapAt is where a line ends, or -1 if all of it fits.
func wrapAt(text string, start int) int {
	if end := strings.IndexByte(text[start:], '\n'); end >= 0 && end <= usageWidth {
		return start + end + 1
	}
	if start+usageWidth >= len(text) {
		return -1
	}
	for pos := start + usageWidth; pos > start; pos-- {
		if c := text[pos]; c == ' ' || c == '\n' || c == '\r' {
			return pos
		}
	}
	return start + usageWidth
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package commonscli reads command lines by the rules of Java's commons-cli (DefaultParser), and prints usage texts in
// its form, so that whatever was written for Java's mqadmin is understood the same way:
//
//	-t T   -tT   -t=T   --topic T   --topic=T   -topic T   --top T   -lc (two options without value)
//
// An option may come again, its first value counts. Words that are no options are kept. After "--" there are no options.
package commonscli

import (
	"fmt"
	"slices"
	"strings"
)

// Option is one option of a command.
type Option struct {
	Short, Long string // at least one of them
	Arg         bool   // takes a value
	Required    bool
	// Group is not 0 for options of which exactly one must be given: those with the same number.
	Group int
	About string
	// Exact options are ours, not Java's: they are not shown in usage texts, and beginnings of their names do not stand for
	// them, so that they cannot make ambiguous what was not.
	Exact bool
}

// Flag is an option without value.
func Flag(short, long, about string) Option { return Option{Short: short, Long: long, About: about} }

// Arg is an option with a value.
func Arg(short, long, about string) Option {
	return Option{Short: short, Long: long, Arg: true, About: about}
}

// Required is an option with a value that must be given.
func Required(short, long, about string) Option {
	return Option{Short: short, Long: long, Arg: true, Required: true, About: about}
}

// OneOf is an option with a value, one of a group from which one must be chosen.
func OneOf(group int, short, long, about string) Option {
	return Option{Short: short, Long: long, Arg: true, Group: group, About: about}
}

// Name is what messages call the option: the short name, or the long one if there is no other.
func (o *Option) Name() string {
	if o.Short != "" {
		return o.Short
	}
	return o.Long
}

// Values are the options of one command line.
type Values struct {
	set  map[string]string // by name
	Args []string          // words that are no options
}

// Has tells whether an option was given, by its Name.
func (v *Values) Has(name string) bool { _, ok := v.set[name]; return ok }

// Get is the value of an option, "" if it was not given.
func (v *Values) Get(name string) string { return v.set[name] }

// parser goes through one command line.
type parser struct {
	options []Option
	values  *Values
	chosen  map[int]*Option // of each group
	pending *Option         // waits for its value
}

// Parse reads args. The errors are those of commons-cli, word for word.
func Parse(options []Option, args []string) (*Values, error) {
	p := parser{options: options, values: &Values{set: map[string]string{}}, chosen: map[int]*Option{}}
	for i, word := range args {
		if word == "--" && p.pending == nil {
			p.values.Args = append(p.values.Args, args[i+1:]...)
			break
		}
		if err := p.word(word); err != nil {
			return nil, err
		}
	}
	if err := p.valueMissing(); err != nil {
		return nil, err
	}
	return p.values, p.requiredMissing()
}

func (p *parser) word(word string) error {
	switch {
	case p.pending != nil && !p.looksLikeOption(word):
		p.take(stripQuotes(word))
		return nil
	case len(word) < 2 || word[0] != '-':
		p.values.Args = append(p.values.Args, word)
		return nil
	case strings.HasPrefix(word, "--"):
		return p.long(word)
	}
	return p.short(word)
}

// looksLikeOption tells an option from the value of the option before it: a negative number is a value.
func (p *parser) looksLikeOption(word string) bool {
	if len(word) < 2 || word[0] != '-' {
		return false
	}
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	if p.exact(name) != nil || len(p.beginWith(name)) > 0 {
		return true
	}
	if strings.HasPrefix(word, "--") {
		return false
	}
	if isNumber(word) {
		return false
	}
	return name != "" && p.byShort(name[:1]) != nil
}

func isNumber(word string) bool {
	digits := strings.Trim(word[1:], "0123456789.")
	return digits == ""
}

func (p *parser) exact(name string) *Option {
	for i := range p.options {
		if o := &p.options[i]; name != "" && (o.Short == name || o.Long == name) {
			return o
		}
	}
	return nil
}

func (p *parser) byShort(name string) *Option {
	for i := range p.options {
		if o := &p.options[i]; o.Short == name && name != "" {
			return o
		}
	}
	return nil
}

// beginWith lists the options whose long name is, or begins with, a text.
func (p *parser) beginWith(text string) []*Option {
	var found []*Option
	for i := range p.options {
		o := &p.options[i]
		if o.Long == text && text != "" {
			return []*Option{o}
		}
		if text != "" && !o.Exact && strings.HasPrefix(o.Long, text) {
			found = append(found, o)
		}
	}
	return found
}

func (p *parser) long(word string) error {
	name, value, hasValue := strings.Cut(word[2:], "=")
	o, err := p.one(word, "--"+name, name)
	if err != nil {
		return err
	}
	if hasValue && !o.Arg {
		return unrecognized(word)
	}
	return p.give(o, value, hasValue)
}

// one finds the option that a long name, or its beginning, stands for.
func (p *parser) one(word, shown, name string) (*Option, error) {
	found := p.beginWith(name)
	switch len(found) {
	case 0:
		return nil, unrecognized(word)
	case 1:
		return found[0], nil
	}
	names := make([]string, len(found))
	for i, o := range found {
		names[i] = "'" + o.Long + "'"
	}
	return nil, wrong("Ambiguous option: '%s'  (could be: %s)", shown, strings.Join(names, ", "))
}

func (p *parser) short(word string) error {
	text := word[1:]
	name, value, hasValue := strings.Cut(text, "=")
	if o := p.byShort(name); o != nil {
		if hasValue && !o.Arg {
			return unrecognized(word)
		}
		return p.give(o, value, hasValue)
	}
	if len(p.beginWith(name)) > 0 {
		o, err := p.one(word, word, name)
		if err != nil || hasValue && !o.Arg {
			return orElse(err, unrecognized(word))
		}
		return p.give(o, value, hasValue)
	}
	// -tT, where T may be anything, and -ab for -a -b.
	for rest := text; rest != ""; rest = rest[1:] {
		o := p.byShort(rest[:1])
		if o == nil {
			return unrecognized(word)
		}
		if o.Arg {
			return p.give(o, rest[1:], len(rest) > 1)
		}
		if err := p.give(o, "", false); err != nil {
			return err
		}
	}
	return nil
}

func orElse(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

func unrecognized(word string) error { return wrong("Unrecognized option: %s", word) }

// give notes an option, with its value or waiting for it.
func (p *parser) give(o *Option, value string, hasValue bool) error {
	if err := p.valueMissing(); err != nil {
		return err
	}
	if o.Group != 0 {
		if other := p.chosen[o.Group]; other != nil && other != o {
			return wrong("The option '%s' was specified but an option from this group has already been selected: '%s'", o.Name(), other.Name())
		}
		p.chosen[o.Group] = o
	}
	p.pending = o
	if !o.Arg || hasValue {
		p.take(value)
	}
	return nil
}

func (p *parser) take(value string) {
	if name := p.pending.Name(); !p.values.Has(name) {
		p.values.set[name] = value
	}
	p.pending = nil
}

func (p *parser) valueMissing() error {
	if p.pending == nil {
		return nil
	}
	return wrong("Missing argument for option: %s", p.pending.Name())
}

// requiredMissing lists what must be given and was not, groups in brackets with their members' descriptions.
func (p *parser) requiredMissing() error {
	var missing []string
	seen := map[int]bool{}
	for i := range p.options {
		switch o := &p.options[i]; {
		case o.Required && !p.values.Has(o.Name()):
			missing = append(missing, o.Name())
		case o.Group != 0 && !seen[o.Group] && p.chosen[o.Group] == nil:
			seen[o.Group] = true
			missing = append(missing, p.group(o.Group))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	s := ""
	if len(missing) > 1 {
		s = "s"
	}
	return wrong("Missing required option%s: %s", s, strings.Join(missing, ", "))
}

func (p *parser) group(number int) string {
	var members []string
	for i := range p.options {
		if o := &p.options[i]; o.Group == number {
			members = append(members, strings.TrimSpace("-"+o.Name()+" "+o.About))
		}
	}
	return "[" + strings.Join(members, ", ") + "]"
}

func stripQuotes(s string) string {
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' && !strings.Contains(s[1:len(s)-1], `"`) {
		return s[1 : len(s)-1]
	}
	return s
}

// sorted are the options that usage texts show, by name without regard to case.
func sorted(options []Option) []Option {
	shown := slices.DeleteFunc(slices.Clone(options), func(o Option) bool { return o.Exact })
	slices.SortStableFunc(shown, func(a, b Option) int {
		return strings.Compare(strings.ToLower(a.Name()), strings.ToLower(b.Name()))
	})
	return shown
}

// syntaxError has the words of commons-cli.
type syntaxError string

func (e syntaxError) Error() string { return string(e) }

func wrong(format string, args ...any) error { return syntaxError(fmt.Sprintf(format, args...)) }

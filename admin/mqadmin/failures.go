// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"errors"
	"fmt"
	"strings"
)

// errUsage says that the options given are not enough: the usage text is printed.
var errUsage = errors.New("the options given are not enough")

// misuse is an option with a value that it cannot have: exit code 2, as for errUsage.
type misuse string

func (e misuse) Error() string { return string(e) }

func (e misuse) Is(target error) bool { return target == errUsage }

func misused(format string, args ...any) error { return misuse(fmt.Sprintf(format, args...)) }

// Refusal is an answer that is no success, printed as Java prints its exceptions.
type Refusal struct {
	Code   int32
	Remark string
	Addr   string // of a broker; "" for name servers and for what the tool itself refuses
}

func (r *Refusal) Error() string {
	text := fmt.Sprintf("CODE: %d  DESC: %s", r.Code, r.Remark)
	if r.Addr != "" {
		text += " BROKER: " + r.Addr
	}
	return text
}

func refuse(code int32, format string, args ...any) error {
	return &Refusal{Code: code, Remark: fmt.Sprintf(format, args...)}
}

// javaError has the words of Java's tool, which scripts may look for.
type javaError string

func (e javaError) Error() string { return string(e) }

func inJava(format string, args ...any) error { return javaError(fmt.Sprintf(format, args...)) }

// failures are what several servers failed with. Each is told by itself.
type failures []error

func (f failures) Error() string {
	var texts []string
	for _, err := range f {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "; ")
}

func (f failures) Unwrap() []error { return f }

func (f failures) orNil() error {
	switch len(f) {
	case 0:
		return nil
	case 1:
		return f[0]
	}
	return f
}

// each does something with every one of several servers, also with those behind one that fails.
func each[T any](c *Call, list []T, do func(T) error) error {
	var failed failures
	for _, one := range list {
		if err := do(one); err != nil {
			failed = append(failed, err)
		}
		if c.ctx.Err() != nil {
			break
		}
	}
	return failed.orNil()
}

// fail reports an error, once, and goes on; the exit code will be 1.
func (c *Call) fail(err error) {
	if several, ok := err.(failures); ok { // what wraps them has a text of its own
		for _, err := range several {
			c.fail(err)
		}
		return
	}
	c.clearProgress()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, told := range c.failed {
		if told.Error() == err.Error() {
			return
		}
	}
	c.failed = append(c.failed, err)
	c.print(err)
}

// failUnlessRefused reports an error that is no answer: a server that cannot be asked.
func (c *Call) failUnlessRefused(err error) {
	several, ok := err.(failures)
	if !ok {
		several = failures{err}
	}
	for _, err := range several {
		if r := (*Refusal)(nil); err != nil && !errors.As(err, &r) {
			c.fail(err)
		}
	}
}

// note tells something that is no failure on standard error, and in a document.
func (c *Call) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	fmt.Fprintf(c.env.Stderr, "mqadmin %s: note: %s\n", c.cmd.Name, text)
	c.add("notes", text)
}

// print writes an error on standard error.
func (c *Call) print(err error) {
	fmt.Fprintf(c.env.Stderr, "mqadmin %s: %v\n", c.cmd.Name, err)
}

// documented are the failures as a document lists them.
func (c *Call) documented() []any {
	var list []any
	for _, err := range c.failed {
		o := object{{"message", err.Error()}}
		var r *Refusal
		if errors.As(err, &r) {
			o = append(o, member{"code", r.Code}, member{"remark", r.Remark})
			if r.Addr != "" {
				o = append(o, member{"brokerAddr", r.Addr})
			}
		}
		list = append(list, o)
	}
	return list
}

// finish prints what is left to print and decides the exit code.
func (c *Call) finish(err error) int {
	c.clearProgress()
	if errors.Is(err, errUsage) {
		if !c.document() {
			_ = c.flush() // the exit code is that of the mistake
		}
		c.print(err)
		return exitUsage
	}
	if err != nil {
		c.fail(err)
	}
	if c.document() && len(c.failed) > 0 {
		c.doc = append(c.doc, member{"errors", c.documented()})
	}
	if err := c.flush(); err != nil {
		c.fail(err)
	}
	if len(c.failed) > 0 {
		return exitFailed
	}
	return exitOK
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"rocketmq-go/compat/properties"
)

// BlackListError refuses a hot update (answer code 16, NO_PERMISSION); Error is the remark of the answer.
type BlackListError struct {
	Key    string
	remark string
}

func (e *BlackListError) Error() string { return e.remark }

// BadValueError refuses a hot update because a value does not fit its key. Java applies the other keys and says
// nothing, and takes any text but true for false; here nothing of the request is applied.
type BadValueError struct {
	Key, Value string
	wanted     string
}

func (e *BadValueError) Error() string {
	return fmt.Sprintf("configuration key %s: %q is not %s", e.Key, e.Value, e.wanted)
}

// Change is what an update did.
type Change struct {
	Keys    []string // keys of the request that the configuration knows, sorted
	Ignored []string // keys it does not know; Java drops them in silence
	Notes   []string // what who asks should know: which key is unknown, has no effect, or holds from the next start on only
	SaveErr error    // why the file could not be rewritten; the values hold in memory all the same
}

// maxNotes bounds the notes of an update, whose keys anybody can make up.
const maxNotes = 20

func (c *Change) note(key, text string) {
	if text != "" && len(c.Notes) < maxNotes {
		c.Notes = append(c.Notes, fmt.Sprintf("%.100s: %s", key, text))
	}
}

// Has reports whether the request named the key, whether or not with a new value.
func (c Change) Has(key string) bool { return slices.Contains(c.Keys, key) }

// Update is the hot update of codes 25 and 318: body is a properties text in UTF-8. Errors are *BlackListError,
// *BadValueError, *ExitError for what would also refuse a start, or of a malformed body; then nothing was applied.
// Otherwise the values hold from now on, those of keys with AtStart from the next start on; the data version counts one up,
// the file is rewritten, its former content kept in FILE.bak, and subscribers have been told. An empty body changes nothing.
func (c *Config[T]) Update(body []byte) (Change, error) {
	if len(body) == 0 {
		return Change{}, nil
	}
	list, err := properties.Parse(body)
	if err != nil {
		return Change{}, err
	}
	request := asMap(list)
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.current.Load()
	next := old.clone()
	change, settings, err := c.merge(next, request)
	if err == nil {
		err = updateError(c.role.fixed(&old.values, &next.written))
	}
	if err != nil {
		return Change{}, err
	}
	next.version.Counter++
	next.version.Timestamp = c.now().UnixMilli()
	c.current.Store(next)
	change.SaveErr = c.save(next, settings)
	for _, f := range c.subscribers {
		f(&old.values, &next.values, change.Keys)
	}
	return change, nil
}

// merge applies a request to a fresh copy of the state. It returns the settings that belong into the file.
func (c *Config[T]) merge(s *state[T], request map[string]string) (Change, map[string]string, error) {
	var change Change
	settings := map[string]string{}
	byName := settable(c.keys)
	shown := c.exposed(s)
	objects := c.role.objects(&s.written)
	protect := c.role.own(&s.values).ProtectPathKeys
	names := slices.Sorted(maps.Keys(request))
	for _, name := range names {
		if c.blocked[name] || protect && slices.ContainsFunc(byName[name], func(k *Key) bool { return k.Path }) {
			return change, nil, c.blackListError(name)
		}
	}
	for _, name := range names {
		value := utf8Text(request[name])
		known, note := false, ""
		for _, k := range byName[name] {
			_, inFile := shown[name]
			if !objects[k.object].exposed && !inFile && !k.Always && !security(k) {
				continue
			}
			known = true
			before := text(k.valueIn(objects))
			if !setText(k.valueIn(objects), value) || k.Type == "boolean" && !isBoolean(value) {
				return change, nil, &BadValueError{name, value, k.wanted(value)}
			}
			s.set[k.id()] = true
			note = k.updateNote(before != text(k.valueIn(objects)), c.file != "")
		}
		if _, inFile := shown[name]; inFile {
			known = true
			s.extra[name] = value
		}
		if !known {
			change.Ignored = append(change.Ignored, name)
			if byName[name] != nil {
				change.note(name, "is taken from the file only, unless the file names it already: write it there and restart")
			} else if len(change.Notes) < maxNotes {
				change.note(name, unknown(name, value, c.keys, objects, slices.Collect(maps.Keys(byName))))
			}
			continue
		}
		change.note(name, note)
		change.Keys = append(change.Keys, name)
		settings[name] = value
	}
	c.role.normalise(&s.written)
	c.enforce(s)
	return change, settings, updateError(c.role.refuse(&s.written))
}

// enforce puts into force what is written, except for the keys that are read at a start.
func (c *Config[T]) enforce(s *state[T]) {
	was := s.values
	s.values = s.written
	from, to := c.role.objects(&was), c.role.objects(&s.values)
	for i := range c.keys {
		if k := &c.keys[i]; k.AtStart {
			k.valueIn(to).Set(k.valueIn(from))
		}
	}
}

// updateNote says what becomes of an update of the key that is not what it looks like. kept: there is a file that the next
// start reads.
func (k *Key) updateNote(changed, kept bool) string {
	switch {
	case k.NoEffect != "":
		return "without effect: " + k.NoEffect
	case k.Feature != "":
		return "without effect: it belongs to " + k.Feature + ", which this version does not have"
	case k.AtStart && changed && !kept:
		return "without effect: it is read at the start, and this process was started without -c"
	case k.AtStart && changed:
		return "holds from the next start on"
	}
	return ""
}

// security keys are looked at even where Java would drop them unseen, so that asking for enforcement is never answered
// with success while nothing is enforced.
func security(k *Key) bool { return k.Object == "AuthConfig" }

func (c *Config[T]) blackListError(key string) error {
	remark := "Can not update config in black list."
	if c.version == V497 && c.role.remark497 != "" {
		remark = c.role.remark497
	}
	return &BlackListError{key, remark}
}

// blockedKeys is the black list of hot update. Like Java's it is computed at start, and it holds for 4.9.7 too.
func blockedKeys[T any](r role[T], v *T) map[string]bool {
	blocked := map[string]bool{"compatVersion": true}
	for _, key := range append(strings.Split(r.blackList(v), ";"), r.blocked...) {
		if key = trim(key); key != "" {
			blocked[key] = true
		}
	}
	return blocked
}

// utf8Text undoes the reading of a UTF-8 body as ISO-8859-1, which garbles everything beyond ASCII in Java.
func utf8Text(s string) string {
	raw := make([]byte, 0, len(s))
	for _, r := range s {
		if r > 0xff {
			return s
		}
		raw = append(raw, byte(r))
	}
	if utf8.Valid(raw) {
		return string(raw)
	}
	return s
}

// save writes the settings of an update to the file: in place of the lines that set these keys, or at the end, so that
// comments and all other lines stay. Without -c the whole configuration goes to a file of the store, which nothing reads at start.
func (c *Config[T]) save(s *state[T], settings map[string]string) error {
	path := c.file
	if path == "" {
		path = c.role.storeFile(&s.written)
		settings = c.exposed(s)
	}
	if path == "" {
		return nil
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	base := old
	if c.file == "" {
		base = nil
	}
	data, err := rewrite(base, settings)
	if err != nil {
		return err
	}
	return replaceFile(path, old, data)
}

// rewrite puts settings into a properties text.
func rewrite(old []byte, settings map[string]string) ([]byte, error) {
	lines, err := properties.Lines(old)
	if err != nil {
		return nil, err
	}
	var out []byte
	written := map[string]bool{}
	for _, l := range lines {
		value, replaced := settings[l.Key]
		if l.Comment || !replaced {
			out = append(out, old[l.Start:l.End]...)
			continue
		}
		if !written[l.Key] {
			out = appendSetting(out, l.Key, value)
			written[l.Key] = true
		}
	}
	// A backslash at the end of the old text would make the first new line its continuation.
	if open := bytes.TrimRight(out, "\r\n"); (len(open)-len(bytes.TrimRight(open, `\`)))%2 == 1 {
		out = append(open, '\n', '\n')
	}
	for _, key := range slices.SortedFunc(maps.Keys(settings), compareUTF16) {
		if !written[key] {
			out = appendSetting(out, key, settings[key])
		}
	}
	return out, nil
}

func appendSetting(out []byte, key, value string) []byte {
	if n := len(out); n > 0 && out[n-1] != '\n' && out[n-1] != '\r' {
		out = append(out, '\n')
	}
	out = append(out, escape(key, " :=#!")...)
	out = append(out, '=')
	out = append(out, escape(value, "")...)
	return append(out, '\n')
}

// escape writes text so that parse reads it back.
func escape(s, special string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\n':
			b.WriteString("\\n")
		case r == '\r':
			b.WriteString("\\r")
		case r == '\t':
			b.WriteString("\\t")
		case r == '\f':
			b.WriteString("\\f")
		case r == '\\' || strings.ContainsRune(special, r) || r == ' ' && i == 0:
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r > '~':
			for _, u := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(&b, "\\u%04X", u)
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// replaceFile writes a file so that a crash leaves the old or the new one, and keeps the former content as PATH.bak.
func replaceFile(path string, old, data []byte) error {
	mode := os.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if old != nil {
		if err := writeFile(path+".bak", old, mode); err != nil {
			return err
		}
	}
	if err := writeFile(path+".tmp", data, mode); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

func writeFile(path string, data []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// UpdateRefusal is what name servers and controllers answer when Update has failed: whether the key is forbidden, and the text.
func UpdateRefusal(err error) (forbidden bool, text string) {
	var black *BlackListError
	var bad *BadValueError
	var exit *ExitError
	switch {
	case errors.As(err, &black):
		return true, err.Error()
	case errors.As(err, &bad), errors.As(err, &exit):
		return false, err.Error()
	}
	return false, "string2Properties error"
}

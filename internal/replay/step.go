// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package replay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// Step is one line of a recording; see the package comment.
type Step struct {
	ID        string            `json:"id"`
	Note      string            `json:"note"`
	To        string            `json:"to"`
	Conn      string            `json:"conn"`
	Op        string            `json:"op"`
	Ref       string            `json:"ref"`
	Async     bool              `json:"async"`
	WaitMs    int               `json:"waitMs"`
	TimeoutMs *int              `json:"timeoutMs"`
	OnlyCode  *int32            `json:"onlyCode"`
	First     bool              `json:"first"`
	Messages  *bool             `json:"messages"`
	Save      map[string]string `json:"save"`
	Derive    map[string]string `json:"derive"`

	Code         int32            `json:"code"`
	Version      *int32           `json:"version"`
	Language     string           `json:"language"`
	Flag         int32            `json:"flag"`
	Remark       *string          `json:"remark"`
	ExtFields    map[string]any   `json:"extFields"`
	PropertiesOf map[string]pairs `json:"propertiesOf"`
	BodyText     *string          `json:"bodyText"`
	BodyHex      *string          `json:"bodyHex"`
	BodyRepeat   *repeat          `json:"bodyRepeat"`
	Batch        []batchMessage   `json:"batch"`

	Expect    map[string]any `json:"expect"`
	Volatile  []string       `json:"volatile"`
	Unordered []string       `json:"unordered"`
	CodeOnly  bool           `json:"codeOnly"`
	NoCheck   bool           `json:"noCheck"`
}

type repeat struct {
	Text  string
	Times int
}

func (r *repeat) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&r.Text, &r.Times})
}

type batchMessage struct {
	BodyText   string `json:"bodyText"`
	Properties pairs  `json:"properties"`
	Flag       int32  `json:"flag"`
}

// Load reads the steps of a recording. Lines without an id are comments.
func Load(r io.Reader) ([]*Step, error) {
	var steps []*Step
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			st := new(Step)
			if err := decodeJSON(line, st); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			if st.ID != "" {
				steps = append(steps, st)
			}
		}
		if err == io.EOF {
			return steps, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// LoadFile reads a recording, perhaps with gzip.
func LoadFile(path string) ([]*Step, error) {
	r, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	steps, err := Load(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return steps, nil
}

// Open opens a file and inflates it if its name ends in .gz.
func Open(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil || !strings.HasSuffix(path, ".gz") {
		return f, err
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{z, f}, nil
}

// decodeJSON keeps numbers as they are written.
func decodeJSON(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return d.Decode(v)
}

// request makes the frame of a step.
func (st *Step) request(env *env) (*Frame, error) {
	f := &Frame{Code: st.Code, Language: "JAVA", Version: 475, Flag: st.Flag, Remark: st.Remark}
	if st.Language != "" {
		f.Language = st.Language
	}
	if st.Version != nil {
		f.Version = *st.Version
	}
	if st.ExtFields != nil {
		f.ExtFields = make(map[string]any, len(st.ExtFields))
		for k, v := range st.ExtFields {
			f.ExtFields[k] = env.fill(v)
		}
	}
	for field, p := range st.PropertiesOf {
		if f.ExtFields == nil {
			f.ExtFields = make(map[string]any)
		}
		f.ExtFields[field] = env.properties(p)
	}
	err := st.body(f, env)
	if err == nil {
		err = env.err
	}
	return f, err
}

func (st *Step) body(f *Frame, env *env) (err error) {
	switch {
	case st.Batch != nil:
		for _, m := range st.Batch {
			f.Body = appendBatched(f.Body, env.text(m.BodyText), env.properties(m.Properties), m.Flag)
		}
	case st.BodyHex != nil:
		f.Body, err = hex.DecodeString(*st.BodyHex)
	case st.BodyRepeat != nil:
		f.Body = bytes.Repeat([]byte(st.BodyRepeat.Text), st.BodyRepeat.Times)
	case st.BodyText != nil:
		f.Body = []byte(env.text(*st.BodyText))
	}
	return err
}

// appendBatched appends one inner message of a batch.
func appendBatched(b []byte, body, properties string, flag int32) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(4*5+len(body)+2+len(properties)))
	b = binary.BigEndian.AppendUint64(b, 0) // magic and checksum
	b = binary.BigEndian.AppendUint32(b, uint32(flag))
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
	b = append(b, body...)
	b = binary.BigEndian.AppendUint16(b, uint16(len(properties)))
	return append(b, properties...)
}

// pairs are the members of a JSON object in the order in which they stand.
type pairs []pair

type pair struct {
	name  string
	value any
}

func (p *pairs) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("properties are no object: %v, %w", t, err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value any
		if err := d.Decode(&value); err != nil {
			return err
		}
		*p = append(*p, pair{name.(string), value})
	}
	return nil
}

// properties joins message properties in the order of the recording.
func (e *env) properties(p pairs) string {
	var b strings.Builder
	for _, one := range p {
		fmt.Fprintf(&b, "%s\x01%v\x02", one.name, e.fill(one.value))
	}
	return b.String()
}

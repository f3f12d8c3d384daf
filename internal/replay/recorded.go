// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package replay

import (
	"bufio"
	"encoding/json"
	"io"
)

// Tapped is one frame of recorded traffic between two processes.
type Tapped struct {
	Link    string `json:"link,omitempty"`
	Conn    int    `json:"conn"`
	Dir     string `json:"dir"`             // c2s or s2c
	Event   string `json:"event,omitempty"` // open or close, without a frame
	Kind    string `json:"kind,omitempty"`  // request or response
	Code    int32  `json:"code"`
	ReqCode int32  `json:"reqCode,omitempty"` // of a response
	Bytes   []byte `json:"frame,omitempty"`   // the whole frame with its length word
}

// LoadTapped reads recorded traffic.
func LoadTapped(r io.Reader) ([]*Tapped, error) {
	var out []*Tapped
	d := json.NewDecoder(bufio.NewReader(r))
	for {
		t := new(Tapped)
		switch err := d.Decode(t); err {
		case nil:
			out = append(out, t)
		case io.EOF:
			return out, nil
		default:
			return nil, err
		}
	}
}

// Frame is the parsed frame.
func (t *Tapped) Frame() (*Frame, error) {
	if len(t.Bytes) < 4 {
		return nil, io.ErrUnexpectedEOF
	}
	return parseFrame(t.Bytes[4:])
}

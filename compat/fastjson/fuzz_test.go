// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package fastjson

import (
	"bytes"
	"testing"
)

// Whatever is read can be printed, and what is printed can be read and stays the same, in every form.
func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"byInt":{0:"a",1L:'b'},"byKey":{{"id":1}:2,"{}":3},"nodes":[{"$ref":"$.nodes[1]"},{"name":"\u00e9"},],/*c*/f:1e3}`))
	f.Add([]byte(`{"byName":{"a":{"set":[{"id":1},{"id":1}]}},"next":{"$ref":"$.byName.a"},"bytes":"AQL/","deep":[{"x":[{}]}]}`))
	f.Add([]byte(`{"opt":6.0,"on":"1","color":1,"tongue":"go","small":"","list":[,"a",{"b":[]}]} // end`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var n node
		if Unmarshal(text, &n) != nil {
			return
		}
		for _, o := range []Options{{}, {Standard: true}, {Pretty: true}, {Omit: "v5"}} {
			first := o.Marshal(&n)
			var again node
			if err := Unmarshal(first, &again); err != nil {
				t.Fatalf("%+v: cannot read %q: %v", o, first, err)
			}
			if second := o.Marshal(&again); !bytes.Equal(first, second) {
				t.Fatalf("%+v: %q became %q", o, first, second)
			}
		}
	})
}

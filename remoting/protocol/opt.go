// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package protocol

// Opt is a value that may be absent, as the boxed fields (String, Integer, Long, Boolean) of Java's headers may be
// null. The zero Opt is absent. A field that is absent is left out of extFields.
type Opt[T any] struct {
	V   T
	Set bool
}

// Some is a present value.
func Some[T any](v T) Opt[T] { return Opt[T]{V: v, Set: true} }

// Or is the value, or def when it is absent.
func (o Opt[T]) Or(def T) T {
	if o.Set {
		return o.V
	}
	return def
}

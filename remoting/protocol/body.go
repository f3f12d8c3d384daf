// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package protocol

//go:generate go run ./bodygen bodygen/bodies.txt body_gen.go body_names_gen_test.go

// EnumNames lists the names in the order of their numbers.
func (Language) EnumNames() []string { return languageNames[:] }

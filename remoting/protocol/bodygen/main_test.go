// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"bufio"
	"bytes"
	"os"
	"strings"
	"testing"
)

// The generated files are those of the table. (After a change: go generate in remoting/protocol.)
func TestGenerated(t *testing.T) {
	in, err := os.Open("bodies.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	table, err := parse(bufio.NewScanner(in))
	if err != nil {
		t.Fatal(err)
	}
	for file, src := range map[string][]byte{"../body_gen.go": table.generate(), "../body_names_gen_test.go": table.names()} {
		want, err := formatted(src)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the table makes, %v", file, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, text := range []string{"\tfield String", "Class\n\tfield", "Class : None\n\tf int", "Class\n\tf Map<String,", "Class\n\tf Nothing"} {
		if _, err := parse(bufio.NewScanner(strings.NewReader(text))); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

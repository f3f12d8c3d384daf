// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package protocol

import (
	"errors"
	"os"
	"strings"
	"testing"

	"rocketmq-go/compat/fastjson"
)

// differentReading has what we print where Java prints something else.
var differentReading = map[string]string{
	// A list that Java never leaves null is empty with us, not null.
	"null map": `{"brokerDatas":[],"filterServerTable":{},"queueDatas":[]}`,
	// The order of Java's set differs, and the second subscription is printed in full instead of as a reference.
	"$ref": `{"clientID":"c","consumerDataSet":[` +
		`{"groupName":"g1","subscriptionDataSet":[{"classFilterMode":false,"codeSet":[],"expressionType":"TAG","subString":"*","subVersion":0,"tagsSet":[],"topic":"t"}],"unitMode":false},` +
		`{"groupName":"g2","subscriptionDataSet":[{"classFilterMode":false,"codeSet":[],"expressionType":"TAG","subString":"*","subVersion":0,"tagsSet":[],"topic":"t"}],"unitMode":false}` +
		`],"heartbeatFingerprint":0,"producerDataSet":[],"withoutSub":false}`,
}

// Odd texts are read as Java reads them.
func TestBodyReading(t *testing.T) {
	text, err := os.ReadFile("testdata/bodies/reading.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for line := range strings.Lines(string(text)) {
		w := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(w) != 4 {
			continue
		}
		cases++
		name, want := w[0], w[3]
		if d, ok := differentReading[name]; ok {
			want = d
		}
		body := bodyNamed[w[1]]()
		err := fastjson.Unmarshal([]byte(w[2]), body)
		got := creationTime.ReplaceAllString(string(fastjson.Marshal(body)), "${1}0")
		want = creationTime.ReplaceAllString(want, "${1}0")
		switch {
		case want == "null":
			if !errors.Is(err, fastjson.ErrNull) {
				t.Errorf("%s: %v, want ErrNull", name, err)
			}
		case strings.HasPrefix(want, "ERROR"):
			if err == nil {
				t.Errorf("%s: read as %s, want an error", name, got)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case got != want:
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
	if cases < 35 {
		t.Errorf("%d cases", cases)
	}
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package commonscli_test

import (
	"fmt"
	"strings"
	"testing"

	"rocketmq-go/admin/commonscli"
)

func options() []commonscli.Option {
	return []commonscli.Option{
		commonscli.OneOf(1, "b", "brokerAddr", "which broker"),
		commonscli.OneOf(1, "c", "clusterName", "which cluster"),
		commonscli.Required("t", "topic", "topic name"),
		commonscli.Flag("l", "list", "as a list"),
		{Short: "o", Long: "output", Arg: true, Exact: true},
	}
}

func Example() {
	options := options()
	v, err := commonscli.Parse(options, []string{"-lt", "T", "--broker=127.0.0.1:10911"})
	fmt.Println(v.Get("t"), v.Get("b"), v.Has("l"), err)
	_, err = commonscli.Parse(options, []string{"-t", "T"})
	fmt.Println(err)
	fmt.Print(commonscli.Usage("tool", options))
	// Output:
	// T 127.0.0.1:10911 true <nil>
	// Missing required option: [-b which broker, -c which cluster]
	// usage: tool -b <arg> | -c <arg>  [-l] -t <arg>
	//  -b,--brokerAddr <arg>    which broker
	//  -c,--clusterName <arg>   which cluster
	//  -l,--list                as a list
	//  -t,--topic <arg>         topic name
}

// Options that Java does not have must not change what Java understands.
func TestExact(t *testing.T) {
	all := append(options(), commonscli.Arg("", "outer", ""))
	v, err := commonscli.Parse(all, []string{"--out", "x", "--output", "json", "-t", "T", "-b", "B"})
	if err != nil || v.Get("outer") != "x" || v.Get("o") != "json" {
		t.Errorf("%+v, %v", v, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"-t T -b x", "-lt=T -bx", "--topic=T --", "-t -5 -b -x", "--=", "-", "-- -t", "-l=", "--b=\"q\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if v, err := commonscli.Parse(options(), strings.Fields(line)); (v == nil) == (err == nil) && err == nil {
			t.Error("neither values nor an error")
		}
	})
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package sql92_test

import (
	"fmt"

	"rocketmq-go/broker/filter/sql92"
	"rocketmq-go/message"
)

func Example() {
	f, err := sql92.Compile("price BETWEEN 10 AND 20 AND region IN ('eu', 'us')")
	if err != nil {
		panic(err)
	}
	properties := message.AppendProperty(nil, "price", "17")
	fmt.Println(f.Eval(properties))
	properties = message.AppendProperty(properties, "region", "eu")
	fmt.Println(f.Match(properties))

	_, err = sql92.Compile("price > 'low'")
	fmt.Println(err)
	// Output:
	// null
	// true
	// java.lang.RuntimeException: Value ''low'' cannot be compared.
}

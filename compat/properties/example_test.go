// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package properties_test

import (
	"fmt"

	"rocketmq-go/compat/properties"
)

func ExampleParse() {
	list, err := properties.Parse([]byte("# broker.conf\nbrokerName = broker-a\nlistenPort: 10911\n"))
	if err != nil {
		fmt.Println(err)
	}
	fmt.Print(string(list.Append(nil)))
	// Output:
	// brokerName=broker-a
	// listenPort=10911
}

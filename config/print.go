// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"bufio"
	"io"
	"time"
)

// Print writes the configuration as -p does, one log line per key in the order of Java's declarations; important
// restricts it to the keys of -m. Strings that are null are shown as empty. The values are those of the start.
func (c *Config[T]) Print(w io.Writer, important bool) error {
	values := c.launched.values
	objects := c.role.objects(&values)
	stamp := c.now().In(time.FixedZone("GMT+8", 8*60*60)).Format(time.DateTime)
	out := bufio.NewWriter(w)
	for _, k := range c.printed(objects) {
		if important && !k.Important {
			continue
		}
		out.WriteString(stamp + " INFO main - " + k.Name + "=" + text(k.valueIn(objects)) + "\n")
	}
	return out.Flush()
}

// printed lists the keys in the order of -p. The keys of BrokerIdentity are missing in 5.x; 4.9.7 has them in
// BrokerConfig, behind the addresses.
func (c *Config[T]) printed(objects []object) []*Key {
	var list, identity []*Key
	for i := range c.keys {
		k := &c.keys[i]
		if _, exists := k.in(c.version); !exists {
			continue
		}
		switch {
		case k.Object == "BrokerIdentity":
			identity = append(identity, k)
		case objects[k.object].printed:
			list = append(list, k)
		}
		if k.Name == "brokerIP2" && c.version == V497 {
			list = append(list, identity...)
		}
	}
	return list
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"fmt"
	"strconv"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

// Access control of 4.x: brokers of 5.x answer that they do not know these requests.

func updateAclConfig(c *Call) error {
	h := &protocol.CreateAccessConfigRequestHeader{
		AccessKey: protocol.Some(c.text("a")), SecretKey: protocol.Some(c.text("s")), Admin: c.bool("m"),
	}
	for name, to := range map[string]*protocol.Opt[string]{
		"w": &h.WhiteRemoteAddress, "i": &h.DefaultTopicPerm, "u": &h.DefaultGroupPerm, "t": &h.TopicPerms, "g": &h.GroupPerms,
	} {
		if c.Has(name) {
			*to = protocol.Some(c.text(name))
		}
	}
	if err := c.onMasters(ask(protocol.ReqUpdateAndCreateAclConfig, h), "create or update plain access config to %s success."); err != nil {
		return err
	}
	list := func(name string) string {
		if !c.Has(name) {
			return "null"
		}
		return listText(c.names(name))
	}
	c.printf("PlainAccessConfig{accessKey='%s', whiteRemoteAddress='%s', admin=%t, defaultTopicPerm='%s', defaultGroupPerm='%s', topicPerms=%s, groupPerms=%s}\n",
		c.text("a"), orNull(c.text("w")), h.Admin, orNull(c.text("i")), orNull(c.text("u")), list("t"), list("g"))
	return nil
}

func deleteAclConfig(c *Call) error {
	if err := c.onMasters(ask(protocol.ReqDeleteAclConfig, &protocol.DeleteAccessConfigRequestHeader{AccessKey: protocol.Some(c.text("a"))}),
		"delete plain access config account from %s success."); err != nil {
		return err
	}
	c.done("account's accesskey is:%s\n", c.text("a"))
	return nil
}

func updateGlobalWhiteAddr(c *Call) error {
	h := &protocol.UpdateGlobalWhiteAddrsConfigRequestHeader{GlobalWhiteAddrs: protocol.Some(c.text("g"))}
	if c.Has("p") {
		h.AclFileFullPath = protocol.Some(c.text("p"))
	}
	return c.onMasters(ask(protocol.ReqUpdateGlobalWhiteAddrsConfig, h), "update global white remote addresses to %s success.")
}

func clusterAclConfigVersion(c *Call) error {
	const format = "%-16v  %-22v  %-22v  %-20v  %-22v  %-22v\n"
	var t *table
	if err := c.onEach(func(n node) error {
		answer, err := c.send(n.addr, ask(protocol.ReqGetBrokerClusterAclInfo, nil))
		if err != nil {
			return err
		}
		var h protocol.GetBrokerAclConfigResponseHeader
		if err := h.ParseFields(&answer.Fields); err != nil {
			return err
		}
		files := fastjson.MapOf[string, protocol.DataVersion](0)
		if err := fastjson.Unmarshal([]byte(h.AllAclFileVersion.V), &files); err != nil && h.AllAclFileVersion.V != "" {
			return fmt.Errorf("the answer cannot be read: %w", err)
		}
		if t == nil {
			t = c.table("files", format, format, "#Cluster Name", "#Broker Name", "#Broker Addr", "#AclFilePath", "#AclConfigVersionNum", "#AclLastUpdateTime")
		}
		for path, v := range files.All() {
			t.add(h.ClusterName.V, h.BrokerName.V, h.BrokerAddr.V, path, v.Counter, c.time(v.Timestamp, toSecond))
		}
		return nil
	}); err != nil {
		return err
	}
	of := "cluster"
	if c.Has("b") {
		of = "broker"
	}
	c.printf("get %s's plain access config version success.\n", of)
	return nil
}

func getAclConfig(c *Call) error {
	return c.onEach(func(n node) error {
		config, err := fetch[protocol.AclConfig](c, n.addr, ask(protocol.ReqGetBrokerClusterAclConfig, nil))
		if err != nil {
			return err
		}
		c.add("brokers", object{{"addr", n.addr}, {"aclConfig", plain(config)}})
		c.printf("\n%-20s: %s\n", "globalWhiteRemoteAddresses", listText(config.GlobalWhiteAddrs))
		c.printf("\naccounts:\n")
		for _, a := range config.PlainAccessConfigs {
			for _, f := range [][2]string{
				{"accessKey", a.AccessKey},
				{"whiteRemoteAddress", a.WhiteRemoteAddress},
				{"admin", strconv.FormatBool(a.Admin)},
				{"defaultTopicPerm", a.DefaultTopicPerm},
				{"defaultGroupPerm", a.DefaultGroupPerm},
				{"topicPerms", permsText(a.TopicPerms)},
				{"groupPerms", permsText(a.GroupPerms)},
			} {
				c.printf("%-1s %-18s: %s\n", "", f[0], f[1])
			}
			c.printf("\n")
		}
		return nil
	})
}

// permsText is blank where a file has no list.
func permsText(list []string) string {
	if list == nil {
		return ""
	}
	return listText(list)
}

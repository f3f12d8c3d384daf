// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package topic

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"rocketmq-go/remoting/protocol"
)

// TestScenarios runs the stories under testdata/scenario. Commands:
//
//	rules auto=false mixed=true compat49=true   configuration from here on (a fresh table when compat49 is given)
//	send topic=A after=TBW102 queues=4          creation by a send
//	update topic=A read=4 write=4 perm=6 attributes=(+message.type=FIFO)
//	delete topic=A
//	show topic=A
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenario", func(t *testing.T, path string) {
		rules := Rules{AutoCreate: true, ValidateSystem: true}
		o := Options{Rules: func() Rules { return rules }}
		table := newTable(t, o)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s := scenario{d: d, t: t, table: table}
			switch d.Cmd {
			case "rules":
				d.MaybeScanArgs(t, "auto", &rules.AutoCreate)
				d.MaybeScanArgs(t, "mixed", &rules.EnableMixedType)
				if d.MaybeScanArgs(t, "compat49", &o.Compat49) {
					table = newTable(t, o)
				}
				return ""
			case "send":
				return s.send()
			case "update":
				return s.update()
			case "delete":
				return s.delete()
			case "show":
				return describe(table.Get(s.arg("topic")))
			}
			return "unknown command"
		})
	})
}

type scenario struct {
	d     *datadriven.TestData
	t     *testing.T
	table *Table
}

func (s scenario) arg(name string) (value string) {
	s.d.MaybeScanArgs(s.t, name, &value)
	return value
}

func (s scenario) number(name string, def int32) int32 {
	n := int(def)
	s.d.MaybeScanArgs(s.t, name, &n)
	return int32(n)
}

func (s scenario) send() string {
	cfg, err := s.table.CreateOnSend(s.arg("topic"), s.arg("after"), s.number("queues", 4), s.number("sysflag", 0))
	if err != nil {
		return refusal(err)
	}
	return describe(cfg)
}

func (s scenario) update() string {
	cfg := protocol.NewTopicConfig()
	cfg.TopicName = s.arg("topic")
	cfg.ReadQueueNums, cfg.WriteQueueNums = s.number("read", 4), s.number("write", 4)
	cfg.Perm = s.number("perm", 6)
	var err error
	if cfg.Attributes, err = ParseAttributes(strings.ReplaceAll(s.arg("attributes"), ";", ",")); err != nil {
		return refusal(err)
	}
	before := s.table.DataVersion().Counter
	changed, err := s.table.Update(cfg)
	if err != nil {
		return refusal(err)
	}
	if changed != (s.table.DataVersion().Counter == before+1) {
		return "the data version does not follow"
	}
	if !changed {
		return "not changed"
	}
	return describe(s.table.Get(cfg.TopicName))
}

func (s scenario) delete() string {
	if err := s.table.CheckDelete(s.arg("topic")); err != nil {
		return refusal(err)
	}
	return fmt.Sprintln("deleted:", s.table.Delete(s.arg("topic")))
}

func refusal(err error) string {
	var e *protocol.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	return fmt.Sprintf("code %d: %s", e.Code, strings.ReplaceAll(e.Remark, "\n", "\\n"))
}

func describe(cfg *protocol.TopicConfig) string {
	if cfg == nil {
		return "no such topic"
	}
	text := fmt.Sprintf("%s read=%d write=%d perm=%d", cfg.TopicName, cfg.ReadQueueNums, cfg.WriteQueueNums, cfg.Perm)
	if cfg.TopicSysFlag != 0 {
		text += fmt.Sprintf(" sysflag=%d", cfg.TopicSysFlag)
	}
	for k, v := range cfg.Attributes.All() {
		text += fmt.Sprintf(" %s=%s", k, v)
	}
	return text
}

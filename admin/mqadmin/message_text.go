// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/message"
)

// received is a message as a client sees it.
type received struct {
	message.Record
	broker     string // name, "" if it is not known
	properties map[string]string
}

const (
	propMinOffset = "MIN_OFFSET"
	propMaxOffset = "MAX_OFFSET"

	sysCompressed   = 1
	compressionBits = 7 << 8
	compressionZlib = 3 << 8
)

func receive(r message.Record, broker string) *received {
	m := &received{Record: r, broker: broker, properties: message.PropertyMap(r.Properties)}
	m.Body = bytes.Clone(uncompressed(r))
	return m
}

// uncompressed is the body as it was sent. What is compressed in another form than zlib, Java's default, stays as it is.
func uncompressed(r message.Record) []byte {
	if r.SysFlag&sysCompressed == 0 || r.SysFlag&compressionBits != 0 && r.SysFlag&compressionBits != compressionZlib {
		return r.Body
	}
	z, err := zlib.NewReader(bytes.NewReader(r.Body))
	if err != nil {
		return r.Body
	}
	const limit = 256 << 20
	body, err := io.ReadAll(io.LimitReader(z, limit))
	if err != nil {
		return r.Body
	}
	return body
}

func (m *received) offsetID() string { return message.OffsetID(m.StoreHost, m.PhyOffset) }

// id is what clients call the message: the unique key, or where it is stored if it has none.
func (m *received) id() string {
	if key := m.properties[message.PropUniqKey]; key != "" {
		return key
	}
	return m.offsetID()
}

// propertiesText is the text of the HashMap into which Java's client reads the properties.
func (m *received) propertiesText() string {
	const capacity = 128
	all := fastjson.MapOf[string, string](len(m.properties))
	for p := message.ScanProperties(m.Properties); p.Next(); {
		all.Set(string(p.Name), string(p.Value))
	}
	for _, name := range []string{propMinOffset, propMaxOffset} {
		if v, ok := m.properties[name]; ok {
			all.Set(name, v)
		}
	}
	all.SortHashMap(capacity)
	return pairs(all.All())
}

// text is MessageExt.toString.
func (m *received) text() string {
	var body strings.Builder
	for i, b := range m.Body {
		if i > 0 {
			body.WriteString(", ")
		}
		fmt.Fprintf(&body, "%d", int8(b))
	}
	return fmt.Sprintf("MessageExt [brokerName=%s, queueId=%d, storeSize=%d, queueOffset=%d, sysFlag=%d, bornTimestamp=%d, bornHost=/%v, storeTimestamp=%d, storeHost=/%v, msgId=%s, commitLogOffset=%d, bodyCRC=%d, reconsumeTimes=%d, preparedTransactionOffset=%d, toString()=Message{topic='%s', flag=%d, properties=%s, body=[%s], transactionId='%s'}]",
		orNull(m.broker), m.QueueID, m.Size, m.QueueOffset, m.SysFlag, m.BornTimestamp, m.BornHost, m.StoreTimestamp, m.StoreHost,
		m.id(), m.PhyOffset, m.BodyCRC, m.ReconsumeTimes, m.PreparedTransactionOffset, m.Topic, m.Flag, m.propertiesText(), &body,
		orNull(m.properties["__transactionId__"]))
}

func (m *received) keys() []string { return strings.Fields(m.properties[message.PropKeys]) }

// document is the message in JSON.
func (m *received) document() object {
	properties := object{}
	for p := message.ScanProperties(m.Properties); p.Next(); {
		properties = append(properties, member{string(p.Name), string(p.Value)})
	}
	return object{
		{"msgId", m.id()},
		{"offsetMsgId", m.offsetID()},
		{"topic", string(m.Topic)},
		{"brokerName", m.broker},
		{"queueId", m.QueueID},
		{"queueOffset", m.QueueOffset},
		{"commitLogOffset", m.PhyOffset},
		{"storeSize", m.Size},
		{"bornTimestamp", m.BornTimestamp},
		{"storeTimestamp", m.StoreTimestamp},
		{"bornHost", m.BornHost.String()},
		{"storeHost", m.StoreHost.String()},
		{"sysFlag", m.SysFlag},
		{"flag", m.Flag},
		{"bodyCRC", m.BodyCRC},
		{"reconsumeTimes", m.ReconsumeTimes},
		{"properties", properties},
		{"body", string(m.Body)},
	}
}

// bodyDir is where Java's tool writes the bodies of messages that it shows.
const bodyDir = "/tmp/rocketmq/msgbodys"

// saveBody writes the body of a message into a file and returns its path.
func saveBody(name string, body []byte) (string, error) {
	if err := os.MkdirAll(bodyDir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(bodyDir, filepath.Base(name))
	return path, os.WriteFile(path, body, 0o644)
}

// show prints all about a message. The body goes into a file; format, if not empty, is the character set in which it is
// shown, too.
func (c *Call) show(m *received, withOffsetID bool, bodyName, format string) error {
	if c.mode == "json" || c.mode == "yaml" {
		c.add("messages", m.document())
		return nil
	}
	line := func(label string, value any) { c.printf("%-20s %v\n", label, value) }
	if withOffsetID {
		line("OffsetID:", m.offsetID())
	}
	line("Topic:", string(m.Topic))
	line("Tags:", "["+orNull(m.properties[message.PropTags])+"]")
	line("Keys:", "["+orNull(m.properties[message.PropKeys])+"]")
	line("Queue ID:", m.QueueID)
	line("Queue Offset:", m.QueueOffset)
	line("CommitLog Offset:", m.PhyOffset)
	line("Reconsume Times:", m.ReconsumeTimes)
	line("Born Timestamp:", c.time(m.BornTimestamp, withMillis))
	line("Store Timestamp:", c.time(m.StoreTimestamp, withMillis))
	line("Born Host:", m.BornHost)
	line("Store Host:", m.StoreHost)
	line("System Flag:", m.SysFlag)
	line("Properties:", m.propertiesText())
	path, err := saveBody(bodyName, m.Body)
	if err != nil {
		return err
	}
	line("Message Body Path:", path)
	if format != "" {
		line("Message Body:", decodeText(m.Body, format))
	}
	return nil
}

// charsets are the character sets in which bodies can be shown, those that need no table: true for one byte per character.
var charsets = map[string]bool{
	"": false, "UTF-8": false, "UTF8": false, "ISO-8859-1": true, "ISO8859-1": true, "LATIN1": true, "US-ASCII": true, "ASCII": true,
}

// charset is the one that an option names.
func (c *Call) charset(option string) (string, error) {
	name := strings.ToUpper(c.text(option))
	if _, ok := charsets[name]; !ok {
		return "", misused("option -%s: bodies can be shown in UTF-8, ISO-8859-1 and US-ASCII, not in %s", option, c.text(option))
	}
	return name, nil
}

func decodeText(body []byte, charset string) string {
	if !charsets[charset] {
		return strings.ToValidUTF8(string(body), "\ufffd")
	}
	runes := make([]rune, len(body))
	for i, b := range body {
		runes[i] = rune(b)
	}
	return string(runes)
}

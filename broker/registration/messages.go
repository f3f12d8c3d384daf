// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package registration

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// readWrite are the bits of a broker's permission. A broker that has both registers its topics as they are, also
// those whose permission has a third bit.
const readWrite = 6

// limited is a topic as the name servers are told of it.
func (b *Broker) limited(cfg *protocol.TopicConfig) *protocol.TopicConfig {
	if b.Permission&readWrite == readWrite || cfg.Perm&b.Permission == cfg.Perm {
		return cfg
	}
	l := *cfg
	l.Perm &= b.Permission
	return &l
}

// request is REGISTER_BROKER with a table of topics.
func (s *server) request(b *Broker, t *protocol.TopicConfigSerializeWrapper) *protocol.Command {
	body := &protocol.RegisterBrokerBody{FilterServerList: []string{}}
	w := &body.TopicConfigSerializeWrapper
	w.DataVersion = t.DataVersion
	w.MappingDataVersion.Timestamp = b.Started
	w.TopicConfigTable = fastjson.MapOf[string, *protocol.TopicConfig](t.TopicConfigTable.Len())
	for name, cfg := range t.TopicConfigTable.All() {
		w.TopicConfigTable.Set(name, b.limited(cfg))
	}
	w.TopicQueueMappingDetailMap.Clear()
	w.TopicQueueMappingInfoMap.Clear()
	for name := range t.TopicConfigTable.All() {
		if b.Mapping == nil {
			break
		}
		if info := b.Mapping(name); info != nil {
			w.TopicQueueMappingInfoMap.Set(name, info)
		}
	}
	cmd := &protocol.Command{Code: protocol.ReqRegisterBroker}
	compressed := b.Compressed && !s.plain
	if compressed {
		cmd.Body = s.compressed(body)
	} else {
		cmd.Body = s.json(body)
	}
	header := protocol.RegisterBrokerRequestHeader{
		BrokerName:   protocol.Some(b.Name),
		BrokerAddr:   protocol.Some(b.Address(s.host)),
		ClusterName:  protocol.Some(b.Cluster),
		HaServerAddr: protocol.Some(b.HAAddress(s.host)),
		BrokerID:     protocol.Some(b.ID),
		// Brokers of 5.3.3 say false here even if they compress, which other name servers do not understand.
		Compressed: compressed,
		BodyCrc32:  protocol.Some(int32(crc32.ChecksumIEEE(cmd.Body) & 0x7FFFFFFF)),
	}
	if s.r.o.Profile.ActingMasters {
		header.EnableActingMaster = protocol.Some(b.Acting != nil)
		if b.Acting != nil {
			header.HeartbeatTimeoutMillis = protocol.Some(b.Acting.Timeout)
		}
	}
	header.AppendFields(&cmd.Fields)
	return cmd
}

func (s *server) json(v any) []byte { return fastjson.Options{Omit: s.r.o.Profile.OmitJSON}.Marshal(v) }

// compressed is the body in its short form; see package namesrv/registration for the layout.
func (s *server) compressed(body *protocol.RegisterBrokerBody) []byte {
	w := &body.TopicConfigSerializeWrapper
	var plain []byte
	part := func(text []byte) {
		plain = binary.BigEndian.AppendUint32(plain, uint32(len(text)))
		plain = append(plain, text...)
	}
	part(s.json(&w.DataVersion))
	plain = binary.BigEndian.AppendUint32(plain, uint32(w.TopicConfigTable.Len()))
	for _, t := range w.TopicConfigTable.All() {
		line := fmt.Appendf(nil, "%s %d %d %d %s", t.TopicName, t.ReadQueueNums, t.WriteQueueNums, t.Perm, t.TopicFilterType)
		if s.r.o.Profile.TopicAttributes {
			line = append(append(line, ' '), fastjson.Marshal(&t.Attributes)...)
		}
		part(line)
	}
	part(fastjson.Marshal(&body.FilterServerList))
	if s.r.o.Profile.TopicAttributes {
		plain = binary.BigEndian.AppendUint32(plain, uint32(w.TopicQueueMappingInfoMap.Len()))
		for _, info := range w.TopicQueueMappingInfoMap.All() {
			part(fastjson.Marshal(info))
		}
	}
	var out bytes.Buffer
	z, _ := zlib.NewWriterLevel(&out, zlib.BestCompression) // fails for unknown levels only
	z.Write(plain)
	z.Close()
	return out.Bytes()
}

// changes are the requests that tell of changed topics.
func (s *server) changes(b *Broker, part *protocol.TopicConfigSerializeWrapper) []*protocol.Command {
	if !b.Single {
		return []*protocol.Command{s.request(b, part)}
	}
	var all []*protocol.Command
	for name, cfg := range part.TopicConfigTable.All() {
		cfg = b.limited(cfg)
		route := &protocol.TopicRouteData{QueueDatas: []protocol.QueueData{{
			BrokerName: b.Name, ReadQueueNums: cfg.ReadQueueNums, WriteQueueNums: cfg.WriteQueueNums, Perm: cfg.Perm,
			TopicSysFlag: cfg.TopicSysFlag,
		}}}
		cmd := &protocol.Command{Code: protocol.ReqRegisterTopicInNamesrv, Body: s.json(route)}
		header := protocol.RegisterTopicRequestHeader{Topic: protocol.Some(name)}
		header.AppendFields(&cmd.Fields)
		all = append(all, cmd)
	}
	return all
}

// changed asks whether the name server lacks this version of the table (322); the question is a sign of life too.
func (s *server) changed(ctx context.Context, ch remoting.Channel, b *Broker, t *protocol.TopicConfigSerializeWrapper) bool {
	answer, err := ch.Call(ctx, s.versionQuery(b, s.host, &t.DataVersion))
	if err != nil || answer.Code != protocol.RespSuccess {
		return true
	}
	var h protocol.QueryDataVersionResponseHeader
	return h.ParseFields(&answer.Fields) != nil || h.Changed.Or(true)
}

// versionQuery is QUERY_DATA_VERSION; host is the local one of the connection.
func (s *server) versionQuery(b *Broker, host string, version *protocol.DataVersion) *protocol.Command {
	cmd := &protocol.Command{Code: protocol.ReqQueryDataVersion, Body: s.json(version)}
	header := protocol.QueryDataVersionRequestHeader{
		BrokerName: protocol.Some(b.Name), BrokerAddr: protocol.Some(b.Address(host)),
		ClusterName: protocol.Some(b.Cluster), BrokerID: protocol.Some(b.ID),
	}
	header.AppendFields(&cmd.Fields)
	return cmd
}

// farewell is UNREGISTER_BROKER.
func (s *server) farewell(b *Broker) *protocol.Command {
	cmd := &protocol.Command{Code: protocol.ReqUnregisterBroker}
	header := protocol.UnRegisterBrokerRequestHeader{
		BrokerName:  protocol.Some(b.Name),
		BrokerAddr:  protocol.Some(b.Address(s.host)),
		ClusterName: protocol.Some(b.Cluster),
		BrokerID:    protocol.Some(b.ID),
	}
	header.AppendFields(&cmd.Fields)
	return cmd
}

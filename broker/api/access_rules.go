// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"strings"

	"rocketmq-go/auth"
	"rocketmq-go/broker/put"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

// rule is what the sender of a request must be allowed to do, in the words of ACL 2.0; package plain says what they mean
// by the rules of 4.x. A request code without rule is only for those who may do everything to the cluster.
//
// Rules are those of Java 5.3.3, but for codes that it lets every user do who is known, whatever they change or read:
// those marked "Java: free" here (docs/differences.md).
type rule struct {
	actions auth.Actions // one of them is enough
	fields  []field      // of the request, each of which names a resource
	needs   func(n *needs, c *protocol.Command) error
	free    string // why everybody who is known may do it
	// strict: by the rules of 4.x only admins may do it, and white addresses do not count: it shows or changes who may do what.
	strict bool
}

// field is a field of the request that names a resource; Kind Cluster: this broker's cluster, whatever the request says.
type field struct {
	kind      auth.Kind
	name      string
	optional  bool   // without it nothing is needed; other fields must be there
	separator string // it is a list
}

const (
	pub    = auth.Pub
	sub    = auth.Sub
	create = auth.Create
	update = auth.Update
	remove = auth.Delete
	get    = auth.Get
)

func topicIn(name string) field { return field{kind: auth.Topic, name: name} }
func groupIn(name string) field { return field{kind: auth.Group, name: name} }
func maybe(f field) field       { f.optional = true; return f }
func listIn(f field, separator string) field {
	f.optional, f.separator = true, separator
	return f
}

func on(a auth.Actions, fields ...field) rule { return rule{actions: a, fields: fields} }
func cluster(a auth.Actions) rule             { return on(a, field{kind: auth.Cluster}) }
func free(why string) rule                    { return rule{free: why} }
func strict(a auth.Actions) rule              { return rule{actions: a, fields: cluster(a).fields, strict: true} }

func by(needs func(*needs, *protocol.Command) error) rule {
	return rule{needs: needs}
}

var rules = map[int32]rule{
	protocol.ReqSendMessage:        by(sendTo("topic")),
	protocol.ReqSendMessageV2:      by(sendTo("b")),
	protocol.ReqSendBatchMessage:   by(sendTo("b")),
	protocol.ReqRecallMessage:      on(pub, topicIn("topic")),
	protocol.ReqSendReplyMessage:   by(replyTo("topic")),
	protocol.ReqSendReplyMessageV2: by(replyTo("b")),
	// Clients until 4.9 do not say the topic. Whose transaction it is the producer group, the id and the offset must tell.
	protocol.ReqEndTransaction:         on(pub, maybe(topicIn("topic"))),
	protocol.ReqResumeCheckHalfMessage: on(update, topicIn("topic")),

	protocol.ReqPullMessage:                on(sub, topicIn("topic"), groupIn("consumerGroup")),
	protocol.ReqLitePullMessage:            on(sub, topicIn("topic"), groupIn("consumerGroup")), // Java: free
	protocol.ReqConsumerSendMsgBack:        on(sub, groupIn("group")),
	protocol.ReqPopMessage:                 on(sub, groupIn("consumerGroup"), topicIn("topic")),
	protocol.ReqAckMessage:                 on(sub, groupIn("consumerGroup"), topicIn("topic")),
	protocol.ReqBatchAckMessage:            by(batchAck), // Java: free
	protocol.ReqPeekMessage:                on(sub, topicIn("topic"), groupIn("consumerGroup")),
	protocol.ReqChangeMessageInvisibletime: on(sub, groupIn("consumerGroup"), topicIn("topic")),
	protocol.ReqNotification:               on(sub, groupIn("consumerGroup"), topicIn("topic")),
	protocol.ReqPollingInfo:                on(get, groupIn("consumerGroup"), topicIn("topic")),
	protocol.ReqPopRollback:                cluster(update), // Java: free
	protocol.ReqLockBatchMq:                by(locking),
	protocol.ReqUnlockBatchMq:              by(locking),

	protocol.ReqQueryConsumerOffset:     on(sub|get, topicIn("topic"), groupIn("consumerGroup")),
	protocol.ReqUpdateConsumerOffset:    on(sub|update, topicIn("topic"), groupIn("consumerGroup")),
	protocol.ReqSearchOffsetByTimestamp: on(get, topicIn("topic")),
	protocol.ReqGetMaxOffset:            on(get, topicIn("topic")),
	protocol.ReqGetMinOffset:            on(get, topicIn("topic")),
	protocol.ReqGetEarliestMsgStoretime: on(get, topicIn("topic")),

	protocol.ReqHeartBeat:                 by(heartbeat),
	protocol.ReqUnregisterClient:          on(sub, maybe(groupIn("consumerGroup"))),
	protocol.ReqGetConsumerListByGroup:    on(sub|get, groupIn("consumerGroup")),
	protocol.ReqCheckClientConfig:         free("compiles the expression that the request brings"),
	protocol.ReqGetConsumerConnectionList: on(get, groupIn("consumerGroup")),
	protocol.ReqGetProducerConnectionList: cluster(get),
	protocol.ReqGetAllProducerInfo:        cluster(get),
	protocol.ReqQueryAssignment:           free("tells which queues a client of a group shall read, and reads nothing"),
	protocol.ReqSetMessageRequestMode:     by(requestMode), // Java: free
	protocol.ReqGetAllMessageRequestMode:  cluster(get),    // Java: free
	protocol.ReqGetRouteinfoByTopic:       on(pub|sub|get, topicIn("topic")),

	protocol.ReqUpdateAndCreateTopic:         on(create, topicIn("topic")),
	protocol.ReqUpdateAndCreateTopicList:     by(topicList),                // Java: free
	protocol.ReqUpdateAndCreateStaticTopic:   on(create, topicIn("topic")), // Java: free
	protocol.ReqDeleteTopicInBroker:          on(remove, topicIn("topic")),
	protocol.ReqGetAllTopicConfig:            cluster(get), // Java: free
	protocol.ReqGetTopicConfig:               on(get, topicIn("topic")),
	protocol.ReqGetSystemTopicListFromBroker: cluster(get), // Java: free

	protocol.ReqUpdateAndCreateSubscriptiongroup:     by(groupConfig), // Java: free
	protocol.ReqUpdateAndCreateSubscriptiongroupList: by(groupList),   // Java: free
	protocol.ReqDeleteSubscriptiongroup:              on(remove, groupIn("groupName")),
	protocol.ReqGetAllSubscriptiongroupConfig:        cluster(get), // Java: free
	protocol.ReqGetSubscriptiongroupConfig:           on(get, groupIn("group")),
	protocol.ReqUpdateAndGetGroupForbidden:           on(update, groupIn("group"), topicIn("topic")),
	protocol.ReqQueryTopicConsumeByWho:               on(get, topicIn("topic")),
	protocol.ReqQueryTopicsByConsumer:                on(get, groupIn("group")),
	protocol.ReqQuerySubscriptionByConsumer:          on(get, groupIn("group"), topicIn("topic")),

	protocol.ReqUpdateBrokerConfig:   cluster(update), // Java: free
	protocol.ReqGetBrokerConfig:      cluster(get),    // Java: free
	protocol.ReqGetBrokerRuntimeInfo: cluster(get),    // Java: free

	protocol.ReqQueryMessage:        by(queryMessage),
	protocol.ReqViewMessageByID:     free("the handler asks for the topic of the message that it has found"),
	protocol.ReqQueryConsumeQueue:   on(get, topicIn("topic"), maybe(groupIn("consumerGroup"))),
	protocol.ReqGetTopicStatsInfo:   on(get, topicIn("topic")),
	protocol.ReqViewBrokerStatsData: cluster(get),
	protocol.ReqGetAllDelayOffset:   cluster(get), // Java: free

	protocol.ReqGetConsumeStats:       on(get, groupIn("consumerGroup"), maybe(topicIn("topic")), listIn(topicIn("topicList"), ";")),
	protocol.ReqGetBrokerConsumeStats: cluster(get),
	protocol.ReqQueryConsumeTimeSpan:  on(get, topicIn("topic"), groupIn("group")),
	protocol.ReqGetAllConsumerOffset:  cluster(get), // Java: free
	protocol.ReqQueryCorrectionOffset: on(get, listIn(groupIn("filterGroups"), ","), groupIn("compareGroup"), topicIn("topic")),
	protocol.ReqCloneGroupOffset:      on(update, groupIn("destGroup"), maybe(topicIn("topic"))),

	protocol.ReqCleanExpiredConsumequeue: cluster(update), // Java: free
	protocol.ReqCleanUnusedTopic:         cluster(update), // Java: free
	protocol.ReqDeleteExpiredCommitlog:   cluster(update), // Java: free

	protocol.ReqInvokeBrokerToResetOffset:       on(update, groupIn("group"), topicIn("topic")),
	protocol.ReqInvokeBrokerToGetConsumerStatus: on(get, topicIn("topic"), groupIn("group")),
	protocol.ReqGetConsumerRunningInfo:          on(get, groupIn("consumerGroup")),
	protocol.ReqConsumeMessageDirectly:          on(sub, groupIn("consumerGroup"), maybe(topicIn("topic"))),

	protocol.ReqUpdateColdDataFlowCtrConfig: cluster(update), // Java: free
	protocol.ReqRemoveColdDataFlowCtrConfig: cluster(update), // Java: free
	protocol.ReqGetColdDataFlowCtrInfo:      cluster(get),    // Java: free
	protocol.ReqSetCommitlogReadMode:        cluster(update), // Java: free
	protocol.ReqGetTimerCheckPoint:          cluster(get),    // Java: free
	protocol.ReqGetTimerMetrics:             cluster(get),    // Java: free
	protocol.ReqSwitchTimerEngine:           cluster(update), // Java: free

	protocol.ReqGetBrokerMemberGroup:        cluster(get),
	protocol.ReqAddBroker:                   cluster(update),
	protocol.ReqRemoveBroker:                cluster(update),
	protocol.ReqBrokerHeartbeat:             cluster(update),
	protocol.ReqNotifyMinBrokerIdChange:     cluster(update),
	protocol.ReqExchangeBrokerHaInfo:        cluster(update),
	protocol.ReqGetBrokerHaStatus:           cluster(get), // Java: free
	protocol.ReqResetMasterFlushOffset:      cluster(update),
	protocol.ReqGetBrokerEpochCache:         cluster(get), // Java: free
	protocol.ReqNotifyBrokerRoleChanged:     cluster(update),
	protocol.ReqCheckRocksdbCqWriteProgress: on(get, topicIn("topic")),
	protocol.ReqExportRocksdbConfigToJson:   cluster(get),

	protocol.ReqAuthCreateUser: strict(update),
	protocol.ReqAuthUpdateUser: strict(update),
	protocol.ReqAuthDeleteUser: strict(update),
	protocol.ReqAuthGetUser:    strict(get),
	protocol.ReqAuthListUser:   strict(get),
	protocol.ReqAuthCreateAcl:  strict(update),
	protocol.ReqAuthUpdateAcl:  strict(update),
	protocol.ReqAuthDeleteAcl:  strict(update),
	protocol.ReqAuthGetAcl:     strict(get),
	protocol.ReqAuthListAcl:    strict(get),

	// Unknown to Java 5.x.
	protocol.ReqUpdateAndCreateAclConfig:     strict(update),
	protocol.ReqDeleteAclConfig:              strict(update),
	protocol.ReqGetBrokerClusterAclInfo:      strict(get),
	protocol.ReqUpdateGlobalWhiteAddrsConfig: strict(update),
	protocol.ReqGetBrokerClusterAclConfig:    strict(get),
}

// needs gathers what a request needs.
type needs struct {
	cluster string
	list    []auth.Need
}

func (n *needs) add(k auth.Kind, name string, a auth.Actions) {
	n.list = append(n.list, auth.Need{Resource: auth.Resource{Kind: k, Name: name}, Actions: a})
}

// topic adds a topic. A retry topic belongs to its group, which is what is needed then; group is the one that the
// request names, or "".
func (n *needs) topic(name, group string, a auth.Actions) {
	owner, retry := strings.CutPrefix(name, put.RetryPrefix)
	switch {
	case !retry:
		n.add(auth.Topic, name, a)
	case group != "" && ownRetry(owner, group):
		n.add(auth.Group, group, a)
	default:
		n.add(auth.Group, owner, a)
	}
}

// ownRetry tells of what follows the prefix of a retry topic whether it is the group's, POP's retry topics included.
func ownRetry(owner, group string) bool {
	rest, ok := strings.CutPrefix(owner, group)
	return ok && (rest == "" || rest[0] == '_' || rest[0] == '+')
}

// absent is how Java names a resource that a request should have named.
const absent = "null"

// of gathers what a request needs. The error says why it cannot be understood.
func (n *needs) of(c *protocol.Command, r *rule) error {
	if r.needs != nil {
		return r.needs(n, c)
	}
	group := ""
	for _, f := range r.fields {
		if f.kind == auth.Group && f.separator == "" {
			group, _ = c.Fields.Get(f.name)
		}
	}
	for _, f := range r.fields {
		if f.kind == auth.Cluster {
			n.add(auth.Cluster, n.cluster, r.actions)
			continue
		}
		value, ok := c.Fields.Get(f.name)
		if !ok && f.optional {
			continue
		}
		if !ok {
			value = absent
		}
		names := []string{value}
		if f.separator != "" {
			names = strings.Split(value, f.separator)
		}
		for _, name := range names {
			if f.kind == auth.Topic {
				n.topic(name, group, r.actions)
			} else {
				n.add(auth.Group, name, r.actions)
			}
		}
	}
	return nil
}

// sendTo is for messages to the topic that the field names. Consumers send to the retry topics of their groups.
func sendTo(field string) func(*needs, *protocol.Command) error {
	return func(n *needs, c *protocol.Command) error {
		name, ok := c.Fields.Get(field)
		if !ok {
			name = absent
		}
		if owner, retry := strings.CutPrefix(name, put.RetryPrefix); retry {
			n.add(auth.Group, owner, sub)
		} else {
			n.add(auth.Topic, name, pub)
		}
		return nil
	}
}

// replyTo is for replies: whoever may consume may answer. To other topics than those for replies they are messages.
// Java: free.
func replyTo(field string) func(*needs, *protocol.Command) error {
	return func(n *needs, c *protocol.Command) error {
		if name, _ := c.Fields.Get(field); strings.HasSuffix(name, replyTopicSuffix) {
			return nil
		}
		return sendTo(field)(n, c)
	}
}

const replyTopicSuffix = "_REPLY_TOPIC"

func queryMessage(n *needs, c *protocol.Command) error {
	name, ok := c.Fields.Get("topic")
	if !ok {
		name = absent
	}
	n.add(auth.Topic, name, sub|get) // also a retry topic, as in Java
	return nil
}

func heartbeat(n *needs, c *protocol.Command) error {
	var b protocol.HeartbeatData
	if err := decode(c, &b); err != nil {
		return err
	}
	for i := range b.ConsumerDataSet {
		d := &b.ConsumerDataSet[i]
		n.add(auth.Group, d.GroupName, sub)
		for j := range d.SubscriptionDataSet {
			n.topic(d.SubscriptionDataSet[j].Topic, d.GroupName, sub)
		}
	}
	return nil
}

func locking(n *needs, c *protocol.Command) error {
	var b protocol.LockBatchRequestBody
	if err := decode(c, &b); err != nil {
		return err
	}
	n.add(auth.Group, b.ConsumerGroup, sub)
	for i := range b.MqSet {
		n.topic(b.MqSet[i].Topic, b.ConsumerGroup, sub)
	}
	return nil
}

func batchAck(n *needs, c *protocol.Command) error {
	var b protocol.BatchAckMessageRequestBody
	if err := decode(c, &b); err != nil {
		return err
	}
	for i := range b.Acks {
		n.add(auth.Group, b.Acks[i].ConsumerGroup, sub)
		n.topic(b.Acks[i].Topic, b.Acks[i].ConsumerGroup, sub)
	}
	return nil
}

func requestMode(n *needs, c *protocol.Command) error {
	var b protocol.SetMessageRequestModeRequestBody
	err := decode(c, &b)
	n.add(auth.Group, b.ConsumerGroup, update)
	return err
}

func topicList(n *needs, c *protocol.Command) error {
	var b protocol.CreateTopicListRequestBody
	err := decode(c, &b)
	for i := range b.TopicConfigList {
		n.add(auth.Topic, b.TopicConfigList[i].TopicName, create)
	}
	return err
}

func groupConfig(n *needs, c *protocol.Command) error {
	var b protocol.SubscriptionGroupConfig
	err := decode(c, &b)
	n.add(auth.Group, b.GroupName, create)
	return err
}

func groupList(n *needs, c *protocol.Command) error {
	var b protocol.SubscriptionGroupList
	err := decode(c, &b)
	for i := range b.GroupConfigList {
		n.add(auth.Group, b.GroupConfigList[i].GroupName, create)
	}
	return err
}

// decode reads a body as its handler does, which must understand the same.
func decode(c *protocol.Command, v any) error {
	if len(c.Body) == 0 {
		return missing("body")
	}
	return fastjson.Unmarshal(c.Body, v)
}

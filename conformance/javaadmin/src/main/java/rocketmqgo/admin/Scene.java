// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package rocketmqgo.admin;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** The known state: topics, groups, messages of each kind, and clients that are online. */
final class Scene {
    static final String CLUSTER = "DefaultCluster";
    static final String NORMAL = "AdminNormal";
    static final String ORDER = "AdminOrder";
    static final String BACK = "AdminBack";
    static final String RETRY = "AdminRetry";
    static final String TX = "AdminTx";
    static final String TRACE = "RMQ_SYS_TRACE_TOPIC";
    static final String CLIENT = "127.0.0.1@normal";
    private static final long LIMIT_MILLIS = 240_000;

    final Report report;
    final String namesrv;
    final DefaultMQAdminExt admin;
    final String brokerName;
    final String broker;
    final DefaultMQProducer producer;
    /** The unique id and the offset id of the first message of NORMAL, and the unique id of the rejected one. */
    String id;
    String offsetId;
    String rejected;
    final long begin = System.currentTimeMillis() - 3_600_000;

    Scene(String namesrv, Report report) throws Exception {
        this.namesrv = namesrv;
        this.report = report;
        admin = admin("admin");
        admin.start();
        var brokers = admin.examineBrokerClusterInfo().getBrokerAddrTable();
        brokerName = brokers.keySet().iterator().next();
        broker = brokers.get(brokerName).selectBrokerAddr();
        report.hide(namesrv, "<NS>");
        report.hide(broker, "<BROKER>");

        topic(NORMAL, 4, "NORMAL");
        topic(ORDER, 2, "FIFO");
        topic(BACK, 2, "NORMAL");
        topic(RETRY, 1, "NORMAL");
        topic(TX, 1, "TRANSACTION");
        for (String group : new String[] {"GID_normal", "GID_bcast", "GID_order", "GID_retry", "GID_off", "GID_nobody"}) {
            Line.createGroup(admin, broker, group, group.equals("GID_order"));
        }
        producer = configure(new DefaultMQProducer("GID_prod", null, true, null), "prod");
        producer.start();
        AtomicInteger done = consumers();
        messages();
        offline();
        until("messages are consumed", () -> done.get() >= 20 + 10 + 6 + 2);
        until("offsets are stored", () -> admin.examineConsumeStats("GID_normal").computeTotalDiff() == 0
            && admin.examineConsumeStats("GID_normal").getOffsetTable().size() >= 4 + 1);
        until("offsets are stored", () -> admin.examineConsumeStats("GID_order").computeTotalDiff() == 0);
        until("offsets are stored", () -> admin.examineConsumeStats("GID_retry").computeTotalDiff() == 0
            && admin.examineConsumeStats("GID_retry").getOffsetTable().size() == 2);
        until("the rejected message is dead", () -> admin.examineTopicStats("%DLQ%GID_retry").getOffsetTable().values().stream()
            .anyMatch(o -> o.getMaxOffset() == 1));
        until("the traces are there", () -> {
            StringBuilder all = new StringBuilder();
            for (MessageExt m : admin.queryMessage(TRACE, id, 64, 0, System.currentTimeMillis()).getMessageList()) {
                all.append(new String(m.getBody(), StandardCharsets.UTF_8));
            }
            return all.indexOf("Pub") >= 0 && all.indexOf("SubBefore") >= 0 && all.indexOf("SubAfter") >= 0;
        });
        until("the rates of a minute are there", () -> admin.viewBrokerStatsData(broker, "TOPIC_PUT_NUMS", NORMAL).getStatsMinute().getSum() > 0);
    }

    DefaultMQAdminExt admin(String instance) {
        DefaultMQAdminExt a = configure(new DefaultMQAdminExt(10_000L), instance);
        a.setAdminExtGroup(a.getAdminExtGroup() + instance);
        return a;
    }

    <C extends ClientConfig> C configure(C c, String instance) {
        c.setNamesrvAddr(namesrv);
        c.setClientIP("127.0.0.1");
        c.setInstanceName(instance);
        c.setVipChannelEnabled(false);
        c.setPollNameServerInterval(1000);
        c.setHeartbeatBrokerInterval(1000);
        c.setPersistConsumerOffsetInterval(500);
        return c;
    }

    static Message message(String topic, String tag, String key, String body) {
        return new Message(topic, tag, key, body.getBytes(StandardCharsets.UTF_8));
    }

    private void topic(String name, int queues, String type) throws Exception {
        TopicConfig c = new TopicConfig(name, queues, queues, 6);
        Line.messageType(c, type);
        admin.createAndUpdateTopicConfig(broker, c);
        until("the route of " + name, () -> admin.examineTopicRouteInfo(name) != null);
    }

    private SendResult send(Message m, int queue) throws Exception {
        return producer.send(m, new MessageQueue(m.getTopic(), brokerName, queue), 10_000);
    }

    private void messages() throws Exception {
        for (int i = 0; i < 20; i++) {
            SendResult r = send(message(NORMAL, i % 2 == 0 ? "TagA" : "TagB", "key" + i, "normal " + i), i % 4);
            if (i == 0) {
                id = r.getMsgId();
                offsetId = r.getOffsetMsgId();
            }
        }
        for (int i = 0; i < 6; i++) {
            send(message(ORDER, "step", "order" + i % 2, "step " + i / 2), i % 2);
        }
        for (int i = 0; i < 8; i++) {
            send(message(BACK, "b", "back" + i, "backlog " + i), i % 2);
        }
        rejected = send(message(RETRY, "bad", "bad0", "rejected"), 0).getMsgId();
    }

    /** A group that is not online and has consumed half of its topic. */
    private void offline() throws Exception {
        for (int queue = 0; queue < 2; queue++) {
            admin.updateConsumeOffset(broker, "GID_off", new MessageQueue(BACK, brokerName, queue), 2);
        }
    }

    /** Starts the consumers; the counter tells how many messages they were given. */
    private AtomicInteger consumers() throws Exception {
        AtomicInteger done = new AtomicInteger();
        MessageListenerConcurrently take = (messages, context) -> {
            done.addAndGet(messages.size());
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        };
        DefaultMQPushConsumer normal = consumer("normal", NORMAL, "*", true);
        normal.registerMessageListener(take);
        normal.start();
        DefaultMQPushConsumer order = consumer("order", ORDER, "step", false);
        order.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            done.addAndGet(messages.size());
            return ConsumeOrderlyStatus.SUCCESS;
        });
        order.start();
        DefaultMQPushConsumer broadcast = consumer("bcast", NORMAL, "TagA", false);
        Line.broadcasting(broadcast);
        broadcast.registerMessageListener(take);
        broadcast.start();
        DefaultMQPushConsumer retry = consumer("retry", RETRY, "*", false);
        retry.setMaxReconsumeTimes(1);
        retry.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            done.addAndGet(messages.size());
            context.setDelayLevelWhenNextConsume(1);
            return ConsumeConcurrentlyStatus.RECONSUME_LATER;
        });
        retry.start();
        return done;
    }

    private DefaultMQPushConsumer consumer(String name, String topic, String expression, boolean trace) throws Exception {
        DefaultMQPushConsumer c = configure(
            new DefaultMQPushConsumer("GID_" + name, null, new AllocateMessageQueueAveragely(), trace, null), name);
        c.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        c.setConsumeThreadMin(1);
        c.setConsumeThreadMax(1);
        c.subscribe(topic, expression);
        return c;
    }

    /** Waits for what the servers or the clients do by themselves. */
    void until(String what, Callable<Boolean> ready) throws Exception {
        Exception last = null;
        for (long end = System.currentTimeMillis() + LIMIT_MILLIS; System.currentTimeMillis() < end; Thread.sleep(50)) {
            try {
                if (ready.call()) {
                    return;
                }
            } catch (Exception e) {
                last = e; // such as a topic without a route yet
            }
        }
        throw new IllegalStateException("not within " + LIMIT_MILLIS + " ms: " + what, last);
    }
}

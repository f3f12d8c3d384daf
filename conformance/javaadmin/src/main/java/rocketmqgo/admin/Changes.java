// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package rocketmqgo.admin;

import java.util.Set;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** What the pages change: topics, groups and offsets, in this order. */
final class Changes {
    private static final String TOPIC = "AdminConsole";
    private final Scene s;
    private final DefaultMQAdminExt admin;
    private final Report out;

    Changes(Scene s) {
        this.s = s;
        admin = s.admin;
        out = s.report;
    }

    void run() {
        topic();
        transaction();
        group();
        offsets();
        end();
    }

    private void topic() {
        out.call("topic", "createAndUpdateTopicConfig", () -> {
            TopicConfig c = new TopicConfig(TOPIC, 1, 1, 6);
            Line.messageType(c, "NORMAL");
            admin.createAndUpdateTopicConfig(s.broker, c);
            s.until("its route", () -> admin.examineTopicRouteInfo(TOPIC) != null);
            return admin.examineTopicRouteInfo(TOPIC);
        });
        out.call("topic", "createAndUpdateTopicConfig of a system topic", () -> {
            admin.createAndUpdateTopicConfig(s.broker, new TopicConfig("TBW102", 1, 1, 6));
            return null;
        });
        out.call("topic", "send", () -> {
            DefaultMQProducer p = s.configure(new DefaultMQProducer("SELF_TEST_P_GROUP"), "self-test");
            p.start();
            try {
                return p.send(Scene.message(TOPIC, "ct", "ck", "from the console"));
            } finally {
                p.shutdown();
            }
        });
        out.call("topic", "what was sent", () -> {
            s.until("the message", () -> admin.queryMessage(TOPIC, "ck", 64, 0, System.currentTimeMillis()).getMessageList().size() == 1);
            return admin.queryMessage(TOPIC, "ck", 64, 0, System.currentTimeMillis()).getMessageList();
        });
    }

    private void transaction() {
        out.call("topic", "send of a transaction", () -> {
            TransactionMQProducer p = s.configure(new TransactionMQProducer("SELF_TEST_P_GROUP"), "self-test-tx");
            p.setTransactionListener(new TransactionListener() {
                @Override
                public LocalTransactionState executeLocalTransaction(Message m, Object arg) {
                    return LocalTransactionState.COMMIT_MESSAGE;
                }

                @Override
                public LocalTransactionState checkLocalTransaction(MessageExt m) {
                    return LocalTransactionState.COMMIT_MESSAGE;
                }
            });
            p.start();
            try {
                return p.sendMessageInTransaction(Scene.message(Scene.TX, "t", "tk", "committed"), null).getLocalTransactionState();
            } finally {
                p.shutdown();
            }
        });
        out.call("topic", "what was committed", () -> {
            s.until("the message", () -> !admin.queryMessage(Scene.TX, "tk", 64, 0, System.currentTimeMillis()).getMessageList().isEmpty());
            return admin.queryMessage(Scene.TX, "tk", 64, 0, System.currentTimeMillis()).getMessageList().get(0);
        });
    }

    private void group() {
        out.call("consumer", "createAndUpdateSubscriptionGroupConfig", () -> {
            Line.createGroup(admin, s.broker, "GID_console", false);
            return admin.examineSubscriptionGroupConfig(s.broker, "GID_console");
        });
        out.call("consumer", "deleteSubscriptionGroup", () -> {
            admin.deleteSubscriptionGroup(s.broker, "GID_console", true);
            return admin.getAllSubscriptionGroup(s.broker, 10_000).getSubscriptionGroupTable().containsKey("GID_console");
        });
    }

    /** Offsets of a group that is online are set by its clients, those of another one in the broker. */
    private void offsets() {
        out.call("consumer", "resetOffsetByTimestamp online", () -> admin.resetOffsetByTimestamp(Scene.ORDER, "GID_order", s.begin, true));
        out.call("consumer", "resetOffsetByTimestamp offline", () -> admin.resetOffsetByTimestamp(Scene.BACK, "GID_off", s.begin, true));
        out.call("consumer", "resetOffsetByTimestampOld", () -> admin.resetOffsetByTimestampOld("GID_off", Scene.BACK, s.begin, true));
        out.call("consumer", "examineConsumeStats after the reset", () -> admin.examineConsumeStats("GID_off", Scene.BACK));
        out.call("consumer", "skip", () -> admin.resetOffsetByTimestampOld("GID_off", Scene.BACK, -1, true));
        out.call("consumer", "examineConsumeStats after the skip", () -> admin.examineConsumeStats("GID_off", Scene.BACK));
        out.call("consumer", "resetOffsetByTimestamp of a topic that is not there",
            () -> admin.resetOffsetByTimestamp("NoSuchTopic", "GID_off", s.begin, true));
    }

    private void end() {
        out.call("topic", "deleteTopicInBroker", () -> {
            admin.deleteTopicInBroker(Set.of(s.broker), TOPIC);
            return admin.getAllTopicConfig(s.broker, 10_000).getTopicConfigTable().containsKey(TOPIC);
        });
        out.call("topic", "deleteTopicInNameServer", () -> {
            Line.deleteTopicInNameServer(admin, Set.of(s.namesrv), TOPIC);
            return null;
        });
        out.call("topic", "examineTopicRouteInfo of the deleted one", () -> admin.examineTopicRouteInfo(TOPIC));
    }
}

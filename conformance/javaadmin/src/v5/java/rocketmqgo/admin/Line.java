// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package rocketmqgo.admin;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.remoting.protocol.heartbeat.MessageModel;
import org.apache.rocketmq.remoting.protocol.subscription.SubscriptionGroupConfig;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** What differs between the lines of the tools: this is 5.x, that of the console 2.x. */
final class Line {
    private Line() { }

    static void broadcasting(DefaultMQPushConsumer c) {
        c.setMessageModel(MessageModel.BROADCASTING);
    }

    static void messageType(TopicConfig c, String type) {
        c.setAttributes(Map.of("+message.type", type));
    }

    static void deleteTopicInNameServer(DefaultMQAdminExt admin, Set<String> namesrvs, String topic) throws Exception {
        admin.deleteTopicInNameServer(namesrvs, topic);
    }

    static void createGroup(DefaultMQAdminExt admin, String broker, String group, boolean orderly) throws Exception {
        SubscriptionGroupConfig c = new SubscriptionGroupConfig();
        c.setGroupName(group);
        c.setConsumeMessageOrderly(orderly);
        admin.createAndUpdateSubscriptionGroupConfig(broker, c);
    }

    /** 351, which 4.x does not have. */
    static void topicConfig(Scene s, String topic) {
        s.report.call("topic", "examineTopicConfig " + topic, () -> s.admin.examineTopicConfig(s.broker, topic));
    }

    static void consumerByAddress(Scene s, String group) {
        s.report.call("consumer", "examineConsumeStats by address " + group, () -> s.admin.examineConsumeStats(s.broker, group, null, 3000));
        s.report.call("consumer", "examineConsumerConnectionInfo by address " + group,
            () -> s.admin.examineConsumerConnectionInfo(group, s.broker));
    }

    /** Users and permissions, of which at the end none are left. */
    static void permissions(Scene s) {
        DefaultMQAdminExt a = s.admin;
        Report out = s.report;
        out.call("acl", "listUser none", () -> a.listUser(s.broker, null));
        out.call("acl", "createUser", () -> {
            a.createUser(s.broker, "adminuser", "secret123", "Normal");
            return a.listUser(s.broker, null);
        });
        out.call("acl", "updateUser", () -> {
            a.updateUser(s.broker, "adminuser", null, "Super", null);
            return a.getUser(s.broker, "adminuser");
        });
        out.call("acl", "getUser nobody", () -> a.getUser(s.broker, "nobody"));
        out.call("acl", "createAcl", () -> {
            a.createAcl(s.broker, "User:adminuser", List.of("Topic:Admin*"), List.of("Pub", "Sub"), List.of("127.0.0.1"), "Allow");
            return a.listAcl(s.broker, null, null);
        });
        out.call("acl", "updateAcl", () -> {
            a.updateAcl(s.broker, "User:adminuser", List.of("Topic:Admin*"), List.of("Sub"), null, "Deny");
            return a.listAcl(s.broker, "User:adminuser", null);
        });
        out.call("acl", "listAcl by resource", () -> a.listAcl(s.broker, null, "Topic:Admin*"));
        out.call("acl", "deleteAcl", () -> {
            a.deleteAcl(s.broker, "User:adminuser", "Topic:Admin*");
            return a.listAcl(s.broker, null, null);
        });
        out.call("acl", "deleteUser", () -> {
            a.deleteUser(s.broker, "adminuser");
            return a.listUser(s.broker, null);
        });
    }
}

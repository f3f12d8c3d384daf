// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package rocketmqgo.admin;

import java.util.Set;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.protocol.heartbeat.MessageModel;
import org.apache.rocketmq.common.subscription.SubscriptionGroupConfig;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** What differs between the lines of the tools: this is 4.x, that of the console 1.x and of the exporter. */
final class Line {
    private Line() { }

    static void broadcasting(DefaultMQPushConsumer c) {
        c.setMessageModel(MessageModel.BROADCASTING);
    }

    static void messageType(TopicConfig c, String type) { }

    static void deleteTopicInNameServer(DefaultMQAdminExt admin, Set<String> namesrvs, String topic) throws Exception {
        admin.deleteTopicInNameServer(namesrvs, topic, null);
    }

    static void createGroup(DefaultMQAdminExt admin, String broker, String group, boolean orderly) throws Exception {
        SubscriptionGroupConfig c = new SubscriptionGroupConfig();
        c.setGroupName(group);
        admin.createAndUpdateSubscriptionGroupConfig(broker, c);
    }

    static void topicConfig(Scene s, String topic) { }

    static void consumerByAddress(Scene s, String group) { }

    /** The page of 4.x is about plain_acl.yml. */
    static void permissions(Scene s) {
        s.report.call("acl", "examineBrokerClusterAclVersionInfo", () -> s.admin.examineBrokerClusterAclVersionInfo(s.broker));
        s.report.call("acl", "examineBrokerClusterAclConfig", () -> s.admin.examineBrokerClusterAclConfig(s.broker));
    }
}

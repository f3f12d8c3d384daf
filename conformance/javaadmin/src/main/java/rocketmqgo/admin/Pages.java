// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package rocketmqgo.admin;

import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** The pages that only read: operations, dashboard, cluster, topic, consumer, producer, permissions. */
final class Pages {
    private final Scene s;
    private final DefaultMQAdminExt admin;
    private final Report out;

    Pages(Scene s) {
        this.s = s;
        admin = s.admin;
        out = s.report;
    }

    void run() {
        operations();
        cluster();
        topics();
        consumers();
        out.call("producer", "examineProducerConnectionInfo GID_prod", () -> admin.examineProducerConnectionInfo("GID_prod", Scene.NORMAL));
        out.call("producer", "examineProducerConnectionInfo GID_nobody", () -> admin.examineProducerConnectionInfo("GID_nobody", Scene.NORMAL));
        Line.permissions(s);
    }

    /** The switches for the fast port and for TLS, with which the console makes its clients anew. */
    private void operations() {
        out.call("ops", "getNameServerAddressList", admin::getNameServerAddressList);
        out.call("ops", "fetchBrokerRuntimeStats by the fast port", () -> {
            DefaultMQAdminExt fast = s.admin("fast");
            fast.setVipChannelEnabled(true);
            return names(fast);
        });
        out.call("ops", "fetchBrokerRuntimeStats with TLS", () -> {
            DefaultMQAdminExt secure = s.admin("secure");
            secure.setUseTLS(true);
            return names(secure);
        });
    }

    /** The names that a broker's statistics have for a client that is not started yet. */
    private Object names(DefaultMQAdminExt a) throws Exception {
        a.start();
        try {
            return a.fetchBrokerRuntimeStats(s.broker).getTable().keySet();
        } finally {
            a.shutdown();
        }
    }

    private void cluster() {
        out.call("cluster", "examineBrokerClusterInfo", admin::examineBrokerClusterInfo);
        out.call("cluster", "fetchBrokerRuntimeStats", () -> admin.fetchBrokerRuntimeStats(s.broker));
        out.call("cluster", "getBrokerConfig", () -> admin.getBrokerConfig(s.broker));
        out.call("dashboard", "viewBrokerStatsData TOPIC_PUT_NUMS", () -> admin.viewBrokerStatsData(s.broker, "TOPIC_PUT_NUMS", Scene.NORMAL));
        out.call("dashboard", "viewBrokerStatsData GROUP_GET_NUMS",
            () -> admin.viewBrokerStatsData(s.broker, "GROUP_GET_NUMS", Scene.NORMAL + "@GID_normal"));
        out.call("dashboard", "viewBrokerStatsData of nobody", () -> admin.viewBrokerStatsData(s.broker, "TOPIC_PUT_NUMS", "NoSuchTopic"));
    }

    private void topics() {
        out.call("topic", "fetchAllTopicList", admin::fetchAllTopicList);
        out.call("topic", "getSystemTopicList", () -> s.producer.getDefaultMQProducerImpl().getmQClientFactory().getMQClientAPIImpl()
            .getSystemTopicList(10_000));
        out.call("topic", "getAllTopicConfig", () -> admin.getAllTopicConfig(s.broker, 10_000).getTopicConfigTable());
        out.call("topic", "getTopicClusterList", () -> admin.getTopicClusterList(Scene.NORMAL));
        for (String topic : new String[] {Scene.NORMAL, Scene.ORDER, Scene.TX, "%RETRY%GID_retry", "%DLQ%GID_retry", "NoSuchTopic"}) {
            out.call("topic", "examineTopicStats " + topic, () -> admin.examineTopicStats(topic));
            out.call("topic", "examineTopicRouteInfo " + topic, () -> admin.examineTopicRouteInfo(topic));
            out.call("topic", "queryTopicConsumeByWho " + topic, () -> admin.queryTopicConsumeByWho(topic));
            Line.topicConfig(s, topic);
        }
        for (String group : new String[] {"GID_normal", "GID_bcast", "GID_off"}) {
            String topic = group.equals("GID_off") ? Scene.BACK : Scene.NORMAL;
            out.call("topic", "examineConsumeStats " + group + " " + topic, () -> admin.examineConsumeStats(group, topic));
        }
    }

    private void consumers() {
        out.call("consumer", "getAllSubscriptionGroup", () -> admin.getAllSubscriptionGroup(s.broker, 30_000).getSubscriptionGroupTable());
        for (String group : new String[] {"GID_normal", "GID_order", "GID_off", "GID_bcast", "GID_retry", "GID_nobody", "GID_unknown"}) {
            out.call("consumer", "examineConsumeStats " + group, () -> admin.examineConsumeStats(group));
            out.call("consumer", "examineConsumerConnectionInfo " + group, () -> admin.examineConsumerConnectionInfo(group));
            out.call("consumer", "examineSubscriptionGroupConfig " + group, () -> admin.examineSubscriptionGroupConfig(s.broker, group));
            Line.consumerByAddress(s, group);
        }
        out.call("consumer", "getConsumerRunningInfo", () -> admin.getConsumerRunningInfo("GID_normal", Scene.CLIENT, false));
        out.call("consumer", "getConsumerRunningInfo with stacks",
            () -> admin.getConsumerRunningInfo("GID_normal", Scene.CLIENT, true).getJstack().contains("TID:"));
        out.call("consumer", "getConsumerRunningInfo of nobody", () -> admin.getConsumerRunningInfo("GID_normal", "127.0.0.1@nobody", false));
        out.call("consumer", "queryConsumeTimeSpan", () -> admin.queryConsumeTimeSpan(Scene.BACK, "GID_off"));
        out.call("consumer", "fetchConsumeStatsInBroker", () -> {
            Map<String, Integer> lists = new TreeMap<>();
            for (var byGroup : admin.fetchConsumeStatsInBroker(s.broker, false, 10_000).getConsumeStatsList()) {
                byGroup.forEach((group, stats) -> lists.put(group, stats.size()));
            }
            return lists;
        });
    }
}

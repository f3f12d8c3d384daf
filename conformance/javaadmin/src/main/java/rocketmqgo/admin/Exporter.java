// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package rocketmqgo.admin;

import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** What the exporter's jobs ask beside what the console asks. */
final class Exporter {
    private static final String[] OF_GROUP = {"GROUP_GET_NUMS", "GROUP_GET_SIZE", "SNDBCK_PUT_NUMS"};
    private final Scene s;

    Exporter(Scene s) {
        this.s = s;
    }

    void run() {
        DefaultMQAdminExt admin = s.admin;
        s.report.call("exporter", "getAllProducerInfo", () -> admin.getAllProducerInfo(s.broker));
        for (String name : new String[] {"TOPIC_PUT_NUMS", "TOPIC_PUT_SIZE"}) {
            s.report.call("exporter", name, () -> admin.viewBrokerStatsData(s.broker, name, Scene.NORMAL));
        }
        for (String name : OF_GROUP) {
            for (String key : new String[] {Scene.NORMAL + "@GID_normal", Scene.RETRY + "@GID_retry"}) {
                s.report.call("exporter", name + " " + key, () -> admin.viewBrokerStatsData(s.broker, name, key));
            }
        }
        for (String name : new String[] {"BROKER_PUT_NUMS", "BROKER_GET_NUMS"}) {
            s.report.call("exporter", name, () -> admin.viewBrokerStatsData(s.broker, name, Scene.CLUSTER));
        }
    }
}

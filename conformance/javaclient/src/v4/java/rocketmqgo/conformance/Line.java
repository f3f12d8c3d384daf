// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package rocketmqgo.conformance;

import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.impl.MQClientAPIImpl;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.protocol.heartbeat.MessageModel;

/** What differs between the client's lines: this is 4.x. */
final class Line {
    /** Whether consumers leave out of their trace what came without MSG_REGION. */
    static final boolean TRACE_WANTS_REGION = false;

    private Line() { }

    /** There is no proxy for 4.x. */
    static List<Main.Case> proxyCases() {
        return List.of();
    }

    static void broadcasting(DefaultMQPushConsumer c) {
        c.setMessageModel(MessageModel.BROADCASTING);
    }

    static void createTopic(DefaultMQProducer p, String topic, int queues) throws Exception {
        p.createTopic("TBW102", topic, queues);
    }

    static void deleteTopicInNameServer(MQClientAPIImpl api, String namesrv, String topic) throws Exception {
        api.deleteTopicInNameServer(namesrv, topic, null, 3000);
    }

    static String consumeDirectly(MQClientAPIImpl api, String broker, String group, String client, String topic, String id)
        throws Exception {
        return api.consumeMessageDirectly(broker, group, client, id, 10_000).getConsumeResult().name();
    }

    static List<Main.Case> cases() {
        return List.of();
    }
}

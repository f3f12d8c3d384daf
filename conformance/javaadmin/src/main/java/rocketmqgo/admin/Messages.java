// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package rocketmqgo.admin;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** The pages about messages: by id, key and time, traces, dead letters, and consuming one again. */
final class Messages {
    private static final int PAGE = 32;
    private final Scene s;
    private final DefaultMQAdminExt admin;
    private final Report out;

    Messages(Scene s) {
        this.s = s;
        admin = s.admin;
        out = s.report;
    }

    void run() throws Exception {
        one();
        DefaultMQPullConsumer consumer = s.configure(new DefaultMQPullConsumer("TOOLS_CONSUMER"), "tools");
        consumer.start();
        try {
            byTime(consumer);
        } finally {
            consumer.shutdown();
        }
        trace();
        again();
    }

    private void one() {
        Object found = out.call("message", "viewMessage by unique id", () -> admin.viewMessage(Scene.NORMAL, s.id));
        out.call("message", "viewMessage by offset id", () -> admin.viewMessage(Scene.NORMAL, s.offsetId));
        out.call("message", "viewMessage of nothing", () -> admin.viewMessage(Scene.NORMAL, "7F00000100002A9F0000000000FFFFFF"));
        out.call("message", "messageTrackDetail", () -> {
            Map<String, Object> tracks = new TreeMap<>();
            for (var t : admin.messageTrackDetail((MessageExt) found)) {
                tracks.put(t.getConsumerGroup(), String.valueOf(t.getTrackType()));
            }
            return tracks;
        });
        for (String key : new String[] {"key7", "nosuchkey"}) {
            out.call("message", "queryMessage " + key,
                () -> admin.queryMessage(Scene.NORMAL, key, 64, 0, System.currentTimeMillis()).getMessageList());
        }
        out.call("message", "queryMessage of a time without messages",
            () -> admin.queryMessage(Scene.NORMAL, "key7", 64, 0, s.begin).getMessageList());
    }

    /** The window's ends in each queue, and what a page shows between them. */
    private void byTime(DefaultMQPullConsumer consumer) {
        long end = System.currentTimeMillis() + 60_000;
        for (String topic : new String[] {Scene.NORMAL, Scene.ORDER, "%DLQ%GID_retry"}) {
            out.call("message", "page of " + topic, () -> page(consumer, topic, s.begin, end));
        }
        out.call("message", "page before all of " + Scene.ORDER, () -> page(consumer, Scene.ORDER, s.begin - 1000, s.begin));
        out.call("message", "page behind all of " + Scene.ORDER, () -> page(consumer, Scene.ORDER, end, end + 1000));
        out.call("message", "page of NoSuchTopic", () -> page(consumer, "NoSuchTopic", s.begin, end));
    }

    private Object page(DefaultMQPullConsumer consumer, String topic, long begin, long end) throws Exception {
        Map<String, Object> page = new TreeMap<>();
        for (MessageQueue q : consumer.fetchSubscribeMessageQueues(topic)) {
            Map<String, Object> queue = new TreeMap<>();
            long from = consumer.searchOffset(q, begin);
            long to = consumer.searchOffset(q, end);
            queue.put("from", from);
            queue.put("to", to);
            Map<String, Object> messages = new TreeMap<>();
            PullResult got = consumer.pull(q, "*", from, PAGE);
            queue.put("status", got.getPullStatus());
            queue.put("next", got.getNextBeginOffset());
            if (got.getPullStatus() == PullStatus.FOUND) {
                got.getMsgFoundList().forEach(m -> messages.put("offset " + m.getQueueOffset(), m));
            }
            queue.put("messages", messages);
            page.put("queue " + q.getQueueId(), queue);
        }
        return page;
    }

    /** The records of one message's trace: its fields are numbers of times, or texts. */
    private void trace() {
        out.call("trace", "queryMessage", () -> {
            Map<String, Object> records = new TreeMap<>();
            for (MessageExt m : admin.queryMessage(Scene.TRACE, s.id, 64, 0, System.currentTimeMillis()).getMessageList()) {
                for (String record : new String(m.getBody(), StandardCharsets.UTF_8).split("\u0002")) {
                    if (record.contains(s.id)) {
                        String[] fields = record.split("\u0001");
                        List<String> shown = new ArrayList<>();
                        for (String f : fields) {
                            shown.add(f.matches("\\d+") ? "<n>" : f);
                        }
                        records.put(fields[0], String.join(" ", shown));
                    }
                }
            }
            return records;
        });
    }

    /** Consuming a message again at once, and a dead letter by the id of its origin. */
    private void again() {
        out.call("message", "consumeMessageDirectly", () -> admin.consumeMessageDirectly("GID_normal", Scene.CLIENT, Scene.NORMAL, s.id));
        out.call("message", "consumeMessageDirectly by nobody",
            () -> admin.consumeMessageDirectly("GID_normal", "127.0.0.1@nobody", Scene.NORMAL, s.id));
        out.call("dlq", "examineTopicRouteInfo", () -> admin.examineTopicRouteInfo("%DLQ%GID_normal"));
        Object dead = out.call("dlq", "queryMessage", () -> admin.queryMessage("%DLQ%GID_retry", "bad0", 64, 0, System.currentTimeMillis())
            .getMessageList());
        out.call("dlq", "export", () -> {
            TreeSet<String> rows = new TreeSet<>();
            for (Object m : (List<?>) dead) {
                MessageExt full = admin.viewMessage("%DLQ%GID_retry", ((MessageExt) m).getMsgId());
                rows.add(full.getTopic() + " " + full.getKeys() + " " + full.getTags() + " " + full.getReconsumeTimes() + " "
                    + new String(full.getBody(), StandardCharsets.UTF_8));
            }
            return rows;
        });
        out.call("dlq", "resend", () -> {
            Map<String, Object> results = new TreeMap<>();
            for (Object m : (List<?>) dead) {
                String origin = ((MessageExt) m).getProperty("ORIGIN_MESSAGE_ID");
                String topic = ((MessageExt) m).getProperty("RETRY_TOPIC");
                for (var c : admin.examineConsumerConnectionInfo("GID_retry").getConnectionSet()) {
                    results.put(topic, admin.consumeMessageDirectly("GID_retry", c.getClientId(), topic, origin));
                }
            }
            return results;
        });
    }
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package rocketmqgo.conformance;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.impl.MQClientAPIImpl;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.common.message.MessageRequestMode;
import org.apache.rocketmq.remoting.protocol.heartbeat.MessageModel;

/** What differs between the client's lines: this is 5.x, with its own cases. */
final class Line {
    /** Whether consumers leave out of their trace what came without MSG_REGION. */
    static final boolean TRACE_WANTS_REGION = true;

    private Line() { }

    static void broadcasting(DefaultMQPushConsumer c) {
        c.setMessageModel(MessageModel.BROADCASTING);
    }

    static void createTopic(DefaultMQProducer p, String topic, int queues) throws Exception {
        p.createTopic("TBW102", topic, queues, Map.of());
    }

    static void deleteTopicInNameServer(MQClientAPIImpl api, String namesrv, String topic) throws Exception {
        api.deleteTopicInNameServer(namesrv, topic, 3000);
    }

    static String consumeDirectly(MQClientAPIImpl api, String broker, String group, String client, String topic, String id)
        throws Exception {
        return api.consumeMessageDirectly(broker, group, client, topic, id, 10_000).getConsumeResult().name();
    }

    static List<Main.Case> cases() {
        return List.of(new Main.Case("compaction", Line::compaction), new Main.Case("batch-queue", Line::batchQueue),
            new Main.Case("batch-kill", Line::batchKill, "kill"), new Main.Case("timer", Line::timer), new Main.Case("recall", Line::recall), new Main.Case("pop", Line::pop));
    }

    /**
     * The cases for proxies: gRPC, then the classic client through the proxy's other port. There transactions are ended
     * only when the broker asks, and neither queries nor requests with replies work, whatever the broker.
     */
    static List<Main.Case> proxyCases() {
        List<Main.Case> all = new ArrayList<>();
        all.add(new Main.Case("grpc-slow", GrpcConsume::slow));
        all.add(new Main.Case("grpc-simple", GrpcConsume::simple));
        all.add(new Main.Case("grpc-handles", GrpcConsume::handles));
        all.add(new Main.Case("grpc-long-poll", GrpcConsume::longPoll));
        all.add(new Main.Case("grpc-retry", GrpcConsume::retry));
        all.add(new Main.Case("grpc-fifo", GrpcConsume::fifo));
        all.add(new Main.Case("grpc-fifo-dlq", GrpcConsume::fifoDead));
        all.add(new Main.Case("grpc-normal", GrpcSend::normal));
        all.add(new Main.Case("grpc-delay", GrpcSend::delay));
        all.add(new Main.Case("grpc-transaction", GrpcSend::transaction));
        all.add(new Main.Case("grpc-types", GrpcSend::types));
        all.add(new Main.Case("grpc-refused", GrpcSend::refused));
        all.add(new Main.Case("grpc-clustering", GrpcConsume::clustering));
        all.add(new Main.Case("grpc-tag-filter", GrpcConsume::tagFilter));
        all.add(new Main.Case("grpc-sql-filter", GrpcConsume::sqlFilter));
        Map<String, Main.Body> classic = new LinkedHashMap<>();
        classic.put("retry", ConsumeCases::retry);
        classic.put("sync", SendCases::sync);
        classic.put("async", SendCases::async);
        classic.put("oneway", SendCases::oneway);
        classic.put("batch", SendCases::batch);
        classic.put("clustering", GroupCases::clustering);
        classic.put("broadcasting", GroupCases::broadcasting);
        classic.put("orderly", ConsumeCases::orderly);
        classic.put("sql-filter", ConsumeCases::sqlFilter);
        classic.put("timer", Line::timer);
        classic.put("recall", Line::recall);
        classic.put("pull", PullCases::pull);
        classic.put("poll", PullCases::poll);
        classic.put("assign", PullCases::assign);
        classic.forEach((name, body) -> all.add(new Main.Case(name, r -> {
            new Grpc(r).topic("MIXED");
            r.throughProxy();
            body.run(r);
        })));
        all.add(new Main.Case("grpc-kill", r -> GrpcConsume.acrossRestart(r, "kill"), "kill"));
        return all;
    }

    /** Messages with a time of their own come at it, given as a delay or as a moment, in seconds or milliseconds. */
    static void timer(Run r) throws Exception {
        DefaultMQProducer p = r.producer();
        long now = System.currentTimeMillis();
        for (int i = 0; i < 9; i++) {
            Message m = r.message("timer/" + i);
            switch (i % 3) {
                case 0 -> m.setDelayTimeMs(3000);
                case 1 -> m.setDelayTimeSec(3);
                default -> m.setDeliverTimeMs(now + 3000);
            }
            Run.ok(p.send(m));
            r.ledger.send("timer/" + i);
        }
        Set<String> early = ConcurrentHashMap.newKeySet();
        r.push(m -> {
            if (m.getStoreTimestamp() - m.getBornTimestamp() < 2500) { // it is stored anew when its time has come
                early.add(Run.body(m));
            }
            return r.receive(m);
        });
        r.await();
        if (early.size() == 9) {
            throw new Main.Unsupported("all messages came at once");
        }
        if (!early.isEmpty()) {
            r.ledger.fault("came too early: %s", early);
        }
    }

    /** A timer message that is called back in time never comes; the others do. */
    static void recall(Run r) throws Exception {
        DefaultMQProducer p = r.producer();
        for (int i = 0; i < 6; i++) {
            Message m = r.message("recall/" + i);
            m.setDelayTimeMs(4000);
            SendResult res = Run.ok(p.send(m));
            if (res.getRecallHandle() == null) {
                throw new Main.Unsupported("no handle in the answer");
            }
            if (i % 2 == 0) {
                r.ledger.send("recall/" + i);
                continue;
            }
            r.ledger.send();
            if (!res.getMsgId().equals(p.recallMessage(r.topic(), res.getRecallHandle()))) {
                r.ledger.fault("the answer to the recall of %s names another message", res);
            }
        }
        r.push(r::receive);
        r.await();
    }

    /**
     * Of a compaction topic the newest message of each key is kept, and older ones go; a message without key is
     * refused. The broker looks for old ones every few seconds in files that hold few messages (broker.conf).
     */
    static void compaction(Run r) throws Exception {
        DefaultMQProducer p = r.producer();
        topicWith(r, p, "+cleanup.policy", "COMPACTION");
        try {
            p.send(r.message("no key"));
            throw new Main.Unsupported("a message without key was taken");
        } catch (MQBrokerException e) {
            if (e.getResponseCode() != 13) {
                throw e;
            }
        }
        Map<String, String> newest = new ConcurrentHashMap<>();
        MessageQueue mq = null;
        for (int i = 0; i < 100; i++) {
            Message m = r.message("compaction/" + i);
            m.setKeys("k" + i % 7);
            mq = Run.ok(p.send(m)).getMessageQueue();
            newest.put(m.getKeys(), Run.body(m));
        }
        for (int i = 0; i < 93; i++) {
            r.ledger.send();
        }
        newest.values().forEach(r.ledger::send);
        DefaultMQPullConsumer c = r.configure(new DefaultMQPullConsumer(r.group()));
        c.start();
        r.onClose(c::shutdown);
        c.fetchSubscribeMessageQueues(r.topic());
        Set<String> found = new HashSet<>();
        MessageQueue queue = mq;
        long end = p.maxOffset(mq);
        for (int tries = 0; tries < 40; tries++) { // old ones go in two runs at most, those in the last file stay
            found.clear();
            for (long next = 0; next < end;) {
                PullResult res = c.pull(queue, "*", next, 32);
                next = Math.max(next + 1, res.getNextBeginOffset());
                if (res.getPullStatus() == PullStatus.FOUND) {
                    res.getMsgFoundList().forEach(m -> found.add(Run.body(m)));
                }
            }
            if (found.size() <= 40) {
                break;
            }
            Thread.sleep(500);
        }
        if (found.size() > 40) {
            r.ledger.fault("%d messages are still there", found.size());
        }
        newest.values().stream().filter(found::contains).forEach(r.ledger::receive);
        r.await();
    }

    /** Makes the case's topic, of one queue, with an attribute; returns the broker's address. */
    private static String topicWith(Run r, DefaultMQProducer p, String attribute, String value) throws Exception {
        String broker = AdminCases.broker(Run.ok(p.send(new Message(r.topic("probe"), new byte[] {1}))));
        TopicConfig config = new TopicConfig(r.topic(), 1, 1);
        config.setAttributes(Map.of(attribute, value));
        AdminCases.api(p).createTopic(broker, "TBW102", config, 3000);
        return broker;
    }

    /** Sends a batch to the case's topic, of batch queues. */
    private static SendResult sendBatch(Run r, DefaultMQProducer p, String prefix, int n) throws Exception {
        List<Message> messages = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            messages.add(r.message(prefix + "/" + i));
        }
        SendResult res = Run.ok(p.send(messages));
        if (res.getOffsetMsgId().contains(",")) {
            throw new Main.Unsupported("a batch was stored as single messages");
        }
        return res;
    }

    /**
     * A topic with batch queues keeps a batch as one, which counts as its messages: the batch of each of them can be pulled
     * at its offset (the client gives all of the batch), and each is consumed at it. A time leads to the first message of
     * its batch. A group that is set back gets what was stored from then on again.
     */
    static void batchQueue(Run r) throws Exception {
        r.ledger.allowDups();
        DefaultMQProducer p = r.producer();
        String broker = topicWith(r, p, "+queue.type", "BatchCQ");
        List<String> bodies = new ArrayList<>();
        long between = 0;
        MessageQueue mq = null;
        for (int b = 0; b < 8; b++) {
            int n = b % 3 == 2 ? 1 : 10; // some messages come alone
            boolean again = b >= 4;
            if (b == 4) {
                Thread.sleep(100);
                between = System.currentTimeMillis();
                Thread.sleep(100);
            }
            String prefix = "batch/" + b;
            SendResult res = n == 1 ? Run.ok(p.send(r.message(prefix + "/0"))) : sendBatch(r, p, prefix, n);
            mq = res.getMessageQueue();
            if (res.getQueueOffset() != bodies.size()) {
                r.ledger.fault("%s is stored at %d, not at %d", prefix, res.getQueueOffset(), bodies.size());
            }
            for (int i = 0; i < n; i++) {
                String body = prefix + "/" + i;
                bodies.add(body);
                r.ledger.send(again ? new String[] {body, "again:" + body} : new String[] {body});
            }
        }
        DefaultMQPullConsumer c = r.configure(new DefaultMQPullConsumer(r.group("puller")));
        c.start();
        r.onClose(c::shutdown);
        c.fetchSubscribeMessageQueues(r.topic());
        MessageQueue queue = mq;
        Run.until("all messages are in the queue", () -> c.maxOffset(queue) == bodies.size());
        for (int i = 0; i < bodies.size(); i++) {
            long offset = i;
            PullResult res = c.pull(mq, "*", offset, 1 + i % 7);
            if (res.getPullStatus() != PullStatus.FOUND || res.getMsgFoundList().stream()
                .noneMatch(m -> m.getQueueOffset() == offset && Run.body(m).equals(bodies.get((int) offset)))) {
                r.ledger.fault("pulled at %d: %s", i, res);
            }
        }
        if (c.minOffset(mq) != 0 || c.searchOffset(mq, 0) != 0 || c.searchOffset(mq, between) != 31) {
            r.ledger.fault("begins at %d, the middle of time is at %d", c.minOffset(mq), c.searchOffset(mq, between));
        }
        Map<String, Integer> times = new ConcurrentHashMap<>();
        r.push(m -> {
            String body = Run.body(m);
            if (!body.equals(bodies.get((int) m.getQueueOffset()))) {
                r.ledger.fault("%s comes from offset %d", body, m.getQueueOffset());
            }
            r.ledger.receive(times.merge(body, 1, Integer::sum) == 1 ? body : "again:" + body);
            return true;
        });
        Run.until("all messages are consumed", () -> times.size() == bodies.size());
        AdminCases.api(p).invokeBrokerToResetOffset(broker, r.topic(), r.group(), between, true, 5000);
        r.await();
    }

    /** No batch of an acknowledged send is lost, in part or as a whole, when the broker is killed. */
    static void batchKill(Run r) throws Exception {
        DefaultMQProducer p = r.producer();
        topicWith(r, p, "+queue.type", "BatchCQ");
        sendBatch(r, p, "first", 3);
        for (int i = 0; i < 3; i++) {
            r.ledger.send("first/" + i);
        }
        GroupCases.acrossRestart(r, "kill", 5);
    }

    /**
     * A group in POP mode: two consumers get messages from queues that nobody owns, each message once; one that is
     * put off comes again after its invisible time.
     */
    static void pop(Run r) throws Exception {
        DefaultMQProducer p = r.producer();
        SendResult first = Run.ok(p.send(r.message("pop/0")));
        r.ledger.send("pop/0");
        for (int i = 1; i < 60; i++) {
            Run.ok(p.send(r.message("pop/" + i)));
            r.ledger.send(i == 30 ? new String[] {"pop/30", "again:pop/30"} : new String[] {"pop/" + i});
        }
        InetSocketAddress a = (InetSocketAddress) MessageDecoder.decodeMessageId(first.getOffsetMsgId()).getAddress();
        String broker = a.getAddress().getHostAddress() + ":" + a.getPort();
        try {
            p.getDefaultMQProducerImpl().getMqClientFactory().getMQClientAPIImpl()
                .setMessageRequestMode(broker, r.topic(), r.group(), MessageRequestMode.POP, 0, 3000);
        } catch (MQClientException e) {
            if (e.getResponseCode() == 3) {
                throw new Main.Unsupported("request code not supported");
            }
            throw e;
        }
        for (int i = 0; i < 2; i++) {
            DefaultMQPushConsumer c = r.consumer(r.group());
            c.setClientRebalance(false);
            r.push(c, r.topic(), MessageSelector.byTag("*"), m -> {
                String body = Run.body(m);
                if (body.equals("pop/30") && m.getReconsumeTimes() == 0) {
                    r.ledger.receive(body);
                    return false;
                }
                r.ledger.receive(body.equals("pop/30") ? "again:pop/30" : body);
                return true;
            });
        }
        r.await();
    }
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package rocketmqgo.conformance;

import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.impl.MQClientAPIImpl;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Ways to send, and what comes back of what was sent. */
final class SendCases {
    private SendCases() { }

    /** The first message creates the topic with the client's four queues; queue offsets count up from 0. */
    static void sync(Run r) throws Exception {
        DefaultMQProducer p = r.producer();
        Map<Integer, Long> next = new HashMap<>();
        Set<String> ids = ConcurrentHashMap.newKeySet();
        for (int i = 0; i < 64; i++) {
            SendResult res = Run.ok(p.send(r.message("sync/" + i)));
            r.ledger.send("sync/" + i);
            int q = res.getMessageQueue().getQueueId();
            long want = next.getOrDefault(q, 0L);
            if (res.getQueueOffset() != want) {
                r.ledger.fault("queue %d: offset %d, expected %d", q, res.getQueueOffset(), want);
            }
            next.put(q, want + 1);
            boolean longId = res.getMsgId().length() == 56; // the client's address is an IPv6 one
            if (!longId && res.getMsgId().length() != 32 || res.getOffsetMsgId().length() != 32 || !ids.add(res.getMsgId()) || !ids.add(res.getOffsetMsgId())) {
                r.ledger.fault("ids %s %s", res.getMsgId(), res.getOffsetMsgId());
            }
        }
        if (next.size() != 4) {
            r.ledger.fault("%d queues used, expected 4", next.size());
        }
        r.push(m -> {
            if (!ids.contains(m.getMsgId()) || !ids.contains(MessageDecoder.createMessageId(m.getStoreHost(), m.getCommitLogOffset()))) {
                r.ledger.fault("received id %s was never answered", m.getMsgId());
            }
            return r.receive(m);
        });
        r.await();
    }

    static void async(Run r) throws Exception {
        DefaultMQProducer p = r.producer();
        r.sendSeries(p, "first", 1); // creates the topic; the others then know its queues
        int n = 300;
        CountDownLatch answers = new CountDownLatch(n);
        for (int i = 0; i < n; i++) {
            String body = "async/" + i;
            p.send(r.message(body), new SendCallback() {
                @Override
                public void onSuccess(SendResult res) {
                    try {
                        Run.ok(res);
                        r.ledger.send(body);
                    } catch (Exception e) {
                        r.ledger.fault("%s: %s", body, e);
                    }
                    answers.countDown();
                }

                @Override
                public void onException(Throwable e) {
                    r.ledger.fault("%s: %s", body, e);
                    answers.countDown();
                }
            });
        }
        if (!answers.await(r.secondsLeft(), TimeUnit.SECONDS)) {
            r.ledger.fault("%d callbacks never came", answers.getCount());
        }
        r.push(r::receive);
        r.await();
    }

    static void oneway(Run r) throws Exception {
        DefaultMQProducer p = r.producer();
        for (int i = 0; i < 100; i++) {
            p.sendOneway(r.message("oneway/" + i));
            r.ledger.send("oneway/" + i);
        }
        r.push(r::receive);
        r.await();
    }

    /** Each message of a batch is stored by itself with its own properties, all of a batch in a row in one queue. */
    static void batch(Run r) throws Exception {
        DefaultMQProducer p = r.producer();
        for (int b = 0; b < 5; b++) {
            List<Message> msgs = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                Message m = r.message("batch/" + b + "/" + i);
                m.setTags("T" + i % 3);
                m.setKeys(Run.body(m));
                m.putUserProperty("number", "" + i);
                msgs.add(m);
            }
            Run.ok(p.send(msgs));
            msgs.forEach(m -> r.ledger.send(Run.body(m)));
        }
        Map<String, String> first = new ConcurrentHashMap<>();
        r.push(m -> {
            String[] part = Run.body(m).split("/");
            int i = Integer.parseInt(part[2]);
            if (!Run.body(m).equals(m.getKeys()) || !("T" + i % 3).equals(m.getTags()) || !part[2].equals(m.getUserProperty("number"))) {
                r.ledger.fault("%s: properties %s", Run.body(m), m.getProperties());
            }
            String place = m.getQueueId() + ":" + (m.getQueueOffset() - i);
            String other = first.putIfAbsent(part[1], place);
            if (other != null && !other.equals(place)) {
                r.ledger.fault("batch %s is not in one piece: %s and %s", part[1], other, place);
            }
            return r.receive(m);
        });
        r.await();
    }

    /** Messages of one key go to one queue and keep their order there. */
    static void hashOrder(Run r) throws Exception {
        DefaultMQProducer p = r.producer();
        int keys = 8;
        for (int i = 0; i < 200; i++) {
            Run.ok(p.send(r.message("hash/" + i), (mqs, m, key) -> mqs.get(key.hashCode() % mqs.size()), i % keys));
            r.ledger.send("hash/" + i);
        }
        Map<Integer, Map<Integer, Map<Long, Integer>>> seen = new HashMap<>(); // key → queue → offset → number
        r.push(m -> {
            int n = Integer.parseInt(Run.body(m).substring(5));
            synchronized (seen) {
                seen.computeIfAbsent(n % keys, k -> new HashMap<>()).computeIfAbsent(m.getQueueId(), k -> new java.util.TreeMap<>())
                    .put(m.getQueueOffset(), n);
            }
            return r.receive(m);
        });
        r.await();
        synchronized (seen) {
            seen.forEach((key, queues) -> {
                if (queues.size() != 1) {
                    r.ledger.fault("key %d is in %d queues", key, queues.size());
                }
                int last = -1;
                for (int n : queues.values().iterator().next().values()) {
                    if (n < last) {
                        r.ledger.fault("key %d: %d stands behind %d", key, n, last);
                    }
                    last = n;
                }
            });
        }
    }

    /** Bodies, flag, keys, tags and user properties come back as they were sent, also from compressed bodies. */
    static void properties(Run r) throws Exception {
        DefaultMQProducer p = r.producer();
        byte[] noise = new byte[60_000];
        new Random(1).nextBytes(noise);
        Map<String, byte[]> bodies = new LinkedHashMap<>();
        bodies.put("short", "x".getBytes(StandardCharsets.UTF_8));
        bodies.put("4095", "a".repeat(4095).getBytes(StandardCharsets.UTF_8));
        bodies.put("compressed", "RocketMQ ".repeat(20_000).getBytes(StandardCharsets.UTF_8));
        bodies.put("noise", noise);
        bodies.put("utf-8", "消息 ünï 🚀".getBytes(StandardCharsets.UTF_8));
        bodies.put("zero", new byte[32]);
        bodies.put("many-keys", "k".getBytes(StandardCharsets.UTF_8));
        bodies.put("odd-property", "p".getBytes(StandardCharsets.UTF_8));
        bodies.put("flag", "f".getBytes(StandardCharsets.UTF_8));
        Map<String, Map<String, String>> user = Map.of(
            "utf-8", Map.of("名", "值", "emoji", "🚀"),
            "odd-property", Map.of("with space", "a=b;c|d\\e\"f", "newline", "1\n2", "long", "v".repeat(5000)));
        for (Map.Entry<String, byte[]> e : bodies.entrySet()) {
            String name = e.getKey();
            Message m = new Message(r.topic(), "tag-" + name, name.equals("many-keys") ? "k1 k2 k3" : "", name.equals("flag") ? -559038737 : 0,
                e.getValue(), true);
            m.putUserProperty("name", name);
            user.getOrDefault(name, Map.of()).forEach(m::putUserProperty);
            Run.ok(p.send(m));
            r.ledger.send(name);
        }
        r.push(m -> {
            String name = m.getUserProperty("name");
            if (!Arrays.equals(m.getBody(), bodies.get(name))) {
                r.ledger.fault("%s: body of %d bytes came back with %d", name, bodies.get(name).length, m.getBody().length);
            }
            if (!("tag-" + name).equals(m.getTags()) || name.equals("many-keys") != "k1 k2 k3".equals(m.getKeys())) {
                r.ledger.fault("%s: tags %s keys %s", name, m.getTags(), m.getKeys());
            }
            user.getOrDefault(name, Map.of()).forEach((k, v) -> {
                if (!v.equals(m.getUserProperty(k))) {
                    r.ledger.fault("%s: property %s is %s", name, k, m.getUserProperty(k));
                }
            });
            if ((m.getFlag() == -559038737) != name.equals("flag")) {
                r.ledger.fault("%s: flag %d", name, m.getFlag());
            }
            if (m.getBornTimestamp() <= 0 || m.getStoreTimestamp() < m.getBornTimestamp() - 1000 || m.getReconsumeTimes() != 0) {
                r.ledger.fault("%s: %s", name, m);
            }
            r.ledger.receive(name);
            return true;
        });
        r.await();
    }

    /** A body of 4 MiB is the largest that is taken; more, or properties over 32,767 bytes, is refused with code 13. */
    static void limits(Run r) throws Exception {
        DefaultMQProducer p = r.configure(new DefaultMQProducer(r.group("producer")));
        p.setMaxMessageSize(64 << 20);
        p.setCompressMsgBodyOverHowmuch(Integer.MAX_VALUE);
        p.setSendMsgTimeout(10_000);
        p.start();
        r.onClose(p::shutdown);
        byte[] largest = "0123456789abcdef".repeat((4 << 20) / 16).getBytes(StandardCharsets.UTF_8);
        r.sendSeries(p, "small", 1);
        Run.ok(p.send(new Message(r.topic(), largest)));
        r.ledger.send("largest");
        Message longProperties = r.message("long properties");
        longProperties.putUserProperty("long", "p".repeat(33_000));
        for (Message m : List.of(new Message(r.topic(), Arrays.copyOf(largest, largest.length + 1)), longProperties)) {
            try {
                r.ledger.fault("taken: %s", p.send(m));
            } catch (MQBrokerException e) {
                if (e.getResponseCode() != 13) {
                    r.ledger.fault("refused with code %d %s", e.getResponseCode(), e.getErrorMessage());
                }
            }
        }
        r.sendSeries(p, "after", 1);
        r.push(m -> {
            r.ledger.receive(Arrays.equals(m.getBody(), largest) ? "largest" : Run.body(m));
            return true;
        });
        r.await();
    }

    /** A topic made by the admin calls has the queues asked for, is listed, and is gone after its deletion. */
    static void createTopic(Run r) throws Exception {
        DefaultMQProducer p = r.producer();
        Line.createTopic(p, r.topic(), 6);
        MQClientAPIImpl api = p.getDefaultMQProducerImpl().getMqClientFactory().getMQClientAPIImpl();
        Run.until("the new topic is listed", () -> api.getTopicListFromNameServer(3000).getTopicList().contains(r.topic()));
        Set<Integer> used = new HashSet<>();
        String broker = null;
        for (int i = 0; i < 12; i++) {
            SendResult res = Run.ok(p.send(r.message("created/" + i)));
            r.ledger.send("created/" + i);
            used.add(res.getMessageQueue().getQueueId());
            InetSocketAddress a = (InetSocketAddress) MessageDecoder.decodeMessageId(res.getOffsetMsgId()).getAddress();
            broker = a.getAddress().getHostAddress() + ":" + a.getPort();
        }
        if (used.size() != 6) {
            r.ledger.fault("%d queues, expected 6", used.size());
        }
        var c = r.push(r::receive);
        r.await();
        c.shutdown();
        api.deleteTopicInBroker(broker, r.topic(), 3000);
        Line.deleteTopicInNameServer(api, r.namesrv(), r.topic());
        Run.until("the deleted topic is gone", () -> !api.getTopicListFromNameServer(3000).getTopicList().contains(r.topic()));
    }

    /** Messages are found by offset id, by unique id and by key; the queue's limits and times are told. */
    static void query(Run r) throws Exception {
        DefaultMQProducer p = r.producer();
        long begin = System.currentTimeMillis();
        List<SendResult> results = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            Message m = r.message("query/" + i);
            m.setKeys("number-" + i + " half-" + i % 2);
            results.add(Run.ok(p.send(m)));
            r.ledger.send("query/" + i);
        }
        Run.until("the index has all messages", () -> {
            try {
                return p.queryMessage(r.topic(), "number-19", 32, begin - 1000, begin + 60_000).getMessageList().size() == 1;
            } catch (MQClientException e) {
                return false; // that is how the client says that there are none
            }
        });
        for (int i = 0; i < 20; i++) {
            MessageExt byUnique = p.viewMessage(r.topic(), results.get(i).getMsgId());
            MessageExt byOffset = p.viewMessage(r.topic(), results.get(i).getOffsetMsgId());
            if (!Run.body(byUnique).equals("query/" + i) || !Run.body(byOffset).equals("query/" + i)) {
                r.ledger.fault("%s found as %s and %s", results.get(i), Run.body(byUnique), Run.body(byOffset));
            }
            r.ledger.receive(Run.body(byUnique));
        }
        var half = p.queryMessage(r.topic(), "half-1", 32, begin - 1000, begin + 60_000).getMessageList();
        var four = p.queryMessage(r.topic(), "half-1", 4, begin - 1000, begin + 60_000).getMessageList();
        if (half.size() != 10 || four.size() != 4) {
            r.ledger.fault("%d messages by key, %d of at most 4", half.size(), four.size());
        }
        long total = 0;
        for (MessageQueue mq : r.queues(p)) {
            total += p.maxOffset(mq) - p.minOffset(mq);
            long earliest = p.earliestMsgStoreTime(mq);
            if (earliest < begin - 1000 || earliest > System.currentTimeMillis() + 1000) {
                r.ledger.fault("%s: earliest time %d", mq, earliest);
            }
        }
        if (total != 20) {
            r.ledger.fault("the queues' offsets tell of %d messages", total);
        }
        r.await();
    }
}

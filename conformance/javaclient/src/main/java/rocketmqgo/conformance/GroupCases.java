// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package rocketmqgo.conformance;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.UnaryOperator;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

/** What a consumer group does together and over time. */
final class GroupCases {
    private GroupCases() { }

    /** The consumers of one group: who received which probe, and how many other messages. */
    static final class Members {
        /** Starts the bodies of messages that only find out who consumes; the ledger does not know them. */
        private static final String PROBE = "probe/";

        private final Run r;
        private final Map<String, List<String>> probes = new HashMap<>();
        private final Map<String, Integer> count = new HashMap<>();
        private int round;

        Members(Run r) {
            this.r = r;
        }

        DefaultMQProducer firstProbe() throws Exception {
            DefaultMQProducer p = r.producer();
            Run.ok(p.send(r.message(PROBE + 0)));
            return p;
        }

        DefaultMQPushConsumer start(String name, DefaultMQPushConsumer c, UnaryOperator<String> key) throws Exception {
            return r.push(c, r.topic(), MessageSelector.byTag("*"), m -> {
                String body = Run.body(m);
                boolean isProbe = body.startsWith(PROBE);
                synchronized (this) {
                    if (isProbe) {
                        probes.computeIfAbsent(body, k -> new ArrayList<>()).add(name);
                    } else {
                        count.merge(name, 1, Integer::sum);
                    }
                }
                if (!isProbe) {
                    r.ledger.receive(key.apply(body));
                }
                return true;
            });
        }

        synchronized int received(String name) {
            return count.getOrDefault(name, 0);
        }

        /**
         * Sends rounds of one probe per queue until every probe of a round was received once and every named member
         * received one: the group's queues are shared out then.
         */
        void settle(DefaultMQProducer p, String... names) throws Exception {
            List<MessageQueue> queues = r.queues(p);
            while (r.secondsLeft() > 0) {
                round++;
                List<String> bodies = new ArrayList<>();
                for (MessageQueue mq : queues) {
                    String body = PROBE + round + "/" + mq.getQueueId();
                    Run.ok(p.send(r.message(body), mq));
                    bodies.add(body);
                }
                for (int i = 0; i < 10; i++) {
                    Thread.sleep(100);
                    if (settled(bodies, names)) {
                        return;
                    }
                }
            }
            throw new TimeoutException("the queues are not shared by " + String.join(" ", names));
        }

        private synchronized boolean settled(List<String> bodies, String... names) {
            Set<String> got = new HashSet<>();
            for (String b : bodies) {
                List<String> by = probes.getOrDefault(b, List.of());
                if (by.size() != 1) {
                    return false;
                }
                got.addAll(by);
            }
            return got.containsAll(List.of(names));
        }
    }

    /** Two consumers of a group share the queues, and each message comes to one of them. */
    static void clustering(Run r) throws Exception {
        Members g = new Members(r);
        DefaultMQProducer p = g.firstProbe();
        for (String name : List.of("a", "b")) {
            g.start(name, r.consumer(r.group()), UnaryOperator.identity());
        }
        g.settle(p, "a", "b");
        r.sendSeries(p, "clustering", 100);
        r.await();
        if (g.received("a") != 50 || g.received("b") != 50) {
            r.ledger.fault("shares are %d and %d, expected half each", g.received("a"), g.received("b"));
        }
    }

    /** Every consumer of the group receives every message. */
    static void broadcasting(Run r) throws Exception {
        Members g = new Members(r);
        DefaultMQProducer p = g.firstProbe();
        for (String name : List.of("a", "b")) {
            DefaultMQPushConsumer c = r.consumer(r.group());
            Line.broadcasting(c);
            g.start(name, c, body -> name + ":" + body);
        }
        r.sendSeries(p, "broadcast", 50, body -> new String[] {"a:" + body, "b:" + body}, (i, m) -> { });
        r.await();
    }

    /** A second consumer joins and leaves again; nothing is lost, though messages under way may come twice. */
    static void rebalance(Run r) throws Exception {
        r.ledger.allowDups();
        Members g = new Members(r);
        DefaultMQProducer p = g.firstProbe();
        g.start("a", r.consumer(r.group()), UnaryOperator.identity());
        r.sendSeries(p, "alone", 40);
        r.await();
        DefaultMQPushConsumer b = g.start("b", r.consumer(r.group()), UnaryOperator.identity());
        r.sendSeries(p, "joining", 40);
        g.settle(p, "a", "b");
        r.sendSeries(p, "both", 40);
        r.await();
        if (g.received("a") == 0 || g.received("b") == 0) {
            r.ledger.fault("one of the consumers received nothing");
        }
        b.shutdown();
        r.sendSeries(p, "left", 40);
        r.await();
    }

    /** A consumer that ends and starts again goes on where the group was. */
    static void offsetRestart(Run r) throws Exception {
        DefaultMQProducer p = r.producer();
        r.sendSeries(p, "before", 50);
        DefaultMQPushConsumer c = r.push(r::receive);
        r.await();
        Thread.sleep(Run.OFFSETS_STORED_MILLIS);
        c.shutdown();
        r.sendSeries(p, "after", 50);
        r.push(r::receive);
        r.await();
    }

    /**
     * A new group that wants only new messages still gets the old ones of a young topic: the broker answers its first
     * question for an offset with 0 as long as the queue was never cleaned and is in memory.
     */
    static void fromLast(Run r) throws Exception {
        DefaultMQProducer p = r.producer();
        r.sendSeries(p, "old", 20);
        DefaultMQPushConsumer c = r.consumer(r.group());
        c.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET);
        r.push(c, r.topic(), MessageSelector.byTag("*"), r::receive);
        r.sendSeries(p, "new", 20);
        r.await();
    }

    /**
     * The broker is stopped and started while messages are sent and consumed. The sender repeats what was not
     * accepted; what was accepted must arrive. The cases that do this run side by side, so each sees the other's
     * restart too, at any moment. Messages are sent in batches of a size, or one by one.
     */
    static void acrossRestart(Run r, String how, int batch) throws Exception {
        r.ledger.allowDups();
        DefaultMQProducer p = r.producer();
        sendStubbornly(r, p, "before", 50, batch);
        r.push(r::receive);
        r.await();
        CompletableFuture<Void> restarted = CompletableFuture.runAsync(() -> {
            try {
                r.restartBroker(how);
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        sendStubbornly(r, p, "during", 100, batch);
        restarted.get(Math.max(1, r.secondsLeft()), TimeUnit.SECONDS);
        sendStubbornly(r, p, "after", 50, batch);
        r.await();
    }

    /** Sends n messages at a slow pace, each batch of them until the broker accepts it. */
    private static void sendStubbornly(Run r, DefaultMQProducer p, String prefix, int n, int batch) throws Exception {
        for (int i = 0; i < n; i += batch) {
            List<Message> messages = new ArrayList<>();
            for (int k = i; k < i + batch; k++) {
                messages.add(r.message(prefix + "/" + k));
            }
            for (boolean accepted = false; !accepted;) {
                try {
                    Run.ok(batch == 1 ? p.send(messages.get(0)) : p.send(messages));
                    accepted = true;
                } catch (Exception e) {
                    if (r.secondsLeft() <= 0) {
                        throw e;
                    }
                    Thread.sleep(100);
                }
            }
            messages.forEach(m -> r.ledger.send(Run.body(m)));
            Thread.sleep(10 * batch);
        }
    }
}

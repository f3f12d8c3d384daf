// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package rocketmqgo.conformance;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.message.Message;
import org.apache.rocketmq.client.apis.message.MessageBuilder;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.apis.producer.Transaction;
import org.apache.rocketmq.client.apis.producer.TransactionChecker;
import org.apache.rocketmq.client.apis.producer.TransactionResolution;

/** What producers of gRPC do, through the proxy. */
final class GrpcSend {
    private GrpcSend() { }

    /** All that a message carries arrives: id, tag, keys, properties, where and when it was born. */
    static void normal(Run r) throws Exception {
        Grpc g = new Grpc(r);
        String topic = g.topic("NORMAL");
        Map<String, String> ids = new ConcurrentHashMap<>();
        Producer p = g.producer(null, topic);
        long before = System.currentTimeMillis();
        for (int i = 0; i < 20; i++) {
            String body = "normal/" + i;
            MessageBuilder b = Grpc.builder(topic, body);
            if (i % 2 == 0) {
                b.setTag("T" + i).setKeys("k" + i, "l" + i).addProperty("own", "é" + i).addProperty("x y", "z");
            }
            ids.put(body, p.send(b.build()).getMessageId().toString());
            r.ledger.send(body);
        }
        g.push(g.group(false, 16), topic, FilterExpression.SUB_ALL, m -> {
            String body = Grpc.body(m);
            int i = Integer.parseInt(body.substring(7));
            boolean rich = i % 2 == 0;
            if (!m.getMessageId().toString().equals(ids.get(body)) || m.getDeliveryAttempt() != 1 || !m.getTopic().equals(topic)
                || m.getBornTimestamp() < before || !m.getTag().equals(rich ? Optional.of("T" + i) : Optional.empty())
                || !List.copyOf(m.getKeys()).equals(rich ? List.of("k" + i, "l" + i) : List.of())
                || !m.getProperties().equals(rich ? Map.of("own", "é" + i, "x y", "z") : Map.of())) {
                r.ledger.fault("%s came as %s", body, m);
            }
            return g.receive(m);
        });
        r.await();
    }

    /** Messages with a time of their own come at it. */
    static void delay(Run r) throws Exception {
        Grpc g = new Grpc(r);
        String topic = g.topic("DELAY");
        Producer p = g.producer(null, topic);
        for (int i = 0; i < 8; i++) {
            long at = System.currentTimeMillis() + 1500 + 250 * i;
            p.send(Grpc.builder(topic, "delay/" + at).setDeliveryTimestamp(at).build());
            r.ledger.send("delay/" + at);
        }
        g.push(g.group(false, 16), topic, FilterExpression.SUB_ALL, m -> {
            long at = Long.parseLong(Grpc.body(m).substring(6));
            if (System.currentTimeMillis() < at - 1000 || !m.getDeliveryTimestamp().equals(Optional.of(at))) {
                r.ledger.fault("%d ms too early: %s", at - System.currentTimeMillis(), m);
            }
            return g.receive(m);
        });
        r.await();
    }

    /** Only committed messages come, whether the producer said so at once or when it was asked through the proxy. */
    static void transaction(Run r) throws Exception {
        r.ledger.allowDups();
        Grpc g = new Grpc(r);
        String topic = g.topic("TRANSACTION");
        Set<String> asked = ConcurrentHashMap.newKeySet();
        TransactionChecker checker = m -> {
            String body = Grpc.body(m);
            if (!m.getTopic().equals(topic) || !body.equals(m.getProperties().get("own"))) {
                r.ledger.fault("asked about %s", m);
            }
            asked.add(body);
            return body.startsWith("check-commit") ? TransactionResolution.COMMIT : TransactionResolution.ROLLBACK;
        };
        Producer p = g.producer(checker, topic);
        for (String kind : new String[] {"commit", "rollback", "check-commit", "check-rollback"}) {
            for (int i = 0; i < 5; i++) {
                String body = kind + "/" + i;
                Transaction t = p.beginTransaction();
                p.send(Grpc.builder(topic, body).addProperty("own", body).build(), t);
                if (kind.equals("commit")) {
                    t.commit();
                } else if (kind.equals("rollback")) {
                    t.rollback();
                }
                r.ledger.send(kind.endsWith("commit") ? new String[] {body} : new String[0]);
            }
        }
        g.push(g.group(false, 16), topic, FilterExpression.SUB_ALL, g::receive);
        r.await();
        Run.until("questions", () -> asked.size() >= 10);
        if (asked.stream().anyMatch(body -> !body.startsWith("check-"))) {
            r.ledger.fault("asked about %s", asked);
        }
    }

    /** Each kind of message to topics of each type: what is taken, and the answer to what is not. */
    static void types(Run r) throws Exception {
        Grpc g = new Grpc(r);
        Map<String, UnaryOperator<MessageBuilder>> kinds = Map.of("NORMAL", b -> b, "FIFO", b -> b.setMessageGroup("g"),
            "DELAY", b -> b.setDeliveryTimestamp(System.currentTimeMillis() + 1000));
        for (String type : new String[] {"NORMAL", "FIFO", "DELAY", "TRANSACTION", "MIXED"}) {
            String topic = g.topic(type, type);
            Producer p = g.producer(m -> TransactionResolution.ROLLBACK, topic);
            for (String kind : new String[] {"NORMAL", "FIFO", "DELAY", "TRANSACTION"}) {
                String want = type.equals(kind) || type.equals("MIXED") ? "ok" : "IllegalArgumentException";
                g.expect(kind + " to " + type, want, () -> {
                    if (!kind.equals("TRANSACTION")) {
                        p.send(kinds.get(kind).apply(Grpc.builder(topic, "typed")).build());
                        return;
                    }
                    Transaction t = p.beginTransaction();
                    p.send(Grpc.message(topic, "typed"), t);
                    t.commit();
                });
            }
        }
        r.await();
    }

    /** What no producer may send, and the answer. */
    static void refused(Run r) throws Exception {
        Grpc g = new Grpc(r);
        String topic = g.topic("NORMAL");
        Producer p = g.producer(null, topic);
        g.expect("absent topic", "NotFoundException 40402", () -> p.send(Grpc.message(r.topic("absent"), "x")));
        g.expect("too large", "ClientException", () -> p.send(Grpc.message(topic, "x".repeat(4 << 20 | 1))));
        g.expect("as large as may be", "ok", () -> p.send(Grpc.message(topic, "x".repeat(4 << 20))));
        g.expect("properties", "RequestHeaderFieldsTooLargeException 43101",
            () -> p.send(Grpc.builder(topic, "x").addProperty("p", "x".repeat(33_000)).build()));
        g.expect("producer of an absent topic", "IllegalStateException", () -> g.producer(null, r.topic("none")));
        g.expect("producer of a topic without type", "IllegalStateException", () -> g.producer(null, g.topic("UNSPECIFIED", "untyped")));
        g.expect("consumer of an absent topic", "IllegalStateException",
            () -> g.push(g.group(false, 16), r.topic("none"), FilterExpression.SUB_ALL, g::receive));
        g.expect("consumer of an absent group", "ok", () -> g.push(r.group("none"), topic, FilterExpression.SUB_ALL, m -> true));
        r.await();
    }
}

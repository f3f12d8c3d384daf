// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package rocketmqgo.conformance;

import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.IntPredicate;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.FilterExpressionType;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.MessageBuilder;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.consumer.MessageSelector;

/** What consumers of gRPC do, through the proxy. */
final class GrpcConsume {
    private GrpcConsume() { }

    /** Sends n messages "prefix/number". */
    private static void send(Run r, Producer p, String topic, String prefix, int n) throws Exception {
        for (int i = 0; i < n; i++) {
            p.send(Grpc.message(topic, prefix + "/" + i));
            r.ledger.send(prefix + "/" + i);
        }
    }

    /** Three consumers of one group get each message once, and each of them some. */
    static void clustering(Run r) throws Exception {
        Grpc g = new Grpc(r);
        String topic = g.topic("NORMAL");
        String group = g.group(false, 16);
        Set<Integer> busy = ConcurrentHashMap.newKeySet();
        for (int i = 0; i < 3; i++) {
            int id = i;
            g.push(group, topic, FilterExpression.SUB_ALL, m -> {
                busy.add(id);
                Thread.sleep(20); // leaves the others some
                return g.receive(m);
            });
        }
        send(r, g.producer(null, topic), topic, "clustering", 100);
        r.await();
        if (busy.size() != 3) {
            r.ledger.fault("consumers that got messages: %s", busy);
        }
    }

    static void tagFilter(Run r) throws Exception {
        filtered(r, new FilterExpression("A || B"), i -> i % 4 < 2);
    }

    static void sqlFilter(Run r) throws Exception {
        filtered(r, new FilterExpression("(number BETWEEN 10 AND 39 OR color = 'red') AND TAGS IS NOT NULL", FilterExpressionType.SQL92),
            i -> (i >= 10 && i <= 39 || i % 5 == 0) && i % 4 != 3);
    }

    private static void filtered(Run r, FilterExpression filter, IntPredicate wanted) throws Exception {
        Grpc g = new Grpc(r);
        String topic = g.topic("NORMAL");
        Producer p = g.producer(null, topic);
        g.push(g.group(false, 16), topic, filter, g::receive);
        for (int i = 0; i < 60; i++) {
            MessageBuilder b = Grpc.builder(topic, "filter/" + i).addProperty("number", "" + i);
            if (i % 4 != 3) {
                b.setTag("ABC".substring(i % 4, i % 4 + 1));
            }
            if (i % 5 == 0) {
                b.addProperty("color", "red");
            }
            p.send(b.build());
            r.ledger.send(wanted.test(i) ? new String[] {"filter/" + i} : new String[0]);
        }
        r.await();
    }

    /** What fails comes again after the time of the group's retry policy, and goes to the dead letter queue in the end. */
    static void retry(Run r) throws Exception {
        Grpc g = new Grpc(r);
        String topic = g.topic("NORMAL");
        String group = g.group(false, 2);
        Producer p = g.producer(null, topic);
        for (int i = 0; i < 6; i++) { // even ones succeed at last, the others never
            String body = "retry/" + i;
            p.send(Grpc.builder(topic, body).setKeys("k" + i).setTag("T").addProperty("own", "kept").build());
            r.ledger.send(body + "@1", body + "@2", body + "@3");
            if (i % 2 == 1) {
                r.ledger.expect("dead:" + body);
            }
        }
        Map<String, Long> last = new ConcurrentHashMap<>();
        Map<String, String> ids = new ConcurrentHashMap<>();
        g.push(group, topic, new FilterExpression("T"), m -> {
            String body = Grpc.body(m);
            long now = System.currentTimeMillis();
            Long before = last.put(body, now);
            String id = ids.putIfAbsent(body, m.getMessageId().toString());
            if (before != null && now - before < 950 || id != null && !id.equals(m.getMessageId().toString()) || !m.getTopic().equals(topic)
                || !"kept".equals(m.getProperties().get("own")) || !m.getTag().get().equals("T") || m.getKeys().size() != 1) {
                r.ledger.fault("%d ms after it failed: %s", before == null ? -1 : now - before, m);
            }
            r.ledger.receive(body + "@" + m.getDeliveryAttempt());
            return m.getDeliveryAttempt() == 3 && Integer.parseInt(body.substring(6)) % 2 == 0;
        });
        r.push(r.consumer(r.group("dead")), "%DLQ%" + group, MessageSelector.byTag("*"), m -> {
            if (!("%RETRY%" + group + "_" + topic).equals(m.getProperty("RETRY_TOPIC"))
                || !"kept".equals(m.getUserProperty("own")) || !"T".equals(m.getTags())) {
                r.ledger.fault("in the dead letter queue: %s", m.getProperties());
            }
            r.ledger.receive("dead:" + Run.body(m));
            return true;
        });
        r.await();
    }

    /** The proxy renews the invisible time of a message that a consumer takes longer for: it comes once. */
    static void slow(Run r) throws Exception {
        Grpc g = new Grpc(r);
        String topic = g.topic("NORMAL");
        g.push(g.group(false, 16), topic, FilterExpression.SUB_ALL, m -> {
            if (Grpc.body(m).equals("slow/0")) {
                Thread.sleep(16_000); // the proxy asks for 12 seconds (conformance/harness/proxy.go)
            }
            return g.receive(m);
        });
        send(r, g.producer(null, topic), topic, "slow", 2);
        r.await();
    }

    /** Messages of a message group come in order; one that fails comes again before those after it. */
    static void fifo(Run r) throws Exception {
        Grpc g = new Grpc(r);
        String topic = g.topic("FIFO");
        Producer p = g.producer(null, topic);
        for (int i = 0; i < 60; i++) {
            p.send(Grpc.builder(topic, "fifo/" + i).setMessageGroup("group" + i % 3).build());
            r.ledger.send("fifo/" + i);
        }
        Map<String, Integer> last = new HashMap<>();
        Set<Integer> failed = new HashSet<>();
        String group = g.group(true, 16);
        for (int c = 0; c < 2; c++) {
            g.push(group, topic, FilterExpression.SUB_ALL, m -> {
                synchronized (last) {
                    int n = Integer.parseInt(Grpc.body(m).substring(5));
                    String of = m.getMessageGroup().get();
                    if (!of.equals("group" + n % 3) || !last.getOrDefault(of, n % 3 - 3).equals(n - 3)) {
                        r.ledger.fault("%d came after %d: %s", n, last.get(of), m);
                    }
                    if (n / 3 == 10 && failed.add(n)) {
                        return false;
                    }
                    last.put(of, n);
                    return g.receive(m);
                }
            });
        }
        r.await();
    }

    /** A message that fails for good in a FIFO group goes to the dead letter queue, and those after it come. */
    static void fifoDead(Run r) throws Exception {
        Grpc g = new Grpc(r);
        String topic = g.topic("FIFO");
        Producer p = g.producer(null, topic);
        for (int i = 0; i < 10; i++) {
            p.send(Grpc.builder(topic, "fifo/" + i).setMessageGroup("one").build());
            r.ledger.send(i == 4 ? new String[] {"fifo/4@1", "fifo/4@2", "fifo/4@3", "dead:fifo/4"} : new String[] {"fifo/" + i + "@1"});
        }
        String group = g.group(true, 2);
        g.push(group, topic, FilterExpression.SUB_ALL, m -> {
            r.ledger.receive(Grpc.body(m) + "@" + m.getDeliveryAttempt());
            return !Grpc.body(m).equals("fifo/4");
        });
        r.push(r.consumer(r.group("dead")), "%DLQ%" + group, MessageSelector.byTag("*"), m -> {
            r.ledger.receive("dead:" + Run.body(m));
            return true;
        });
        r.await();
    }

    interface Received {
        void message(String body, MessageView m) throws Exception;
    }

    /** Receives until n messages came, or nothing comes any more. */
    private static void take(SimpleConsumer c, int n, Duration invisible, Received received) throws Exception {
        for (int empty = 0; n > 0 && empty < 5;) {
            List<MessageView> some = c.receive(16, invisible);
            for (MessageView m : some) {
                received.message(Grpc.body(m), m);
            }
            n -= some.size();
            empty = some.isEmpty() ? empty + 1 : 0;
        }
    }

    /** Received, acknowledged or not, put off: a message comes again when its time is over, and not before. */
    static void simple(Run r) throws Exception {
        Grpc g = new Grpc(r);
        String topic = g.topic("NORMAL");
        SimpleConsumer c = g.simple(g.group(false, 16), topic, Duration.ofSeconds(5));
        send(r, g.producer(null, topic), topic, "simple", 16);
        Map<String, Long> due = new HashMap<>();
        take(c, 16, Duration.ofSeconds(10), (body, m) -> {
            long seconds = 10;
            switch (Integer.parseInt(body.substring(7)) % 4) {
                case 0, 1 -> c.ack(m);
                case 2 -> c.changeInvisibleDuration(m, Duration.ofSeconds(seconds = 12));
                default -> { } // left
            }
            if (Integer.parseInt(body.substring(7)) % 4 > 1) {
                due.put(body, System.currentTimeMillis() + 1000 * seconds);
                r.ledger.expect(body + "@2");
            }
            r.ledger.receive(body);
        });
        take(c, 8, Grpc.LONG, (body, m) -> {
            long early = due.getOrDefault(body, Long.MAX_VALUE) - System.currentTimeMillis();
            if (early > 1000) { // popped by the broker's clock, before it was received here
                r.ledger.fault("%s came again %d ms too early", body, early);
            }
            r.ledger.receive(body + "@" + m.getDeliveryAttempt());
            c.ack(m);
        });
        r.await();
    }

    /** What acknowledgements and changes of times answer, also when the handle was used before or its time is over. */
    static void handles(Run r) throws Exception {
        Grpc g = new Grpc(r);
        String topic = g.topic("NORMAL");
        SimpleConsumer c = g.simple(g.group(false, 16), topic, Duration.ofSeconds(5));
        Producer p = g.producer(null, topic);
        send(r, p, topic, "old", 1);
        Map<String, MessageView> got = new HashMap<>();
        take(c, 1, Duration.ofSeconds(2), got::put);
        long end = System.nanoTime() + 3_000_000_000L;
        send(r, p, topic, "handle", 4);
        take(c, 4, Grpc.LONG, got::put);
        got.keySet().forEach(r.ledger::receive);
        MessageView acked = got.get("handle/0");
        g.expect("ack", "ok", () -> c.ack(acked));
        g.expect("ack again", "ok", () -> c.ack(acked));
        g.expect("change what is acknowledged", "ok", () -> c.changeInvisibleDuration(acked, Grpc.LONG));
        MessageView changed = got.get("handle/1");
        g.expect("change", "ok", () -> c.changeInvisibleDuration(changed, Grpc.LONG));
        g.expect("change again", "ok", () -> c.changeInvisibleDuration(changed, Duration.ofSeconds(70)));
        g.expect("ack what was changed", "ok", () -> c.ack(changed));
        g.expect("too short", "ok", () -> c.changeInvisibleDuration(got.get("handle/2"), Duration.ofMillis(1)));
        g.expect("too long", "BadRequestException 40011", () -> c.changeInvisibleDuration(got.get("handle/3"), Duration.ofDays(2)));
        Thread.sleep(Math.max(0, (end - System.nanoTime()) / 1_000_000));
        MessageView old = got.get("old/0");
        g.expect("ack what is old", "BadRequestException 40013", () -> c.ack(old));
        g.expect("change what is old", "BadRequestException 40013", () -> c.changeInvisibleDuration(old, Grpc.LONG));
        g.expect("ack what could not be changed", "InternalErrorException 50001", () -> c.ack(old));
        g.expect("receive for too short", "BadRequestException 40011", () -> c.receive(1, Duration.ofMillis(10)));
        g.expect("receive for too long", "BadRequestException 40011", () -> c.receive(1, Duration.ofDays(2)));
        g.expect("receive too many", "ok", () -> c.receive(100, Grpc.LONG));
        r.await();
    }

    /** A receive waits for messages as long as it may, and gets what comes meanwhile at once. */
    static void longPoll(Run r) throws Exception {
        Grpc g = new Grpc(r);
        String topic = g.topic("NORMAL");
        SimpleConsumer c = g.simple(g.group(false, 16), topic, Duration.ofSeconds(4));
        Producer p = g.producer(null, topic);
        long start = System.nanoTime();
        int n = c.receive(16, Grpc.LONG).size();
        long empty = (System.nanoTime() - start) / 1_000_000;
        if (n > 0 || empty < 3000 || empty > 10_000) {
            r.ledger.fault("%d messages after %d ms", n, empty);
        }
        for (int i = 0; i < 4; i++) { // the queues of the topic take turns
            CompletableFuture<List<MessageView>> waiting = c.receiveAsync(16, Grpc.LONG);
            Thread.sleep(700);
            long sent = System.nanoTime();
            send(r, p, topic, "poll" + i, 1);
            List<MessageView> got = waiting.get(30, TimeUnit.SECONDS);
            long waited = (System.nanoTime() - sent) / 1_000_000;
            if (got.size() != 1 || waited > 3000) {
                r.ledger.fault("%d messages %d ms after one was sent", got.size(), waited);
            }
            for (MessageView m : got) {
                g.receive(m);
                c.ack(m);
            }
        }
        r.await();
    }

    /** Producer and consumers go on when the broker was restarted. */
    static void acrossRestart(Run r, String how) throws Exception {
        r.ledger.allowDups();
        Grpc g = new Grpc(r);
        String topic = g.topic("NORMAL");
        String group = g.group(false, 16);
        Producer p = g.producer(null, topic);
        g.push(group, topic, FilterExpression.SUB_ALL, g::receive);
        sendStubbornly(r, p, topic, "before", 50);
        r.await();
        CompletableFuture<Void> restarted = CompletableFuture.runAsync(() -> {
            try {
                r.restartBroker(how);
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        sendStubbornly(r, p, topic, "during", 100);
        restarted.get(Math.max(1, r.secondsLeft()), TimeUnit.SECONDS);
        sendStubbornly(r, p, topic, "after", 50);
        r.await();
    }

    private static void sendStubbornly(Run r, Producer p, String topic, String prefix, int n) throws Exception {
        for (int i = 0; i < n; i++) {
            for (;;) {
                try {
                    p.send(Grpc.message(topic, prefix + "/" + i));
                    break;
                } catch (Exception e) {
                    if (r.secondsLeft() <= 0) {
                        throw e;
                    }
                    Thread.sleep(100);
                }
            }
            r.ledger.send(prefix + "/" + i);
            Thread.sleep(10);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package rocketmqgo.conformance;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** One case under way: its names, its clients and its ledger. */
final class Run {
    /**
     * After this time the broker has the offsets of a running consumer for sure: the client sends them for the first
     * time ten seconds after its start. Those that it sends when it ends may be lost, because it waits for no answer
     * before it closes the connection, and because Apache's broker may lose one of a group's very first offsets when
     * several arrive at once.
     */
    static final long OFFSETS_STORED_MILLIS = 15_000;

    final Ledger ledger = new Ledger();
    final String name;
    final long deadline;
    private final Main.Options options;
    private final List<Runnable> closers = new ArrayList<>();
    private String namesrv;
    private int clients;

    Run(Main.Options options, String name, long deadlineNanos) {
        this.options = options;
        this.namesrv = options.namesrv();
        this.name = name;
        this.deadline = deadlineNanos;
    }

    String topic(String... part) {
        return id("JT", part);
    }

    String group(String... part) {
        return id("JG", part);
    }

    private String id(String prefix, String... part) {
        return prefix + "-" + name + (part.length == 0 ? "" : "-" + String.join("-", part)) + "-" + options.suffix();
    }

    String namesrv() {
        return namesrv;
    }

    /** Where the proxy takes gRPC. */
    String proxy() {
        return options.proxy();
    }

    /** From now on the proxy is the name server of the case's clients. */
    void throughProxy() {
        String[] address = options.proxy().split(":");
        namesrv = address[0] + ":" + (Integer.parseInt(address[1]) + 1);
    }

    long secondsLeft() {
        return (deadline - System.nanoTime()) / 1_000_000_000;
    }

    void await() throws Exception {
        ledger.await(deadline);
    }

    synchronized void onClose(Runnable r) {
        closers.add(r);
    }

    void close() {
        for (Runnable r : closers) {
            try {
                r.run();
            } catch (RuntimeException e) {
                System.err.println(name + ": " + e);
            }
        }
    }

    /** A client id of its own for each client, and short intervals: the defaults are 30 s. */
    synchronized <C extends ClientConfig> C configure(C c) {
        c.setNamesrvAddr(namesrv);
        c.setInstanceName(name + "-" + ++clients + "-" + options.suffix());
        c.setPollNameServerInterval(1000);
        c.setHeartbeatBrokerInterval(1000);
        c.setPersistConsumerOffsetInterval(500);
        return c;
    }

    DefaultMQProducer producer() throws Exception {
        DefaultMQProducer p = configure(new DefaultMQProducer(group("producer")));
        p.setSendMsgTimeout(30_000);
        p.start();
        onClose(p::shutdown);
        return p;
    }

    Message message(String body) {
        return new Message(topic(), body.getBytes(StandardCharsets.UTF_8));
    }

    static String body(Message m) {
        return new String(m.getBody(), StandardCharsets.UTF_8);
    }

    /** Fails unless the broker answered as a healthy one does. */
    static SendResult ok(SendResult r) throws Exception {
        if (r == null || r.getSendStatus() != SendStatus.SEND_OK) {
            throw new IllegalStateException("send: " + r);
        }
        return r;
    }

    interface Edit {
        void apply(int i, Message m);
    }

    interface Due {
        String[] of(String body);
    }

    static final Due ITSELF = body -> new String[] {body};

    /** Sends n messages whose bodies are "prefix/number". */
    void sendSeries(DefaultMQProducer p, String prefix, int n, Due due, Edit edit) throws Exception {
        for (int i = 0; i < n; i++) {
            String body = prefix + "/" + i;
            Message m = message(body);
            edit.apply(i, m);
            ok(p.send(m));
            ledger.send(due.of(body));
        }
    }

    void sendSeries(DefaultMQProducer p, String prefix, int n) throws Exception {
        sendSeries(p, prefix, n, ITSELF, (i, m) -> { });
    }

    interface Handler {
        boolean consume(MessageExt m) throws Exception;
    }

    /** The handler of most cases: note the body. */
    boolean receive(MessageExt m) {
        ledger.receive(body(m));
        return true;
    }

    /** A push consumer from the first message on, not started yet. */
    DefaultMQPushConsumer consumer(String group) {
        return configured(new DefaultMQPushConsumer(group));
    }

    DefaultMQPushConsumer configured(DefaultMQPushConsumer c) {
        configure(c);
        c.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        c.setConsumeThreadMin(2);
        c.setConsumeThreadMax(4);
        onClose(c::shutdown);
        return c;
    }

    DefaultMQPushConsumer push(DefaultMQPushConsumer c, String topic, MessageSelector selector, Handler h) throws Exception {
        c.subscribe(topic, selector);
        c.registerMessageListener(concurrently(h));
        c.start();
        return c;
    }

    DefaultMQPushConsumer push(Handler h) throws Exception {
        return push(consumer(group()), topic(), MessageSelector.byTag("*"), h);
    }

    MessageListenerConcurrently concurrently(Handler h) {
        return (msgs, context) -> {
            boolean ok = true;
            for (MessageExt m : msgs) {
                try {
                    ok &= h.consume(m);
                } catch (Exception e) {
                    ledger.fault("%s: %s", body(m), e);
                }
            }
            return ok ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS : ConsumeConcurrentlyStatus.RECONSUME_LATER;
        };
    }

    /** The topic's queues; its route may be known only a moment after its first message. */
    List<MessageQueue> queues(DefaultMQProducer p) throws Exception {
        List<MessageQueue> found = new ArrayList<>();
        until("the route of " + topic(), () -> {
            try {
                return found.addAll(p.fetchPublishMessageQueues(topic()));
            } catch (MQClientException e) {
                return false;
            }
        });
        return found;
    }

    interface Check {
        boolean done() throws Exception;
    }

    /** Repeats check for at most a minute. */
    static void until(String what, Check check) throws Exception {
        long end = System.nanoTime() + 60_000_000_000L;
        while (!check.done()) {
            if (System.nanoTime() > end) {
                throw new TimeoutException(what + " not within a minute");
            }
            Thread.sleep(100);
        }
    }

    /** Calls the harness and returns when the broker serves again. */
    void restartBroker(String how) throws Exception {
        List<String> argv = new ArrayList<>(List.of(options.restart().split(" ")));
        argv.add(how);
        Process p = new ProcessBuilder(argv).redirectErrorStream(true).start();
        if (!p.waitFor(secondsLeft(), TimeUnit.SECONDS) || p.exitValue() != 0) {
            p.destroy();
            throw new IllegalStateException("restart command: " + new String(p.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
        }
    }
}

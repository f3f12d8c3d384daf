// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package rocketmqgo.conformance;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntPredicate;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.RequestCallback;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Order, filters, repetition, delay, transactions, replies. */
final class ConsumeCases {
    private ConsumeCases() { }

    /** An orderly consumer sees each key's messages in order, also after it suspended a queue. */
    static void orderly(Run r) throws Exception {
        DefaultMQProducer p = r.producer();
        int keys = 4;
        for (int i = 0; i < keys * 25; i++) {
            Run.ok(p.send(r.message("orderly/" + i), (mqs, m, key) -> mqs.get(key.hashCode() % mqs.size()), i % keys));
            r.ledger.send("orderly/" + i);
        }
        Map<Integer, Integer> last = new HashMap<>();
        Set<Integer> suspended = new HashSet<>();
        DefaultMQPushConsumer c = r.consumer(r.group());
        c.subscribe(r.topic(), "*");
        c.registerMessageListener((MessageListenerOrderly) (msgs, context) -> {
            synchronized (last) {
                for (MessageExt m : msgs) {
                    int n = Integer.parseInt(Run.body(m).substring(8));
                    if (n / keys == 10 && suspended.add(n % keys)) {
                        return ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT;
                    }
                    Integer before = last.put(n % keys, n);
                    if (before != null && n != before + keys) {
                        r.ledger.fault("%d came after %d", n, before);
                    }
                    r.receive(m);
                }
            }
            return ConsumeOrderlyStatus.SUCCESS;
        });
        c.start();
        r.await();
    }

    /** A subscription "A || B" never sees the messages of C, nor those without tags. */
    static void tagFilter(Run r) throws Exception {
        filtered(r, MessageSelector.byTag("A || B"), i -> i % 4 < 2);
    }

    /** The broker evaluates the expression over the properties; one that is missing makes it unknown. */
    static void sqlFilter(Run r) throws Exception {
        filtered(r, MessageSelector.bySql("(number BETWEEN 10 AND 39 OR color = 'red') AND TAGS IS NOT NULL"),
            i -> (i >= 10 && i <= 39 || i % 5 == 0) && i % 4 != 3);
    }

    private static void filtered(Run r, MessageSelector selector, IntPredicate wanted) throws Exception {
        DefaultMQProducer p = r.producer();
        Run.Due due = body -> wanted.test(Integer.parseInt(body.substring(7))) ? new String[] {body} : new String[0];
        r.sendSeries(p, "filter", 60, due, (i, m) -> {
            if (i % 4 != 3) {
                m.setTags("ABC".substring(i % 4, i % 4 + 1));
            }
            m.putUserProperty("number", "" + i);
            if (i % 5 == 0) {
                m.putUserProperty("color", "red");
            }
        });
        r.push(r.consumer(r.group()), r.topic(), selector, r::receive);
        r.await();
    }

    /** A message that the consumer puts off comes again with a count of one, and then no more. */
    static void retry(Run r) throws Exception {
        retried(r, 10, 1);
        r.await();
    }

    /** A message that fails three times with two allowed repetitions goes to the dead letter queue. */
    static void deadLetter(Run r) throws Exception {
        retried(r, 5, 99);
        r.push(r.consumer(r.group("dlq")), "%DLQ%" + r.group(), MessageSelector.byTag("*"), m -> {
            if (!r.topic().equals(m.getProperty("RETRY_TOPIC")) || !"kept".equals(m.getUserProperty("own")) || !Run.body(m).equals(m.getKeys())) {
                r.ledger.fault("properties in the dead letter queue: %s", m.getProperties());
            }
            r.ledger.receive("dead:" + Run.body(m));
            return true;
        });
        r.await();
    }

    /** Sends n messages to a consumer that takes each only when it was repeated success times; two are allowed. */
    private static void retried(Run r, int n, int success) throws Exception {
        int allowed = 2;
        DefaultMQProducer p = r.producer();
        Run.Due due = body -> {
            int tries = Math.min(success, allowed) + 1;
            String[] keys = new String[success > allowed ? tries + 1 : tries];
            for (int t = 0; t < tries; t++) {
                keys[t] = body + "@" + t;
            }
            if (success > allowed) {
                keys[tries] = "dead:" + body;
            }
            return keys;
        };
        r.sendSeries(p, "retry", n, due, (i, m) -> {
            m.putUserProperty("own", "kept");
            m.setKeys("retry/" + i);
        });
        Map<String, String> ids = new ConcurrentHashMap<>();
        DefaultMQPushConsumer c = r.consumer(r.group());
        c.setMaxReconsumeTimes(allowed);
        r.push(c, r.topic(), MessageSelector.byTag("*"), m -> {
            String body = Run.body(m);
            String origin = m.getProperty("ORIGIN_MESSAGE_ID");
            if (m.getReconsumeTimes() == 0) {
                ids.put(body, offsetId(m));
            } else if (!ids.get(body).equals(origin) || !m.getTopic().equals(r.topic()) || !"kept".equals(m.getUserProperty("own"))) {
                r.ledger.fault("%s: repeated as %s", body, m);
            }
            r.ledger.receive(body + "@" + m.getReconsumeTimes());
            return m.getReconsumeTimes() >= success;
        });
    }

    private static String offsetId(MessageExt m) {
        return org.apache.rocketmq.common.message.MessageDecoder.createMessageId(m.getStoreHost(), m.getCommitLogOffset());
    }

    /** No message comes before its level's second is over. */
    static void delay(Run r) throws Exception {
        DefaultMQProducer p = r.producer();
        r.sendSeries(p, "delay", 18, Run.ITSELF, (i, m) -> m.setDelayTimeLevel(i + 1));
        r.push(m -> {
            long age = System.currentTimeMillis() - m.getBornTimestamp();
            if (age < 950) {
                r.ledger.fault("%s came after %d ms", Run.body(m), age);
            }
            return r.receive(m);
        });
        r.await();
    }

    /**
     * Only committed messages come, whether the producer said so at once or when the broker asked. Those that it asked
     * about may come again: it may ask twice before it noted the first answer.
     */
    static void transaction(Run r) throws Exception {
        r.ledger.allowDups();
        TransactionMQProducer p = r.configure(new TransactionMQProducer(r.group("producer")));
        p.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message m, Object arg) {
                return switch (Run.body(m).split("/")[0]) {
                    case "commit" -> LocalTransactionState.COMMIT_MESSAGE;
                    case "rollback" -> LocalTransactionState.ROLLBACK_MESSAGE;
                    default -> LocalTransactionState.UNKNOW;
                };
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt m) {
                switch (Run.body(m).split("/")[0]) {
                    case "check-commit":
                        return LocalTransactionState.COMMIT_MESSAGE;
                    case "check-rollback":
                        return LocalTransactionState.ROLLBACK_MESSAGE;
                    default:
                        r.ledger.fault("asked about %s", Run.body(m));
                        return LocalTransactionState.UNKNOW;
                }
            }
        });
        p.start();
        r.onClose(p::shutdown);
        for (String kind : new String[] {"commit", "rollback", "check-commit", "check-rollback"}) {
            for (int i = 0; i < 5; i++) {
                String body = kind + "/" + i;
                Run.ok(p.sendMessageInTransaction(r.message(body), null));
                r.ledger.send(kind.endsWith("commit") ? new String[] {body} : new String[0]);
            }
        }
        Set<String> seen = ConcurrentHashMap.newKeySet();
        r.push(m -> {
            if (!seen.add(Run.body(m)) && Run.body(m).startsWith("commit/")) {
                r.ledger.fault("%s came twice", Run.body(m));
            }
            return r.receive(m);
        });
        r.await();
    }

    /**
     * Each request gets its own answer through the broker. (Only the form with a queue and a callback waits for it in
     * all versions of the client: the others of 5.x are content with the answer to the sending.)
     */
    static void requestReply(Run r) throws Exception {
        DefaultMQProducer p = r.producer();
        DefaultMQProducer answers = r.producer();
        Run.ok(p.send(r.message("probe")));
        r.push(m -> {
            if (!Run.body(m).equals("probe")) {
                byte[] body = ("re: " + Run.body(m)).getBytes(StandardCharsets.UTF_8);
                try {
                    Run.ok(answers.send(MessageUtil.createReplyMessage(m, body)));
                } catch (Exception e) {
                    if (!Run.body(m).equals("hello")) {
                        throw e;
                    }
                }
            }
            return true;
        });
        List<MessageQueue> queues = r.queues(p);
        // Before the requester's next heartbeat the broker knows no one to answer to, and refuses the answer.
        Run.until("an answer", () -> {
            CompletableFuture<Message> answer = new CompletableFuture<>();
            p.request(r.message("hello"), queues.get(0), new RequestCallback() {
                @Override
                public void onSuccess(Message reply) {
                    answer.complete(reply);
                }

                @Override
                public void onException(Throwable e) {
                    answer.completeExceptionally(e);
                }
            }, 3_000);
            return answer.handle((reply, e) -> e == null).get();
        });
        for (int i = 0; i < 10; i++) {
            r.ledger.send("re: request/" + i);
            p.request(r.message("request/" + i), queues.get(i % queues.size()), new RequestCallback() {
                @Override
                public void onSuccess(Message reply) {
                    r.ledger.receive(Run.body(reply));
                }

                @Override
                public void onException(Throwable e) {
                    r.ledger.fault("request: %s", e);
                }
            }, 30_000);
        }
        r.await();
    }
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package rocketmqgo.conformance;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** Message trace: the clients tell what they do with a message by messages to a topic that the broker has for them. */
final class TraceCases {
    private static final String TOPIC = "RMQ_SYS_TRACE_TOPIC";

    /** Where in a record of each kind the message id stands, and what the ledger calls the record. */
    private record Kind(String name, int id) { }

    private static final Map<String, Kind> KINDS = Map.of("Pub", new Kind("pub", 5), "SubBefore", new Kind("before", 5),
        "SubAfter", new Kind("after", 2), "EndTransaction", new Kind("end", 5));

    private TraceCases() { }

    /** What producers, consumers and transaction producers tell arrives, and is found by the message's id. */
    static void trace(Run r) throws Exception {
        long begin = System.currentTimeMillis();
        Map<String, String> bodies = new ConcurrentHashMap<>();
        DefaultMQProducer p = r.configure(new DefaultMQProducer(r.group("producer"), true, null));
        p.setSendMsgTimeout(10_000);
        p.start();
        r.onClose(p::shutdown);
        TransactionMQProducer tx = r.configure(new TransactionMQProducer(null, r.group("tx"), null, true, null));
        tx.setTransactionListener(listener(r));
        tx.setSendMsgTimeout(10_000);
        tx.start();
        r.onClose(tx::shutdown);
        String first = null;
        for (String body : List.of("trace/0", "trace/1", "trace/2", "trace/3", "commit/0", "rollback/0")) {
            Message m = r.message(body);
            m.setKeys("key-" + body);
            m.setTags("tag");
            boolean plain = body.startsWith("trace");
            String id = Run.ok(plain ? p.send(m) : tx.sendMessageInTransaction(m, null)).getMsgId();
            bodies.put(id, body);
            first = first == null ? id : first;
            r.ledger.send((plain ? "pub:" + body + " " + body
                : body.startsWith("commit") ? "pub:" + body + " end:" + body + " " + body
                : "pub:" + body + " end:" + body).split(" "));
        }
        r.push(r.configured(new DefaultMQPushConsumer(r.group(), true, null)), r.topic(), MessageSelector.byTag("*"), m -> {
            // Consumers of 5.x tell nothing of messages without region; brokers of 4.9 do not note it.
            if (!Line.TRACE_WANTS_REGION || m.getProperty("MSG_REGION") != null) {
                r.ledger.expect("before:" + Run.body(m), "after:" + Run.body(m));
            }
            return r.receive(m);
        });
        r.push(r.consumer(r.group("reader")), TOPIC, MessageSelector.byTag("*"), m -> {
            for (String line : Run.body(m).split("\u0002")) {
                String[] field = line.split("\u0001", -1);
                Kind kind = KINDS.get(field[0]);
                if (kind == null) {
                    r.ledger.fault("record of kind %s", field[0]);
                } else if (bodies.containsKey(field[kind.id])) {
                    r.ledger.receive(kind.name + ":" + bodies.get(field[kind.id]));
                }
            }
            return true;
        });
        r.await();
        String key = first;
        Run.until("the records are found by the message's id", () -> {
            try {
                return p.queryMessage(TOPIC, key, 32, begin - 1000, begin + 60_000).getMessageList().stream()
                    .anyMatch(m -> Run.body(m).startsWith("Pub\u0001"));
            } catch (MQClientException e) {
                return false; // that is how the client says that there are none
            }
        });
    }

    private static TransactionListener listener(Run r) {
        return new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message m, Object arg) {
                return Run.body(m).startsWith("commit") ? LocalTransactionState.COMMIT_MESSAGE : LocalTransactionState.ROLLBACK_MESSAGE;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt m) {
                return executeLocalTransaction(m, null); // the broker may ask what it has not noted yet
            }
        };
    }
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package rocketmqgo.conformance;

import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
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
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** What operators do to groups and topics while clients use them, and rarer modes of topics. */
final class AdminCases {
    /** The answer to a reset when nobody of the group is online; consoles then set the offsets themselves. */
    private static final int CONSUMER_NOT_ONLINE = 206;

    private AdminCases() { }

    static MQClientAPIImpl api(DefaultMQProducer p) {
        return p.getDefaultMQProducerImpl().getMqClientFactory().getMQClientAPIImpl();
    }

    /** The address of the broker that stored a message. */
    static String broker(SendResult res) throws Exception {
        InetSocketAddress a = (InetSocketAddress) MessageDecoder.decodeMessageId(res.getOffsetMsgId()).getAddress();
        return a.getAddress().getHostAddress() + ":" + a.getPort();
    }

    /** A running group is sent back in time: what came after that time comes again, what came before it does not. */
    static void reset(Run r) throws Exception {
        r.ledger.allowDups();
        DefaultMQProducer p = r.producer();
        String broker = broker(Run.ok(p.send(r.message("before/0"))));
        r.ledger.send("before/0");
        for (int i = 1; i < 20; i++) {
            Run.ok(p.send(r.message("before/" + i)));
            r.ledger.send("before/" + i);
        }
        Map<String, Integer> times = new ConcurrentHashMap<>();
        r.push(m -> {
            int n = times.merge(Run.body(m), 1, Integer::sum);
            r.ledger.receive(n == 1 ? Run.body(m) : "again:" + Run.body(m));
            return true;
        });
        r.await();
        Thread.sleep(Run.OFFSETS_STORED_MILLIS); // brokers of 4.9 reset only what they have stored
        long between = System.currentTimeMillis();
        Thread.sleep(100);
        r.sendSeries(p, "after", 20, body -> new String[] {body, "again:" + body}, (i, m) -> { });
        Run.until("all messages are consumed", () -> times.size() == 40);
        api(p).invokeBrokerToResetOffset(broker, r.topic(), r.group(), between, true, 5000);
        r.await();
    }

    /** What has piled up for a group that is offline is skipped; it goes on with what comes then. */
    static void skip(Run r) throws Exception {
        DefaultMQProducer p = r.producer();
        r.sendSeries(p, "skipped", 30, body -> new String[0], (i, m) -> { });
        setOffsets(r, p, mq -> 0);
        SendResult last = Run.ok(p.send(r.message("skipped/30")));
        r.ledger.send();
        while (p.maxOffset(last.getMessageQueue()) <= last.getQueueOffset()) { // it was acknowledged before its queue has it
            Thread.sleep(50);
        }
        try {
            api(p).invokeBrokerToResetOffset(broker(last), r.topic(), r.group(), -1, true, 5000);
        } catch (MQClientException e) {
            if (e.getResponseCode() != CONSUMER_NOT_ONLINE) {
                throw e;
            }
            setOffsets(r, p, p::maxOffset);
        }
        r.push(r::receive);
        r.sendSeries(p, "new", 20);
        r.await();
    }

    interface Offset {
        long of(MessageQueue mq) throws Exception;
    }

    /** Sets the offsets of the case's group by a client that is gone afterwards: it would share the group's queues. */
    private static void setOffsets(Run r, DefaultMQProducer p, Offset offset) throws Exception {
        DefaultMQPullConsumer c = offsetsOf(r, r.group());
        for (MessageQueue mq : r.queues(p)) {
            c.getDefaultMQPullConsumerImpl().getOffsetStore().updateConsumeOffsetToBroker(mq, offset.of(mq), false);
        }
        c.shutdown();
        Thread.sleep(1000); // the client waits for no answer when it says that it goes
    }

    /** A group gets the offsets of another one: it goes on where that was. */
    static void cloneOffsets(Run r) throws Exception {
        DefaultMQProducer p = r.producer();
        SendResult last = null;
        for (int i = 0; i < 40; i++) {
            String body = "clone/" + i;
            last = Run.ok(p.send(r.message(body)));
            r.ledger.send(last.getQueueOffset() < 4 ? new String[0] : new String[] {body});
        }
        String source = r.group("source");
        DefaultMQPullConsumer c = offsetsOf(r, source);
        for (MessageQueue mq : r.queues(p)) {
            c.getDefaultMQPullConsumerImpl().getOffsetStore().updateConsumeOffsetToBroker(mq, 4, false);
        }
        api(p).cloneGroupOffset(broker(last), source, r.group(), r.topic(), true, 5000);
        r.push(r::receive);
        r.await();
    }

    /** A client that sets and asks offsets of a group, which its pull makes known to the broker. */
    private static DefaultMQPullConsumer offsetsOf(Run r, String group) throws Exception {
        DefaultMQPullConsumer c = r.configure(new DefaultMQPullConsumer(group));
        c.start();
        r.onClose(c::shutdown);
        Run.until("the route of " + r.topic(), () -> {
            try {
                c.pull(c.fetchSubscribeMessageQueues(r.topic()).iterator().next(), "*", 0, 1);
                return true;
            } catch (MQClientException e) {
                return false;
            }
        });
        return c;
    }

    /** Dead letters are given to the group once more, as a console does: straight to a client that is online. */
    static void resend(Run r) throws Exception {
        DefaultMQProducer p = r.producer();
        String broker = broker(Run.ok(p.send(r.message("resend/0"))));
        r.ledger.send("resend/0", "dead:resend/0", "resent:resend/0");
        for (int i = 1; i < 5; i++) {
            Run.ok(p.send(r.message("resend/" + i)));
            r.ledger.send("resend/" + i, "dead:resend/" + i, "resent:resend/" + i);
        }
        Map<String, Boolean> repaired = new ConcurrentHashMap<>();
        DefaultMQPushConsumer c = r.consumer(r.group());
        c.setMaxReconsumeTimes(0);
        r.push(c, r.topic(), MessageSelector.byTag("*"), m -> {
            boolean again = repaired.containsKey(Run.body(m));
            r.ledger.receive((again ? "resent:" : "") + Run.body(m));
            return again;
        });
        String clientId = c.getDefaultMQPushConsumerImpl().getmQClientFactory().getClientId();
        r.push(r.consumer(r.group("dlq")), "%DLQ%" + r.group(), MessageSelector.byTag("*"), m -> {
            r.ledger.receive("dead:" + Run.body(m));
            repaired.put(Run.body(m), true);
            String result = Line.consumeDirectly(api(p), broker, r.group(), clientId, m.getProperty("RETRY_TOPIC"),
                m.getProperty("ORIGIN_MESSAGE_ID"));
            if (!result.equals("CR_SUCCESS")) {
                r.ledger.fault("%s: consumed with %s", Run.body(m), result);
            }
            return true;
        });
        r.await();
    }

    /** Topics and groups of clients in unit mode are listed as such. */
    static void unitMode(Run r) throws Exception {
        DefaultMQProducer p = r.configure(new DefaultMQProducer(r.group("producer")));
        p.setUnitMode(true);
        p.setSendMsgTimeout(10_000);
        p.start();
        r.onClose(p::shutdown);
        r.sendSeries(p, "unit", 20);
        DefaultMQPushConsumer c = r.consumer(r.group());
        c.setUnitMode(true);
        r.push(c, r.topic(), MessageSelector.byTag("*"), r::receive);
        r.await();
        Run.until("the topic is listed", () -> api(p).getUnitTopicList(false, 3000).getTopicList().contains(r.topic()));
        Run.until("the retry topic is listed",
            () -> api(p).getHasUnitSubTopicList(true, 3000).getTopicList().contains("%RETRY%" + r.group()));
        if (api(p).getUnitTopicList(false, 3000).getTopicList().stream().anyMatch(t -> t.contains("-sync-"))) {
            r.ledger.fault("a topic of other clients is listed");
        }
    }

    /** A message is in its own queue and in each light queue that it names; light groups have offsets there. */
    static void lightQueue(Run r) throws Exception {
        DefaultMQProducer p = r.producer();
        String a = "%LMQ%a" + r.topic();
        String b = "%LMQ%b" + r.topic();
        String brokerName = null;
        for (int i = 0; i < 20; i++) {
            String body = "light/" + i;
            Message m = r.message(body);
            m.putUserProperty("INNER_MULTI_DISPATCH", i % 2 == 0 ? a + "," + b : a);
            m.setTags("T" + i % 4);
            brokerName = Run.ok(p.send(m)).getMessageQueue().getBrokerName();
            r.ledger.send(i % 2 == 0 ? new String[] {body, a + body, b + body} : new String[] {body, a + body});
        }
        r.push(r::receive);
        DefaultMQPullConsumer c = offsetsOf(r, "%LMQ%" + r.group("light"));
        for (String queue : List.of(a, b)) {
            MessageQueue mq = new MessageQueue(queue, brokerName, 0);
            Map<Integer, String> bodies = new HashMap<>();
            Run.until("messages are in " + queue, () -> {
                PullResult found;
                try {
                    found = c.pull(mq, "*", bodies.size(), 7);
                } catch (MQBrokerException e) {
                    if (e.getResponseCode() == 17) {
                        throw new Main.Unsupported("light queues are off");
                    }
                    throw e;
                }
                if (found.getPullStatus() == PullStatus.FOUND) {
                    for (MessageExt m : found.getMsgFoundList()) {
                        bodies.put(bodies.size(), Run.body(m));
                        r.ledger.receive(queue + Run.body(m));
                    }
                }
                return bodies.size() == (queue.equals(a) ? 20 : 10);
            });
            PullResult tagged = c.pull(mq, "T2", 0, 32);
            if (tagged.getMsgFoundList().size() != 5) {
                r.ledger.fault("%s: %s by tag", queue, tagged);
            }
            c.getDefaultMQPullConsumerImpl().getOffsetStore().updateConsumeOffsetToBroker(mq, 7, false);
            if (c.fetchConsumeOffset(mq, true) != 7) {
                r.ledger.fault("%s: offset %d", queue, c.fetchConsumeOffset(mq, true));
            }
        }
        r.await();
    }
}

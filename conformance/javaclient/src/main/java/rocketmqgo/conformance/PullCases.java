// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package rocketmqgo.conformance;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Consumers that ask for messages themselves. */
final class PullCases {
    private PullCases() { }

    /** Sends 60 messages, 15 to each of four queues, at different times. */
    private static DefaultMQProducer fill(Run r, String prefix) throws Exception {
        DefaultMQProducer p = r.producer();
        int first = Run.ok(p.send(r.message(prefix + "/0"))).getMessageQueue().getQueueId(); // creates the topic
        r.ledger.send(prefix + "/0");
        List<MessageQueue> queues = r.queues(p);
        for (int i = 1; i < 60; i++) {
            int shifted = (first + i) % 4;
            Run.ok(p.send(r.message(prefix + "/" + i), queues.stream().filter(q -> q.getQueueId() == shifted).findFirst().orElseThrow()));
            r.ledger.send(prefix + "/" + i);
            Thread.sleep(2);
        }
        return p;
    }

    /**
     * DefaultMQPullConsumer reads every queue at offsets of its own choice, is told about the ends of a queue, finds
     * offsets by time, and stores and finds its own.
     */
    static void pull(Run r) throws Exception {
        fill(r, "pull");
        DefaultMQPullConsumer c = puller(r);
        for (MessageQueue mq : c.fetchSubscribeMessageQueues(r.topic())) {
            List<Long> stored = new ArrayList<>();
            long offset = 0;
            while (offset < 15) {
                PullResult res = c.pull(mq, "*", offset, 7, 10_000);
                if (res.getPullStatus() != PullStatus.FOUND || res.getMinOffset() != 0 || res.getMaxOffset() != 15 || res.getMsgFoundList().size() > 7) {
                    throw new IllegalStateException(mq + " offset " + offset + ": " + res);
                }
                for (MessageExt m : res.getMsgFoundList()) {
                    stored.add(m.getStoreTimestamp());
                    r.receive(m);
                }
                offset = res.getNextBeginOffset();
            }
            PullResult end = c.pull(mq, "*", 15, 7);
            PullResult beyond = c.pull(mq, "*", 1000, 7);
            if (end.getPullStatus() != PullStatus.NO_NEW_MSG || end.getNextBeginOffset() != 15
                || beyond.getPullStatus() != PullStatus.OFFSET_ILLEGAL || beyond.getNextBeginOffset() != 15) {
                r.ledger.fault("%s: at the end %s, beyond %s", mq, end, beyond);
            }
            for (int i = 0; i < stored.size(); i++) {
                long found = c.searchOffset(mq, stored.get(i));
                if (found != i) {
                    r.ledger.fault("%s: offset of time %d is %d, expected %d", mq, stored.get(i), found, i);
                }
            }
            c.updateConsumeOffset(mq, 10 + mq.getQueueId());
            c.getOffsetStore().persist(mq);
        }
        DefaultMQPullConsumer again = puller(r);
        // They were sent without waiting for an answer, and are lost when the connection is closed too early.
        for (MessageQueue mq : again.fetchSubscribeMessageQueues(r.topic())) {
            Run.until("the stored offset of " + mq, () -> again.fetchConsumeOffset(mq, true) == 10 + mq.getQueueId());
        }
        c.shutdown();
        r.await();
    }

    private static DefaultMQPullConsumer puller(Run r) throws Exception {
        DefaultMQPullConsumer c = r.configure(new DefaultMQPullConsumer(r.group()));
        c.start();
        r.onClose(c::shutdown);
        return c;
    }

    private static DefaultLitePullConsumer lite(Run r) {
        DefaultLitePullConsumer c = r.configure(new DefaultLitePullConsumer(r.group()));
        c.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        c.setAutoCommit(false);
        c.setPullThreadNums(4);
        r.onClose(c::shutdown);
        return c;
    }

    /** Polls until nothing is missing. The lite consumer of 5.x has a request code of its own, which 4.9 lacks. */
    private static void pollAll(Run r, DefaultLitePullConsumer c, Consumer<MessageExt> each) throws Main.Unsupported {
        long start = System.nanoTime();
        boolean any = false;
        while (!r.ledger.missing().isEmpty() && r.secondsLeft() > 0) {
            for (MessageExt m : c.poll(500)) {
                any = true;
                each.accept(m);
                r.receive(m);
            }
            if (!any && System.nanoTime() - start > 30_000_000_000L) {
                throw new Main.Unsupported("no message at all");
            }
        }
    }

    /** A subscribed lite pull consumer gets all messages; what it commits is where the next one goes on. */
    static void poll(Run r) throws Exception {
        DefaultMQProducer p = fill(r, "poll");
        DefaultLitePullConsumer c = lite(r);
        c.subscribe(r.topic(), "*");
        c.start();
        pollAll(r, c, m -> { });
        Collection<MessageQueue> queues = c.fetchMessageQueues(r.topic());
        for (MessageQueue mq : queues) {
            c.commit(Set.of(mq), true);
            Thread.sleep(200); // one by one: see Run.OFFSETS_STORED_MILLIS
            Run.until("the committed offset of " + mq, () -> c.committed(mq) == 15);
        }
        Thread.sleep(500); // they were sent without waiting for an answer
        c.shutdown();
        DefaultLitePullConsumer again = lite(r);
        again.subscribe(r.topic(), "*");
        again.start();
        r.sendSeries(p, "more", 20);
        pollAll(r, again, m -> {
            if (Run.body(m).startsWith("poll/")) {
                r.ledger.fault("queue %d offset %d came again after it was committed", m.getQueueId(), m.getQueueOffset());
            }
        });
        r.await();
    }

    /** A lite pull consumer with queues of its own choice seeks in them, to offsets, times and both ends. */
    static void assign(Run r) throws Exception {
        fill(r, "assign");
        DefaultLitePullConsumer c = lite(r);
        c.start();
        Collection<MessageQueue> queues = c.fetchMessageQueues(r.topic());
        c.assign(queues);
        c.pause(queues); // a client of 4.9 hands out what it has pulled before it seeks
        for (MessageQueue mq : queues) {
            c.seekToBegin(mq);
        }
        c.resume(queues);
        Map<MessageQueue, Map<Long, Long>> times = new HashMap<>();
        pollAll(r, c, m -> times.computeIfAbsent(new MessageQueue(r.topic(), m.getBrokerName(), m.getQueueId()), k -> new HashMap<>())
            .put(m.getQueueOffset(), m.getStoreTimestamp()));
        for (MessageQueue mq : queues) {
            long at = c.offsetForTimestamp(mq, times.get(mq).get(11L));
            if (at != 11) {
                r.ledger.fault("%s: offset of the time of message 11 is %d", mq, at);
            }
            c.seek(mq, at);
        }
        int again = 0; // four messages of each queue
        while (again < 16 && r.secondsLeft() > 0) {
            for (MessageExt m : c.poll(500)) {
                if (m.getQueueOffset() < 11) {
                    r.ledger.fault("offset %d after seeking to 11", m.getQueueOffset());
                }
                again++;
            }
        }
        for (MessageQueue mq : queues) {
            c.seekToEnd(mq);
        }
        if (again != 16 || !c.poll(500).isEmpty()) {
            r.ledger.fault("%d messages after seeking to 11, or more after seeking to the end", again);
        }
        r.await();
    }
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package rocketmqgo.conformance;

import java.util.List;
import java.util.Locale;
import org.apache.rocketmq.acl.common.AclClientRPCHook;
import org.apache.rocketmq.acl.common.SessionCredentials;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.remoting.RPCHook;

/** For brokers that let in only who signs, by the access rules of 4.x or 5.x; the harness makes the accounts (--auth). */
final class AuthCases {
    private AuthCases() { }

    static List<Main.Case> cases() {
        return List.of(
            new Main.Case("signed", AuthCases::signed),
            new Main.Case("wrong-secret", AuthCases::wrongSecret),
            new Main.Case("pub-only", AuthCases::pubOnly));
    }

    private static RPCHook both() {
        return hook("conf-both", "both-secret");
    }

    private static RPCHook publisher() {
        return hook("conf-publisher", "publisher-secret");
    }

    private static RPCHook hook(String accessKey, String secretKey) {
        return new AclClientRPCHook(new SessionCredentials(accessKey, secretKey));
    }

    private static DefaultMQProducer producer(Run r, RPCHook hook) throws Exception {
        DefaultMQProducer p = r.configure(new DefaultMQProducer(r.group("producer"), hook));
        p.setSendMsgTimeout(30_000);
        p.start();
        r.onClose(p::shutdown);
        return p;
    }

    private static void consume(Run r, String group) throws Exception {
        DefaultMQPushConsumer c = r.configured(new DefaultMQPushConsumer(group, both(), new AllocateMessageQueueAveragely()));
        r.push(c, r.topic(), MessageSelector.byTag("*"), r::receive);
    }

    /** Whoever may publish and subscribe does. */
    static void signed(Run r) throws Exception {
        r.sendSeries(producer(r, both()), "signed", 10);
        consume(r, r.group());
        r.await();
    }

    /** A message signed with another secret is refused, and so is one that is not signed. */
    static void wrongSecret(Run r) throws Exception {
        refused("check signature failed", () -> producer(r, hook("conf-both", "another-secret")).send(r.message("no")));
        refused("", () -> r.producer().send(r.message("no"))); // 4.x and 5.x say different things
    }

    /** Whoever may only publish cannot read what they sent; another can. */
    static void pubOnly(Run r) throws Exception {
        DefaultMQProducer p = producer(r, publisher());
        r.sendSeries(p, "pub-only", 5);
        DefaultMQPullConsumer c = r.configure(new DefaultMQPullConsumer(r.group(), publisher()));
        c.start();
        r.onClose(c::shutdown);
        refused("permission", () -> c.pull(r.queues(p).get(0), "*", 0, 1));
        consume(r, r.group("both"));
        r.await();
    }

    private interface Attempt {
        Object make() throws Exception;
    }

    private static void refused(String text, Attempt a) throws Exception {
        Object result;
        try {
            result = a.make();
        } catch (Exception e) {
            for (Throwable t = e; t != null; t = t.getCause()) {
                if (String.valueOf(t.getMessage()).toLowerCase(Locale.ROOT).contains(text)) {
                    return;
                }
            }
            throw e;
        }
        throw new IllegalStateException("let in: " + result);
    }
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package rocketmqgo.conformance;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientException;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.PushConsumer;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.Message;
import org.apache.rocketmq.client.apis.message.MessageBuilder;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.apis.producer.TransactionChecker;
import org.apache.rocketmq.client.impl.MQClientAPIImpl;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.remoting.protocol.subscription.CustomizedRetryPolicy;
import org.apache.rocketmq.remoting.protocol.subscription.GroupRetryPolicy;
import org.apache.rocketmq.remoting.protocol.subscription.GroupRetryPolicyType;
import org.apache.rocketmq.remoting.protocol.subscription.SubscriptionGroupConfig;

/**
 * The official gRPC client, unmodified, at the proxy, for one case. Topics and groups are made at the broker: the proxy
 * makes none.
 */
final class Grpc {
    private static final ClientServiceProvider CLIENTS = ClientServiceProvider.loadService();
    static final Duration LONG = Duration.ofSeconds(60);

    private static final Pattern CODE = Pattern.compile("response-code=(\\d+)");

    /** Kept, as its level goes with it: what fails to start, as some cases want it, says so at length when it is closed. */
    private static final Logger CHANNELS = Logger.getLogger("org.apache.rocketmq.shaded.io.grpc.internal.ManagedChannelImpl");

    static {
        CHANNELS.setLevel(Level.OFF);
    }

    private final Run r;
    private DefaultMQProducer tools;
    private String broker;

    Grpc(Run r) {
        this.r = r;
    }

    private MQClientAPIImpl api() throws Exception {
        if (tools == null) {
            tools = r.producer();
            broker = AdminCases.api(tools).getBrokerClusterInfo(5000).getBrokerAddrTable().values().iterator().next().selectBrokerAddr();
        }
        return AdminCases.api(tools);
    }

    /** Makes a topic of a message type and returns its name when the name server knows it. */
    String topic(String type, String... part) throws Exception {
        String topic = r.topic(part);
        TopicConfig config = new TopicConfig(topic, 4, 4);
        config.setAttributes(Map.of("+message.type", type));
        api().createTopic(broker, "TBW102", config, 5000);
        Run.until("the route of " + topic, () -> {
            try {
                return !api().getTopicRouteInfoFromNameServer(topic, 5000).getQueueDatas().isEmpty();
            } catch (org.apache.rocketmq.client.exception.MQClientException e) {
                return false;
            }
        });
        return topic;
    }

    /** Makes a group whose messages come at most 1 + retries times, with a second between. */
    String group(boolean orderly, int retries) throws Exception {
        GroupRetryPolicy policy = new GroupRetryPolicy();
        policy.setType(GroupRetryPolicyType.CUSTOMIZED);
        policy.setCustomizedRetryPolicy(new CustomizedRetryPolicy(new long[] {1000}));
        SubscriptionGroupConfig config = new SubscriptionGroupConfig();
        config.setGroupName(r.group());
        config.setConsumeMessageOrderly(orderly);
        config.setRetryMaxTimes(retries);
        config.setGroupRetryPolicy(policy);
        api().createSubscriptionGroup(broker, config, 5000);
        return r.group();
    }

    private ClientConfiguration configuration() {
        return ClientConfiguration.newBuilder().setEndpoints(r.proxy()).enableSsl(false).setRequestTimeout(Duration.ofSeconds(10)).build();
    }

    Producer producer(TransactionChecker checker, String... topics) throws Exception {
        var b = CLIENTS.newProducerBuilder().setClientConfiguration(configuration()).setTopics(topics);
        if (checker != null) {
            b.setTransactionChecker(checker);
        }
        Producer p = b.build();
        r.onClose(() -> quietly(p));
        return p;
    }

    interface Handler {
        boolean consume(MessageView m) throws Exception;
    }

    PushConsumer push(String group, String topic, FilterExpression filter, Handler h) throws Exception {
        PushConsumer c = CLIENTS.newPushConsumerBuilder().setClientConfiguration(configuration()).setConsumerGroup(group)
            .setSubscriptionExpressions(Map.of(topic, filter)).setConsumptionThreadCount(4).setMessageListener(m -> {
                try {
                    return h.consume(m) ? ConsumeResult.SUCCESS : ConsumeResult.FAILURE;
                } catch (Exception e) {
                    r.ledger.fault("%s: %s", body(m), e);
                    return ConsumeResult.SUCCESS;
                }
            }).build();
        r.onClose(() -> quietly(c));
        return c;
    }

    SimpleConsumer simple(String group, String topic, Duration await) throws Exception {
        SimpleConsumer c = CLIENTS.newSimpleConsumerBuilder().setClientConfiguration(configuration()).setConsumerGroup(group)
            .setSubscriptionExpressions(Map.of(topic, FilterExpression.SUB_ALL)).setAwaitDuration(await).build();
        r.onClose(() -> quietly(c));
        return c;
    }

    static MessageBuilder builder(String topic, String body) {
        return CLIENTS.newMessageBuilder().setTopic(topic).setBody(body.getBytes(StandardCharsets.UTF_8));
    }

    static Message message(String topic, String body) {
        return builder(topic, body).build();
    }

    static String body(MessageView m) {
        return StandardCharsets.UTF_8.decode(m.getBody()).toString();
    }

    boolean receive(MessageView m) {
        r.ledger.receive(body(m));
        return true;
    }

    interface Attempt {
        void run() throws Exception;
    }

    /** Counts an attempt, and what it must come to as the delivery that is due. */
    void expect(String what, String outcome, Attempt a) {
        r.ledger.send(what + ": " + outcome);
        r.ledger.receive(what + ": " + outcome(a));
    }

    /** What an attempt came to: ok, or the client's exception with the code of the proxy's answer. */
    private static String outcome(Attempt a) {
        try {
            a.run();
            return "ok";
        } catch (ClientException e) {
            Matcher m = CODE.matcher(String.valueOf(e.getMessage()));
            return e.getClass().getSimpleName() + (m.find() ? " " + m.group(1) : "");
        } catch (Exception e) {
            return e.getClass().getSimpleName();
        }
    }

    private static void quietly(AutoCloseable c) {
        try {
            c.close();
        } catch (Exception e) {
            System.err.println("close: " + e);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package rocketmqgo.admin;

import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.serializer.SerializerFeature;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** One line of JSON for each call: its page, its name and arguments, and what it returned, without what differs in each run. */
final class Report {
    interface Call {
        Object run() throws Exception;
    }

    /** Numbers and texts of numbers under these names say how fast or how full a broker is, or what time it is. */
    private static final Pattern VOLATILE = Pattern.compile("(?i)time(?!s$|outMinute)|tps|putLatency|distribute|ratio|capacity|bodyCRC|physic"
        + "|commitLog(Min|Max)Offset|commitLogOffset|msg(put|get)total|putMessage|getMessage|queue(Size|Head)|remain|dispatch(Behind|Max)|earliest"
        + "|runtime|(?<!read|write|Queue)nums$|avgpt|sum$|rt$|counter$|bornHost|storeHost|cachedMsg|msgAccum|lastUpdate|bornTimestamp");
    /** Settings of the machine. */
    private static final Pattern HOST = Pattern.compile(".*([Pp]ath|Path.*|Dir|[Pp]ort|[Pp]orts|Peers|Home|addr|Addr|brokerIP\\d)"
        + "|.*(Pool|Thread|Threads|Selector|Selectors)[A-Za-z]*(Nums?|Threads|Size)|.*ThreadPool[A-Za-z]*|.*Threads?|rocketmqHome");

    /** What is a setting, whatever its name sounds like. */
    private boolean settings;
    private final List<UnaryOperator<String>> masks = new ArrayList<>();

    private final PrintStream out;

    Report(PrintStream out) {
        this.out = out;
        mask("(?<![0-9A-Za-z])[0-9A-F]{32}(?:[0-9A-F]{24})?(?![0-9A-Za-z])", "<ID>");
        mask("(?<!\\d)1[6-9]\\d{11}(?!\\d)", "<ms>");
        mask("\\d{4}-\\d\\d-\\d\\d[ T_]\\d\\d[:-]\\d\\d[:-]\\d\\d(?:[.,:]\\d+)?", "<time>");
        mask("(?<![\\d.])(?!127\\.0\\.0\\.|0\\.0\\.0\\.0)\\d{1,3}(?:\\.\\d{1,3}){3}(?![\\d.])", "<IP>");
        mask("127\\.0\\.0\\.1:\\d+", "127.0.0.1:<port>");
        mask("(?<![A-Za-z0-9.<>/])/(?:[\\w.+-]+/)+[\\w.+-]*", "<path>");
        mask("\\$\\$Lambda.*", "Lambda");
        mask("@[0-9a-f]{5,8}$", "@<hash>");
        mask("(?s)\\s*For more information, please visit the url.*|\\s*See https?://\\S+.*", "");
    }

    /** Hides a text of this run, such as an address. */
    void hide(String text, String name) {
        masks.add(0, s -> s.replaceAll(Pattern.quote(text) + "(?!\\d)", name));
    }

    private void mask(String pattern, String with) {
        Pattern p = Pattern.compile(pattern);
        masks.add(s -> p.matcher(s).replaceAll(with));
    }

    /** Makes the call and prints its line. Returns what it returned, null when it failed. */
    Object call(String page, String name, Call c) {
        Map<String, Object> line = new TreeMap<>();
        Object result = null;
        try {
            result = c.run();
            settings = result instanceof Properties;
            line.put("result", plain("", result));
        } catch (Throwable e) {
            line.put("error", e.getClass().getSimpleName() + ": " + text(String.valueOf(e.getMessage())));
        }
        out.println(page + "\t" + name + "\t" + JSON.toJSONString(line, SerializerFeature.MapSortField, SerializerFeature.WriteMapNullValue));
        return result;
    }

    private String text(String s) {
        for (UnaryOperator<String> m : masks) {
            s = m.apply(s);
        }
        return s;
    }

    /** Maps with sorted keys, lists in an order of their own, texts and numbers. */
    private Object plain(String key, Object v) {
        if (v instanceof MessageExt) {
            return message((MessageExt) v);
        }
        if (v instanceof InetSocketAddress || v instanceof MessageQueue || v instanceof Enum) {
            return text(v.toString());
        }
        if (v instanceof Map) {
            Map<String, Object> sorted = new TreeMap<>();
            ((Map<?, ?>) v).forEach((k, x) -> sorted.put(text(String.valueOf(k)), plain(String.valueOf(k), x)));
            return sorted;
        }
        if (v instanceof Collection) {
            List<Object> list = new ArrayList<>();
            ((Collection<?>) v).forEach(x -> list.add(plain(key, x)));
            list.sort(Comparator.comparing(x -> JSON.toJSONString(x, SerializerFeature.MapSortField)));
            return list;
        }
        if (v == null || v instanceof Boolean) {
            return v;
        }
        if (v instanceof Number || v instanceof String) {
            return value(key, v);
        }
        Object tree = JSON.toJSON(v);
        return tree == v ? text(v.toString()) : plain(key, tree);
    }

    private Object value(String key, Object v) {
        if (HOST.matcher(key).matches()) {
            return "<host>";
        }
        if (v instanceof Number) {
            double d = ((Number) v).doubleValue();
            return changes(key) || d > 1e12 && d < 1e13 || d != Math.rint(d) ? "<n>" : v;
        }
        String s = text((String) v);
        return changes(key) ? s.replaceAll("-?\\d+(\\.\\d+)?(E-?\\d+)?", "<n>").replaceAll("<n>( <n>)+ ?$", "<n>") : s;
    }

    private boolean changes(String key) {
        return !settings && VOLATILE.matcher(key).find();
    }

    /** What the pages show of a message. */
    private Object message(MessageExt m) {
        Map<String, Object> r = new TreeMap<>();
        r.put("topic", m.getTopic());
        r.put("queueId", m.getQueueId());
        r.put("queueOffset", m.getQueueOffset());
        r.put("storeSize", m.getStoreSize());
        r.put("sysFlag", m.getSysFlag());
        r.put("flag", m.getFlag());
        r.put("msgId", text(m.getMsgId()));
        r.put("reconsumeTimes", m.getReconsumeTimes());
        r.put("properties", plain("", m.getProperties()));
        r.put("bornHost", text(String.valueOf(m.getBornHostString())));
        r.put("body", m.getBody() == null ? null : text(new String(m.getBody(), StandardCharsets.UTF_8)));
        return r;
    }
}

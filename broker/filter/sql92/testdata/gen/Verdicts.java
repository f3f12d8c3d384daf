// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import org.apache.rocketmq.filter.FilterFactory;
import org.apache.rocketmq.filter.expression.EvaluationContext;
import org.apache.rocketmq.filter.expression.Expression;

/**
 * Asks Apache RocketMQ's own filter about expressions: standard input has one a line, the file named by the first
 * argument one message a line. Prints the table that TestVerdicts reads.
 */
public class Verdicts {
    public static void main(String[] args) throws Exception {
        List<Map<String, String>> messages = new ArrayList<>();
        for (String line : Files.readAllLines(Paths.get(args[0]))) {
            if (!line.startsWith("#")) {
                messages.add(properties(line));
            }
        }
        StringBuilder out = new StringBuilder();
        Scanner in = new Scanner(System.in, "UTF-8").useDelimiter("\n");
        while (in.hasNext()) {
            String line = in.next();
            if (!line.startsWith("#")) {
                out.append(line).append('\t').append(verdict(unescape(line), messages));
            } else {
                out.append(line);
            }
            out.append('\n');
        }
        System.out.write(out.toString().getBytes(StandardCharsets.UTF_8));
        System.out.flush();
    }

    private static Map<String, String> properties(String line) {
        Map<String, String> m = new HashMap<>();
        for (String pair : line.split("\t")) {
            int i = pair.indexOf('=');
            if (i > 0) {
                m.put(unescape(pair.substring(0, i)), unescape(pair.substring(i + 1)));
            }
        }
        return m;
    }

    private static String verdict(String text, List<Map<String, String>> messages) {
        Expression expression;
        try {
            expression = FilterFactory.INSTANCE.get("SQL92").compile(text);
        } catch (Throwable e) {
            return "refused\t" + escape(String.valueOf(e.getMessage()));
        }
        StringBuilder b = new StringBuilder();
        for (Map<String, String> m : messages) {
            b.append(evaluate(expression, m));
        }
        return b.toString();
    }

    private static char evaluate(Expression expression, Map<String, String> message) {
        Object result;
        try {
            result = expression.evaluate(new EvaluationContext() {
                @Override
                public Object get(String name) {
                    return message.get(name);
                }

                @Override
                public Map<String, Object> keyValues() {
                    return new HashMap<>(message);
                }
            });
        } catch (Throwable e) {
            return 'x';
        }
        if (result instanceof Boolean) {
            return (Boolean) result ? 'T' : 'F';
        }
        return result == null ? 'n' : '?';
    }

    private static String escape(String s) {
        StringBuilder b = new StringBuilder();
        for (char c : s.toCharArray()) {
            int i = "\t\n\r\f\\".indexOf(c);
            if (i >= 0) {
                b.append('\\').append("tnrf\\".charAt(i));
            } else if (c < 0x20 || c > 0x7e) {
                b.append(String.format("\\u%04x", (int) c));
            } else {
                b.append(c);
            }
        }
        return b.toString();
    }

    private static String unescape(String s) {
        StringBuilder b = new StringBuilder();
        for (int i = 0; i < s.length(); i++) {
            if (s.charAt(i) != '\\') {
                b.append(s.charAt(i));
            } else if (s.charAt(++i) == 'u') {
                b.append((char) Integer.parseInt(s.substring(i + 1, i + 5), 16));
                i += 4;
            } else {
                int k = "tnrf".indexOf(s.charAt(i));
                b.append(k >= 0 ? "\t\n\r\f".charAt(k) : s.charAt(i));
            }
        }
        return b.toString();
    }
}

// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package rocketmqgo.conformance;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeoutException;

/**
 * Holds what was sent, which deliveries are due and which were made. One delivery is named by a key: the message's
 * body, with the consumer or the number of the try added where a message is due more than once.
 */
final class Ledger {
    /** How long nothing may arrive before a case believes that there are no duplicates and no strays. */
    private static final long QUIET_MILLIS = 700;

    private final Set<String> due = new TreeSet<>();
    private final Map<String, Integer> got = new HashMap<>();
    private final List<String> problems = new ArrayList<>();
    private int sent;
    private boolean anyDups;
    private long lastArrival;

    /** Counts one accepted message and the deliveries that are due for it. */
    synchronized void send(String... keys) {
        sent++;
        due.addAll(List.of(keys));
    }

    /** Adds deliveries that are due for a message that was counted already. */
    synchronized void expect(String... keys) {
        due.addAll(List.of(keys));
    }

    synchronized void receive(String key) {
        got.merge(key, 1, Integer::sum);
        lastArrival = System.nanoTime();
        notifyAll();
    }

    /** Notes a violated expectation that was seen in a callback. */
    synchronized void fault(String format, Object... args) {
        if (problems.size() < 5) {
            problems.add(String.format(format, args));
        }
    }

    /** For cases in which at-least-once delivery permits any number of repetitions. */
    synchronized void allowDups() {
        anyDups = true;
    }

    synchronized List<String> missing() {
        return due.stream().filter(k -> !got.containsKey(k)).toList();
    }

    /** Returns when each delivery that is due was made and then nothing came for a while. */
    synchronized void await(long deadlineNanos) throws Exception {
        while (!missing().isEmpty()) {
            long left = (deadlineNanos - System.nanoTime()) / 1_000_000;
            if (left <= 0) {
                throw new TimeoutException("time is up");
            }
            wait(left);
        }
        long still;
        while ((still = QUIET_MILLIS - (System.nanoTime() - lastArrival) / 1_000_000) > 0) {
            wait(still);
        }
    }

    synchronized Main.Row row(String name, Throwable error) {
        List<String> errors = new ArrayList<>();
        if (error != null) {
            errors.add(error.toString());
        }
        errors.addAll(problems);
        if (!missing().isEmpty()) {
            errors.add("missing " + some(missing()));
        }
        int received = 0;
        int dups = 0;
        List<String> strays = new ArrayList<>();
        for (Map.Entry<String, Integer> e : got.entrySet()) {
            if (!due.contains(e.getKey())) {
                strays.add(e.getKey());
                continue;
            }
            received++;
            dups += e.getValue() - 1;
        }
        if (!strays.isEmpty()) {
            errors.add("not expected " + some(strays.stream().sorted().toList()));
        }
        String note = null;
        if (dups > 0 && anyDups) {
            note = dups + " received twice";
        } else if (dups > 0) {
            errors.add(dups + " duplicates");
        }
        if (!errors.isEmpty()) {
            note = String.join("; ", errors);
        }
        return new Main.Row(name, errors.isEmpty() ? "ok" : "fail", "" + sent, "" + received, anyDups ? "any" : "" + dups, note);
    }

    private static String some(List<String> keys) {
        return keys.size() + ": " + String.join(" ", keys.subList(0, Math.min(8, keys.size())));
    }
}

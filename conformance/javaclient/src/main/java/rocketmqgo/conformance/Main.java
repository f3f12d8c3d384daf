// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package rocketmqgo.conformance;

import java.time.LocalTime;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Runs the official Java client, unmodified, against any RocketMQ name server and accounts for every message. The
 * names of the cases and the form of the table are those of the Go suite.
 */
public final class Main {
    /** A case fills the ledger of its run; an exception is a violated expectation other than the ledger's own. */
    interface Body {
        void run(Run r) throws Exception;
    }

    /** One case; restarts names the way it has the broker restarted ("term", "kill"): such cases run after all others. */
    record Case(String name, Body body, String restarts) {
        Case(String name, Body body) {
            this(name, body, null);
        }
    }

    record Row(String name, String result, String sent, String received, String dups, String note) {
        @Override
        public String toString() {
            return String.format("%-20s | %-6s | %6s | %8s | %5s", name, result, sent, received, dups);
        }
    }

    /** Thrown by a case whose feature the server answers it does not have. */
    static final class Unsupported extends Exception {
        Unsupported(String why) {
            super(why);
        }
    }

    /** What the command line said. */
    record Options(String namesrv, String proxy, String restart, String suffix, int parallel, int timeoutSeconds) { }

    public static void main(String[] args) throws Exception {
        String namesrv = System.getenv("ROCKETMQ_NAMESRV");
        String restart = System.getenv("ROCKETMQ_RESTART_CMD");
        String suffix = Long.toHexString(System.currentTimeMillis());
        Set<String> only = null;
        int parallel = 6;
        boolean auth = false;
        String proxy = null;
        int timeout = 180; // a busy machine takes its time
        for (int i = 0; i < args.length; i += 2) {
            String value = i + 1 < args.length ? args[i + 1] : usage();
            switch (args[i]) {
                case "-namesrv" -> namesrv = value;
                case "-restart-cmd" -> restart = value;
                case "-suffix" -> suffix = value;
                case "-cases" -> only = Set.of(value.split(","));
                case "-parallel" -> parallel = Integer.parseInt(value);
                case "-auth" -> auth = true; // acl or users: the cases for brokers with such access rules
                case "-proxy" -> proxy = value; // host:port of gRPC; that of remoting is the next port: the cases for proxies
                case "-timeout" -> timeout = Integer.parseInt(value);
                default -> usage();
            }
        }
        if (namesrv == null || namesrv.isEmpty()) {
            usage();
        }
        List<Case> chosen = new ArrayList<>();
        for (Case c : proxy != null ? Line.proxyCases() : auth ? AuthCases.cases() : cases()) {
            if (only == null || only.contains(c.name)) {
                chosen.add(c);
            }
        }
        System.exit(report(runAll(new Options(namesrv, proxy, restart, suffix, parallel, timeout), chosen)));
    }

    private static String usage() {
        System.err.println("usage: Main -namesrv host:port [-restart-cmd CMD] [-cases a,b] [-auth acl|users] [-proxy host:port] [-parallel n] [-timeout s]");
        System.exit(2);
        return null;
    }

    private static List<Case> cases() {
        List<Case> all = new ArrayList<>();
        all.add(new Case("offset-restart", GroupCases::offsetRestart)); // the longest one first
        all.add(new Case("reset", AdminCases::reset));
        all.add(new Case("skip", AdminCases::skip));
        all.add(new Case("sync", SendCases::sync));
        all.add(new Case("async", SendCases::async));
        all.add(new Case("oneway", SendCases::oneway));
        all.add(new Case("batch", SendCases::batch));
        all.add(new Case("hash-order", SendCases::hashOrder));
        all.add(new Case("properties", SendCases::properties));
        all.add(new Case("limits", SendCases::limits));
        all.add(new Case("create-topic", SendCases::createTopic));
        all.add(new Case("query", SendCases::query));
        all.add(new Case("clustering", GroupCases::clustering));
        all.add(new Case("broadcasting", GroupCases::broadcasting));
        all.add(new Case("orderly", ConsumeCases::orderly));
        all.add(new Case("tag-filter", ConsumeCases::tagFilter));
        all.add(new Case("sql-filter", ConsumeCases::sqlFilter));
        all.add(new Case("retry", ConsumeCases::retry));
        all.add(new Case("dlq", ConsumeCases::deadLetter));
        all.add(new Case("delay", ConsumeCases::delay));
        all.add(new Case("transaction", ConsumeCases::transaction));
        all.add(new Case("request-reply", ConsumeCases::requestReply));
        all.add(new Case("pull", PullCases::pull));
        all.add(new Case("poll", PullCases::poll));
        all.add(new Case("assign", PullCases::assign));
        all.add(new Case("rebalance", GroupCases::rebalance));
        all.add(new Case("from-last", GroupCases::fromLast));
        all.add(new Case("trace", TraceCases::trace));
        all.add(new Case("clone", AdminCases::cloneOffsets));
        all.add(new Case("resend", AdminCases::resend));
        all.add(new Case("unit-mode", AdminCases::unitMode));
        all.add(new Case("light-queue", AdminCases::lightQueue));
        all.addAll(Line.cases());
        all.add(new Case("broker-restart", r -> GroupCases.acrossRestart(r, "term", 1), "term"));
        all.add(new Case("broker-kill", r -> GroupCases.acrossRestart(r, "kill", 1), "kill"));
        return all;
    }

    private static List<Row> runAll(Options o, List<Case> chosen) throws Exception {
        Map<Case, Row> rows = new HashMap<>();
        sideBySide(o, chosen.stream().filter(c -> c.restarts == null).toList(), o.timeoutSeconds, rows);
        List<Case> restarting = chosen.stream().filter(c -> c.restarts != null).toList();
        if (o.restart == null || o.restart.isEmpty()) {
            restarting.forEach(c -> rows.put(c, new Row(c.name, "n/a", "-", "-", "-", null)));
        } else {
            sideBySide(o, restarting, 2 * o.timeoutSeconds, rows);
        }
        return chosen.stream().map(rows::get).toList();
    }

    private static void sideBySide(Options o, List<Case> cases, int limitSeconds, Map<Case, Row> rows) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(o.parallel);
        Map<Case, Future<Row>> running = new HashMap<>();
        for (Case c : cases) {
            running.put(c, pool.submit(() -> runCase(o, c, limitSeconds)));
        }
        for (Case c : cases) {
            rows.put(c, running.get(c).get());
        }
        pool.shutdown();
    }

    private static Row runCase(Options o, Case c, int limitSeconds) {
        long start = System.nanoTime();
        Run r = new Run(o, c.name, start + limitSeconds * 1_000_000_000L);
        Row row;
        try {
            c.body.run(r);
            row = r.ledger.row(c.name, null);
        } catch (Unsupported e) {
            row = new Row(c.name, "unsup", "-", "-", "-", e.getMessage());
        } catch (Throwable e) {
            row = r.ledger.row(c.name, e);
        } finally {
            r.close();
        }
        System.err.printf("%s %-18s %-5s %5.1fs%n", LocalTime.now().truncatedTo(ChronoUnit.SECONDS), c.name, row.result,
            (System.nanoTime() - start) / 1e9);
        return row;
    }

    /** Prints the table and the reasons of failures and returns the exit code. */
    private static int report(List<Row> rows) {
        System.out.println(new Row("case", "result", "sent", "received", "dups", null));
        rows.forEach(System.out::println);
        for (Row r : rows) {
            if (r.note != null) {
                System.out.println("# " + r.name + ": " + r.note.replace('\n', ' ').replace('|', '/'));
            }
        }
        return rows.stream().anyMatch(r -> r.result.equals("fail")) ? 1 : 0;
    }
}

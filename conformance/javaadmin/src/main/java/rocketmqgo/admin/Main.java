// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package rocketmqgo.admin;

import java.io.PrintStream;

/**
 * Makes the calls that the pages of the console (rocketmq-dashboard) and the jobs of the exporter (rocketmq-exporter) make, with the
 * unmodified tools' library, against the cluster of a name server, and prints a line for each: page, call, what it
 * returned. Its topics, groups and clients are its own.
 *
 * <pre>Main -namesrv 127.0.0.1:9876</pre>
 */
public final class Main {
    private Main() { }

    public static void main(String[] args) throws Exception {
        if (args.length < 2 || !args[0].equals("-namesrv")) {
            System.err.println("usage: Main -namesrv HOST:PORT");
            System.exit(2);
        }
        PrintStream out = System.out;
        System.setOut(System.err); // where the log of 4.x goes
        int code = 0;
        try {
            Scene scene = new Scene(args[1], new Report(out));
            new Pages(scene).run();
            new Messages(scene).run();
            new Exporter(scene).run();
            new Changes(scene).run();
        } catch (Throwable e) {
            e.printStackTrace();
            code = 1;
        }
        out.flush();
        System.exit(code); // the clients' threads would stay
    }
}

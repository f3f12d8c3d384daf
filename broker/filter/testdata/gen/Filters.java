// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

import java.lang.reflect.Field;
import org.apache.rocketmq.broker.filter.ConsumerFilterManager;
import org.apache.rocketmq.filter.util.BloomFilter;

/** Prints consumerFilter.json as Apache RocketMQ's broker writes it, for TestFile. Needs the distribution's lib/. */
public class Filters {
    public static void main(String[] args) throws Exception {
        ConsumerFilterManager m = new ConsumerFilterManager();
        Field bloom = ConsumerFilterManager.class.getDeclaredField("bloomFilter");
        bloom.setAccessible(true);
        bloom.set(m, BloomFilter.createByFn(20, 32));
        for (int i = 0; i < 14; i++) {
            m.register("Orders", "group" + (char) ('a' + i) + "_" + i, "price > " + i + " AND s = 'it''s'", "SQL92", 100 + i);
            m.register("Topic" + i, "g_sql", "a > " + i, "SQL92", 100 + i);
        }
        m.register("GSql", "g_sql", "a BETWEEN 2 AND 5 AND color = 'red'", "SQL92", 1);
        m.register("%RETRY%\u4e2d", "long group name of more than 16 bytes \u4e2d", "a IS NULL", "SQL92", 1);
        for (int i = 0; i < 14; i++) {
            m.unRegister("group" + (char) ('a' + i) + "_" + i);
        }
        m.unRegister("g_sql");
        m.unRegister("long group name of more than 16 bytes \u4e2d");
        System.out.write(m.encode(true).getBytes("UTF-8"));
        System.out.flush();
    }
}

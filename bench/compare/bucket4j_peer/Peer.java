// Decisions by bucket4j, for native_bench.py: one call for each level, of
// buckets that are found in a map by the caller's name.
//
//     java Peer LEVELS CALLERS THREADS SECONDS
//
// Prints the nanoseconds that a decision takes a thread: by the clock, and of
// processor time.

import io.github.bucket4j.Bucket;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.ConcurrentHashMap;

public class Peer {
  // Nothing is ever denied.
  private static final long MOST = 1L << 40;
  private static final int AT_ONCE = 256;

  private static volatile boolean stop = false;

  private static Bucket bucket() {
    return Bucket.builder()
        .addLimit(l -> l.capacity(MOST).refillGreedy(1, Duration.ofSeconds(1)))
        .build();
  }

  // Callers in an order that the processor cannot guess; returns decisions.
  private static long decide(ConcurrentHashMap<String, Bucket>[] levels,
      String[] names, long state) {
    long count = 0;
    while (!stop) {
      for (int i = 0; i < AT_ONCE; ++i) {
        state ^= state << 13;
        state ^= state >>> 7;
        state ^= state << 17;
        String name = names[(int) ((state >>> 32) * names.length >>> 32)];
        for (ConcurrentHashMap<String, Bucket> level : levels) {
          if (!level.get(name).tryConsume(1)) {
            throw new IllegalStateException("a request was denied");
          }
        }
      }
      count += AT_ONCE;
    }
    return count;
  }

  // {by the clock, of processor time}, on average of the threads.
  private static double[] measure(ConcurrentHashMap<String, Bucket>[] levels,
      String[] names, int threads, double seconds) throws Exception {
    ThreadMXBean times = ManagementFactory.getThreadMXBean();
    double[] sum = new double[2];
    Thread[] running = new Thread[threads];
    stop = false;
    for (int i = 0; i < threads; ++i) {
      long seed = i + 1;
      running[i] = new Thread(() -> {
        long used = times.getCurrentThreadCpuTime();
        long start = System.nanoTime();
        double count = decide(levels, names, seed);
        long took = System.nanoTime() - start;
        used = times.getCurrentThreadCpuTime() - used;
        synchronized (sum) {
          sum[0] += took / count / threads;
          sum[1] += used / count / threads;
        }
      });
      running[i].start();
    }
    Thread.sleep((long) (seconds * 1000));
    stop = true;
    for (Thread thread : running) thread.join();
    return sum;
  }

  @SuppressWarnings("unchecked")
  public static void main(String[] given) throws Exception {
    int count = Integer.parseInt(given[1]);
    int threads = Integer.parseInt(given[2]);
    double seconds = Double.parseDouble(given[3]);
    String[] names = new String[count];
    for (int i = 0; i < count; ++i) {
      names[i] = String.format("caller%08d", i);
    }
    ConcurrentHashMap<String, Bucket>[] levels =
        new ConcurrentHashMap[Integer.parseInt(given[0])];
    for (int i = 0; i < levels.length; ++i) {
      levels[i] = new ConcurrentHashMap<>();
      for (String name : names) levels[i].put(name, bucket());
    }
    measure(levels, names, threads, 2);  // until it is compiled
    double[] found = measure(levels, names, threads, seconds);
    System.out.printf(Locale.ROOT, "{\"real\": %.3f, \"cpu\": %.3f}%n",
        found[0], found[1]);
  }
}

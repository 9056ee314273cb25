#include "limiter/hit_metrics.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace limitree {
namespace {

HitTally hits(std::int64_t count) {
  HitTally tally;
  tally.total_hits = count;
  return tally;
}

TEST(HitMetrics, NamesOfFilesAreNotBounded) {
  HitMetrics metrics(1);
  HitMetric* const a = metrics.intern("d.a");
  HitMetric* const b = metrics.intern("d.b");
  EXPECT_NE(a, b);
  EXPECT_EQ(metrics.intern("d.a"), a);
  EXPECT_EQ(metrics.find("d.b"), b);
  HitMetric* const c = metrics.find("d.c");
  EXPECT_EQ(c->name(), "d.c");
  EXPECT_EQ(metrics.find("d.c"), c);
  EXPECT_EQ(metrics.all().size(), 3U);
  EXPECT_EQ(metrics.find("d.d")->name(), HitMetrics::kOther);
  EXPECT_EQ(metrics.find("other"), metrics.find("d.d"));
  EXPECT_EQ(metrics.all().size(), 4U);
}

TEST(HitMetrics, LongNamesAreCountedTogether) {
  HitMetrics metrics(10);
  const std::string longest(HitMetrics::kMaxName, 'x');
  EXPECT_EQ(metrics.find(longest)->name(), longest);
  EXPECT_EQ(metrics.find(longest + 'x')->name(), HitMetrics::kOther);
  EXPECT_EQ(metrics.find("other")->name(), HitMetrics::kOther);
  EXPECT_EQ(metrics.all().size(), 2U);
}

TEST(HitCounts, AreWrittenBack) {
  HitMetrics metrics(100);
  HitCounts counts;
  for (int i = 0; i < 100; ++i) {
    const std::string name = "d.a_" + std::to_string(i);
    for (int k = 0; k < 3; ++k) {
      counts.add(counts.find(name, &metrics), hits(2));
    }
  }
  counts.flush();
  counts.flush();
  ASSERT_EQ(metrics.all().size(), 100U);
  for (const HitMetric* const metric : metrics.all()) {
    EXPECT_EQ(metric->tally().total_hits, 6) << metric->name();
  }
}

TEST(HitCounts, OfSeveralThreads) {
  HitMetrics metrics(50);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&metrics] {
      HitCounts counts;
      for (int i = 0; i < 1000; ++i) {
        const std::string name = "d.a_" + std::to_string(i % 100);
        counts.add(counts.find(name, &metrics), hits(1));
      }
      counts.flush();
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::int64_t sum = 0;
  for (const HitMetric* const metric : metrics.all()) {
    sum += metric->tally().total_hits;
  }
  EXPECT_EQ(sum, 4000);
  EXPECT_EQ(metrics.all().size(), 51U);
}

}  // namespace
}  // namespace limitree

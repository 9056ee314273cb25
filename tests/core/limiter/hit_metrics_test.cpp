#include "limiter/hit_metrics.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "store/siphash.hpp"

namespace limitree {
namespace {

HitTally hits(std::int64_t count) {
  HitTally tally;
  tally.total_hits = count;
  return tally;
}

HitMetric* find(std::string_view name, HitMetrics* metrics) {
  return metrics->find(name, keyed_hash(name));
}

TEST(HitMetrics, NamesOfFilesAreNotBounded) {
  HitMetrics metrics(1);
  HitMetric* const a = metrics.intern("d.a");
  HitMetric* const b = metrics.intern("d.b");
  EXPECT_NE(a, b);
  EXPECT_EQ(metrics.intern("d.a"), a);
  EXPECT_EQ(find("d.b", &metrics), b);
  HitMetric* const c = find("d.c", &metrics);
  EXPECT_EQ(c->name(), "d.c");
  EXPECT_EQ(find("d.c", &metrics), c);
  EXPECT_EQ(metrics.all().size(), 3U);
  EXPECT_EQ(find("d.d", &metrics)->name(), HitMetrics::kOther);
  EXPECT_EQ(find("other", &metrics), find("d.d", &metrics));
  EXPECT_EQ(metrics.all().size(), 4U);
}

TEST(HitMetrics, LongNamesAreCountedTogether) {
  HitMetrics metrics(10);
  const std::string longest(HitMetrics::kMaxName, 'x');
  EXPECT_EQ(find(longest, &metrics)->name(), longest);
  EXPECT_EQ(find(longest + 'x', &metrics)->name(), HitMetrics::kOther);
  EXPECT_EQ(find("other", &metrics)->name(), HitMetrics::kOther);
  EXPECT_EQ(metrics.all().size(), 2U);
}

// Clients choose how many hits they count.
TEST(HitMetrics, SumsStopAtTheLargestNumber) {
  HitMetrics metrics(1);
  HitMetric* const metric = metrics.intern("d.a");
  for (int i = 0; i < 2; ++i) metric->add(hits(INT64_MAX));
  EXPECT_EQ(metric->tally().total_hits, INT64_MAX);
}

TEST(HitMetrics, AreInTheOrderInWhichTheyCame) {
  HitMetrics metrics(100);
  for (int i = 0; i < 100; ++i) find(std::to_string(i), &metrics);
  const std::vector<const HitMetric*> all = metrics.all();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(all[static_cast<std::size_t>(i)]->name(), std::to_string(i));
  }
}

// Names of 16 bytes to which std::hash of the GNU library, MurmurHash64A, gives
// one value: the second word makes up for the first.
class OneHash {
 public:
  std::string name(std::uint64_t first) const {
    const std::uint64_t second =
        unmix(mix(0) ^ state_after(0) ^ state_after(first));
    std::string name(16, '\0');
    std::memcpy(name.data(), &first, 8);
    std::memcpy(name.data() + 8, &second, 8);
    return name;
  }

 private:
  static constexpr std::uint64_t kMultiplier = 0xc6a4a7935bd1e995;
  static constexpr std::uint64_t kSeed = 0xc70f6907 ^ 16 * kMultiplier;

  static std::uint64_t inverse() {
    std::uint64_t inverse = 1;
    while (inverse * kMultiplier != 1) inverse *= 2 - kMultiplier * inverse;
    return inverse;
  }
  static std::uint64_t shift(std::uint64_t word) { return word ^ word >> 47; }
  static std::uint64_t mix(std::uint64_t word) {
    return shift(word * kMultiplier) * kMultiplier;
  }
  std::uint64_t unmix(std::uint64_t word) const {
    return shift(word * inverse_) * inverse_;
  }
  static std::uint64_t state_after(std::uint64_t word) {
    return (kSeed ^ mix(word)) * kMultiplier;
  }

  const std::uint64_t inverse_ = inverse();
};

// A client that chooses names must not make every other request slow.
TEST(HitMetrics, NamesOfOneKnownHashCostNoMore) {
  constexpr std::uint64_t kNames = 20'000;
  const OneHash one_hash;
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < kNames; ++i) {
    names.push_back(one_hash.name(i));
  }
  const std::hash<std::string_view> known_hash;
  EXPECT_EQ(known_hash(names.front()), known_hash(names.back()));

  HitMetrics metrics(kNames);
  HitCounts counts;
  const std::clock_t start = std::clock();
  for (int round = 0; round < 2; ++round) {
    for (const std::string& name : names) {
      counts.add(counts.find(name, &metrics), hits(1));
    }
  }
  const auto taken = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_EQ(metrics.all().size(), kNames);
  EXPECT_LT(taken, 1) << "seconds of CPU";
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

// Memory per bucket while a store fills up, and what the store forgets when it
// meets more callers than it holds: a table in Markdown for
// docs/performance.md.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "bench/peers.hpp"
#include "store/memory/memory_store.hpp"

namespace limitree::bench {
namespace {

std::int64_t g_now_ns = 1'750'000'000'000'000'000;
std::int64_t read_clock(void*) { return g_now_ns; }
Clock manual_clock() { return Clock(read_clock, nullptr); }

Limit limit_of(Duration emission_interval, std::int64_t capacity) {
  Limit limit;
  limit.rate = {emission_interval, capacity};
  return limit;
}

bool allowed(Store* store, const Limit& limit, std::string_view caller) {
  Plan plan(Operation::kAuthorize);
  plan.segments.emplace_back(caller, Segment::Kind::kCaller);
  plan.add_level(&limit, 0u, 1u, 1);
  return store->decide(&plan).ok() && !plan.levels[0].verdict.limited;
}

// Resident memory of this process, from the kernel.
std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t size = 0;
  std::int64_t resident = 0;
  statm >> size >> resident;
  return resident * 4096;
}

void fill_levels() {
  std::printf(
      "| max_buckets | live buckets | bytes per bucket | of it resident |\n"
      "|---|---|---|---|\n");
  const Limit limit = limit_of(std::chrono::hours(1), 10);
  for (const std::int64_t max : {1'500'000, 15'000'000}) {
    const std::int64_t before = resident_bytes();
    MemoryStore store(max, manual_clock());
    Callers callers(1, 1);
    std::uint64_t next = 0;
    for (const std::uint64_t live :
         {1000u, 10'000u, 100'000u, 300'000u, 600'000u, 1'000'000u}) {
      while (next < live) allowed(&store, limit, callers.name(next++));
      const StoreStats stats = store.stats();
      std::printf(
          "| %lld | %lld | %.1f | %.1f |\n", static_cast<long long>(max),
          static_cast<long long>(stats.buckets),
          static_cast<double>(stats.bytes) / static_cast<double>(stats.buckets),
          static_cast<double>(resident_bytes() - before) /
              static_cast<double>(stats.buckets));
    }
  }
}

// Callers are drawn from a Zipf distribution for ten seconds, each allowed 10/s
// in bursts of 10: how many more requests a store of `max_buckets` admits than
// a store that forgets nothing.
void overload(double exponent, double load) {
  constexpr std::uint32_t kCallers = 200'000;
  constexpr std::int64_t kPerSecond = 400'000;
  const Limit limit = limit_of(std::chrono::milliseconds(100), 10);
  std::vector<double> weights;
  for (std::uint32_t i = 1; i <= kCallers; ++i) {
    weights.push_back(1 / std::pow(i, exponent));
  }
  std::discrete_distribution<std::uint32_t> pick(weights.begin(),
                                                 weights.end());
  // A store that holds everything shows how many buckets are live at a time.
  std::int64_t live = 0;
  std::int64_t admitted[2] = {};
  std::int64_t evictions = 0;
  for (int run = 0; run < 2; ++run) {
    std::mt19937_64 random(1);
    const std::int64_t max =
        run == 0 ? 2 * kCallers
                 : static_cast<std::int64_t>(static_cast<double>(live) / load);
    MemoryStore store(max, manual_clock());
    Callers callers(1, 1);
    for (std::int64_t i = 0; i < 10 * kPerSecond; ++i) {
      g_now_ns += 1'000'000'000 / kPerSecond;
      admitted[run] += allowed(&store, limit, callers.name(pick(random)));
    }
    if (run == 0) live = store.stats().buckets;
    evictions = store.stats().evictions;
  }
  std::printf("| %.1f | %.1f | %lld | %+.3f %% |\n", exponent, load,
              static_cast<long long>(evictions),
              100.0 * static_cast<double>(admitted[1] - admitted[0]) /
                  static_cast<double>(admitted[0]));
}

}  // namespace
}  // namespace limitree::bench

int main() {
  limitree::bench::fill_levels();
  std::printf(
      "\n| Zipf exponent | live / max_buckets | evictions | over-admission |\n"
      "|---|---|---|---|\n");
  for (const double exponent : {0.6, 1.0}) {
    for (const double load : {1.0, 1.5, 2.0, 4.0}) {
      limitree::bench::overload(exponent, load);
    }
  }
}

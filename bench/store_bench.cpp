// Decisions through the C++ store interface, clock included, beside a map with
// a mutex and a pointer chase over as many bytes.
//
// Every row is one decision.  All are allowed, which costs more than a denial.

#include <benchmark/benchmark.h>

#include <array>
#include <memory>

#include "bench/algorithms.hpp"
#include "bench/peers.hpp"
#include "store/memory/memory_store.hpp"

namespace limitree::bench {
namespace {

constexpr std::uint32_t kMillion = 1'000'000;
constexpr std::int64_t kBucketBytes = 24;  // of the memory store, at 1M

// Large enough that nothing is denied, slow enough that no bucket is full
// again: the buckets of a million callers stay live.
Limit generous() {
  Limit limit;
  limit.rate = {std::chrono::seconds(1), 3'000'000'000};
  return limit;
}

const Limit kLimit = generous();
const Rate kRate = kLimit.rate;

// user:<caller>, user:<caller>:trade, user:<caller>:trade:AAPL-USD
bool decide(Store* store, std::string_view caller, std::uint32_t levels) {
  constexpr std::string_view kRest[] = {"trade", "AAPL-USD"};
  Plan plan(Operation::kAuthorize);
  plan.segments.emplace_back("user", Segment::Kind::kExact);
  plan.segments.emplace_back(caller, Segment::Kind::kCaller);
  plan.add_level(&kLimit, 0u, 2u, 1);
  for (std::uint32_t i = 1; i < levels; ++i) {
    plan.segments.emplace_back(kRest[i - 1], Segment::Kind::kExact);
    plan.add_level(&kLimit, 0u, 2 + i, 1);
  }
  return store->decide(&plan).ok() && !plan.levels[0].verdict.limited;
}

// One level of another algorithm.
bool decide(Store* store, std::string_view caller, const Limit& limit) {
  Plan plan(Operation::kAuthorize);
  plan.segments.emplace_back("user", Segment::Kind::kExact);
  plan.segments.emplace_back(caller, Segment::Kind::kCaller);
  plan.add_level(&limit, 0u, 2u, 1);
  return store->decide(&plan).ok() && !plan.levels[0].verdict.limited;
}

// Large enough that nothing is denied.  Only the log is short, as it has an
// entry for each unit: it denies some requests, which costs no less.
Limit generous(Algorithm algorithm) {
  const bool log = algorithm == Algorithm::kSlidingLog;
  Limit limit =
      limit_of(algorithm, log ? 100 : 3'000'000'000, std::chrono::hours(1));
  if (!is_window(algorithm)) limit.rate = kRate;
  return limit;
}

// Shared by the threads of one benchmark; each benchmark makes its own.
std::unique_ptr<MemoryStore> g_store;
std::unique_ptr<MapStore> g_map;

void fill_store(std::uint32_t callers, std::uint32_t levels) {
  g_store = std::make_unique<MemoryStore>(
      std::max<std::int64_t>(std::int64_t{callers} * levels * 3 / 2, 1000));
  Callers all(callers, 1);
  for (std::uint32_t i = 0; i < callers; ++i) {
    decide(g_store.get(), all.name(i), levels);
  }
}

void fill_map(std::uint32_t callers) {
  g_map = std::make_unique<MapStore>();
  Callers all(callers, 1);
  for (std::uint32_t i = 0; i < callers; ++i) {
    g_map->authorize(all.name(i), kRate, 1);
  }
}

// Arguments: callers, levels.
void limitree_store(benchmark::State& state) {
  const auto callers = static_cast<std::uint32_t>(state.range(0));
  const auto levels = static_cast<std::uint32_t>(state.range(1));
  Callers next(callers, static_cast<std::uint64_t>(state.thread_index()) + 1);
  bool allowed = true;
  for (auto _ : state) allowed &= decide(g_store.get(), next.next(), levels);
  if (!allowed) state.SkipWithError("a request was denied");
  if (state.thread_index() == 0) {
    const StoreStats stats = g_store->stats();
    state.counters["B/bucket"] =
        static_cast<double>(stats.bytes) / static_cast<double>(stats.buckets);
  }
}

void map_and_mutex(benchmark::State& state) {
  const auto callers = static_cast<std::uint32_t>(state.range(0));
  Callers next(callers, static_cast<std::uint64_t>(state.thread_index()) + 1);
  bool limited = false;
  for (auto _ : state) {
    limited |= g_map->authorize(next.next(), kRate, 1).limited;
  }
  if (limited) state.SkipWithError("a request was denied");
}

void map_and_mutex_copied_key(benchmark::State& state) {
  const auto callers = static_cast<std::uint32_t>(state.range(0));
  Callers next(callers, static_cast<std::uint64_t>(state.thread_index()) + 1);
  bool limited = false;
  for (auto _ : state) {
    limited |= g_map->authorize_copied("user", next.next(), kRate, 1).limited;
  }
  if (limited) state.SkipWithError("a request was denied");
}

// Arguments: callers, algorithm.
void limitree_algorithm(benchmark::State& state) {
  const auto callers = static_cast<std::uint32_t>(state.range(0));
  const Limit limit =
      generous(kAlgorithms[static_cast<std::size_t>(state.range(1))]);
  MemoryStore store(std::max<std::int64_t>(callers * 3 / 2, 1000));
  Callers all(callers, 1);
  for (std::uint32_t i = 0; i < 3 * callers; ++i) {
    decide(&store, all.name(i % callers), limit);
  }
  const StoreStats stats = store.stats();
  Callers next(callers, 1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(decide(&store, next.next(), limit));
  }
  state.SetLabel(traits_of(limit.algorithm).name);
  state.counters["B/bucket"] =
      static_cast<double>(stats.bytes) / static_cast<double>(stats.buckets);
}

void setup_store(const benchmark::State& state) {
  fill_store(static_cast<std::uint32_t>(state.range(0)),
             static_cast<std::uint32_t>(state.range(1)));
}
void setup_map(const benchmark::State& state) {
  fill_map(static_cast<std::uint32_t>(state.range(0)));
}
void teardown(const benchmark::State&) {
  g_store.reset();
  g_map.reset();
}

void pointer_chase(benchmark::State& state) {
  const PointerChase chase(static_cast<std::size_t>(state.range(0)));
  std::uint32_t at = 0;
  for (auto _ : state) benchmark::DoNotOptimize(at = chase.step(at));
}

void clock_now(benchmark::State& state) {
  const Clock clock;
  for (auto _ : state) benchmark::DoNotOptimize(clock.now());
}

// One thread, then two.
#define LIMITREE_MAP_ROWS(name) \
  BENCHMARK(name)               \
      ->Setup(setup_map)        \
      ->Teardown(teardown)      \
      ->ArgName("callers")      \
      ->Arg(1)                  \
      ->Arg(1000)               \
      ->Arg(kMillion);          \
  BENCHMARK(name)               \
      ->Setup(setup_map)        \
      ->Teardown(teardown)      \
      ->ArgName("callers")      \
      ->Arg(1)                  \
      ->Arg(kMillion)           \
      ->Threads(2)              \
      ->UseRealTime()

BENCHMARK(clock_now);
BENCHMARK(pointer_chase)->Arg(kMillion* kBucketBytes);
BENCHMARK(limitree_store)
    ->Setup(setup_store)
    ->Teardown(teardown)
    ->ArgNames({"callers", "levels"})
    ->Args({1, 1})
    ->Args({1, 2})
    ->Args({1, 3})
    ->Args({1000, 1})
    ->Args({kMillion, 1})
    ->Args({kMillion, 3});
BENCHMARK(limitree_store)
    ->Setup(setup_store)
    ->Teardown(teardown)
    ->ArgNames({"callers", "levels"})
    ->Args({1, 1})
    ->Args({kMillion, 1})
    ->Threads(2)
    ->UseRealTime();
BENCHMARK(limitree_algorithm)
    ->ArgNames({"callers", "algorithm"})
    ->ArgsProduct({{1, 1000, kMillion},
                   benchmark::CreateDenseRange(0, kAlgorithms.size() - 1, 1)});
LIMITREE_MAP_ROWS(map_and_mutex);
LIMITREE_MAP_ROWS(map_and_mutex_copied_key);

}  // namespace
}  // namespace limitree::bench

// Decisions through the C interface, path walk included: the cost for a C
// program, and a part of the cost in every binding.

#include <benchmark/benchmark.h>

#include <stdexcept>
#include <string>

#include "bench/peers.hpp"
#include "limitree.h"

namespace limitree::bench {
namespace {

// The largest limit there is, so that nothing is ever denied.
constexpr char kYaml[] = R"(
schema:
  user:
    children:
      "*":
        limits: {burst: 3000000000, count: 1, period: 1s}
        children:
          trade:
            limits: {burst: 3000000000, count: 1, period: 1s}
            children:
              "*":
                limits: {burst: 3000000000, count: 1, period: 1s}
          withdrawal:
            limits: {burst: 3000000000, count: 1, period: 1s}
)";

limitree_str str(std::string_view text) { return {text.data(), text.size()}; }

limitree_limiter* g_limiter = nullptr;

void setup(const benchmark::State&) {
  limitree_config* const config = limitree_config_new();
  limitree_config_set(config, "max_buckets", str("4500000"), nullptr);
  limitree_config_set_limits(config, str(kYaml), str("bench"), nullptr);
  if (limitree_limiter_new(config, &g_limiter, nullptr) != LIMITREE_OK) {
    throw std::runtime_error("no limiter");
  }
  limitree_config_free(config);
}

void teardown(const benchmark::State&) { limitree_limiter_free(g_limiter); }

// Arguments: levels, callers.
void limitree_authorize(benchmark::State& state) {
  const auto levels = static_cast<std::size_t>(state.range(0));
  const auto callers = static_cast<std::uint32_t>(state.range(1));
  Callers next(callers, static_cast<std::uint64_t>(state.thread_index()) + 1);
  limitree_str path[] = {str("user"), {}, str("trade"), str("AAPL-USD")};
  if (state.thread_index() == 0) {
    for (std::uint32_t i = 0; i < callers; ++i) {
      path[1] = str(next.name(i));
      limitree_decision decision;
      ::limitree_authorize(g_limiter, path, levels + 1, 1, &decision, nullptr);
    }
  }
  int32_t limited = 0;
  for (auto _ : state) {
    path[1] = str(next.next());
    limitree_decision decision;
    ::limitree_authorize(g_limiter, path, levels + 1, 1, &decision, nullptr);
    limited |= decision.limited;
  }
  if (limited != 0) state.SkipWithError("a request was denied");
}

BENCHMARK(limitree_authorize)
    ->Setup(setup)
    ->Teardown(teardown)
    ->ArgNames({"levels", "callers"})
    ->Args({1, 1})
    ->Args({2, 1})
    ->Args({3, 1})
    ->Args({2, 1000})
    ->Args({1, 1'000'000})
    ->Args({2, 1'000'000});
BENCHMARK(limitree_authorize)
    ->Setup(setup)
    ->Teardown(teardown)
    ->ArgNames({"levels", "callers"})
    ->Args({1, 1})
    ->Args({2, 1})
    ->Args({2, 1'000'000})
    ->Threads(2)
    ->UseRealTime();

}  // namespace
}  // namespace limitree::bench

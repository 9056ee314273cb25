// Reservations through the C interface, beside one decision of the same limit
// without holds.

#include <benchmark/benchmark.h>

#include <stdexcept>
#include <string_view>
#include <vector>

#include "limitree.h"

namespace limitree::bench {
namespace {

// Nothing is denied, and a charged bucket is not full again for a minute.
constexpr char kYaml[] = R"(
schema:
  plain: {limits: {burst: 3000000000, count: 1, period: 1s}}
  units: {limits: {burst: 3000000000, count: 1, period: 1s, hold: 10m}}
  slots: {limits: {concurrent: 10000, hold: 10m}}
)";

limitree_str str(std::string_view text) { return {text.data(), text.size()}; }

class Bench {
 public:
  explicit Bench(std::string_view name) : name_(str(name)) {
    limitree_config* const config = limitree_config_new();
    limitree_config_set_limits(config, str(kYaml), str("bench"), nullptr);
    const bool made =
        limitree_limiter_new(config, &limiter_, nullptr) == LIMITREE_OK;
    limitree_config_free(config);
    if (!made) throw std::runtime_error("no limiter");
  }
  ~Bench() { limitree_limiter_free(limiter_); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void authorize() {
    limitree_decision decision;
    limitree_authorize(limiter_, &name_, 1, 1, &decision, nullptr);
    denied_ |= decision.limited != 0;
  }
  limitree_hold reserve() {
    limitree_decision decision;
    limitree_hold hold;
    limitree_reserve(limiter_, &path_, 1, nullptr, 0, 0, &hold, nullptr, 0,
                     &decision, nullptr);
    denied_ |= decision.limited != 0;
    return hold;
  }
  void settle(const limitree_hold& hold) {
    limitree_decision decision;
    limitree_settle(limiter_, &hold, &path_, 1, nullptr, 0, &decision, nullptr);
    denied_ |= decision.held != 1;
  }
  void finish(benchmark::State* state) const {
    if (denied_) state->SkipWithError("a request was denied");
  }

 private:
  limitree_limiter* limiter_ = nullptr;
  const limitree_str name_;
  const limitree_path path_{&name_, 1, 1, LIMITREE_PART_CHARGE};
  bool denied_ = false;
};

void authorize(benchmark::State& state) {
  Bench bench("plain");
  for (auto _ : state) bench.authorize();
  bench.finish(&state);
}
BENCHMARK(authorize);

// Argument: how many other holds are open.  Settles in the order of reserving.
void reserve_and_settle(benchmark::State& state, std::string_view limit) {
  Bench bench(limit);
  std::vector<limitree_hold> open;
  for (int i = 0; i < state.range(0); ++i) open.push_back(bench.reserve());
  std::size_t oldest = 0;
  for (auto _ : state) {
    const limitree_hold made = bench.reserve();
    if (open.empty()) {
      bench.settle(made);
      continue;
    }
    bench.settle(open[oldest]);
    open[oldest] = made;
    oldest = (oldest + 1) % open.size();
  }
  bench.finish(&state);
}
BENCHMARK_CAPTURE(reserve_and_settle, units, "units")
    ->ArgName("open")
    ->Arg(0)
    ->Arg(1)
    ->Arg(1000)
    ->Arg(9000);
BENCHMARK_CAPTURE(reserve_and_settle, slots, "slots")
    ->ArgName("open")
    ->Arg(0)
    ->Arg(1)
    ->Arg(1000)
    ->Arg(9000);

}  // namespace
}  // namespace limitree::bench

// Requests that the deny cache denies, path walk included: the cost of a flood
// that never reaches the store.

#include <benchmark/benchmark.h>

#include <memory>
#include <string_view>
#include <utility>

#include "bench/peers.hpp"
#include "limiter/limiter.hpp"
#include "limiter/make_store.hpp"
#include "tree/schema.hpp"

namespace limitree::bench {
namespace {

// One token a day: a caller that is denied once stays denied.
constexpr std::string_view kYaml = R"(
schema:
  user:
    children:
      "*":
        limits: 1/day
        children:
          trade:
            limits: 1/day
            children: {"*": {limits: 1/day}}
)";

// A memory store that claims to be remote.
class FarStore final : public Store {
 public:
  bool is_remote() const override { return true; }
  Status decide(Plan* plan) override { return memory_.decide(plan); }
  Status reset(const Plan& plan) override { return memory_.reset(plan); }
  StoreStats stats() override { return memory_.stats(); }

 private:
  MemoryStore memory_;
};

std::unique_ptr<Limiter> g_limiter;

void setup(const benchmark::State&) {
  Options options;
  options.deny_cache_size = 1'000'000;
  auto tree = std::make_shared<const Tree>(
      std::move(load_tree(kYaml, "bench").value()));
  g_limiter = std::make_unique<Limiter>(
      std::move(tree), options,
      behind_guards(std::make_unique<FarStore>(), options));
}

void teardown(const benchmark::State&) { g_limiter.reset(); }

// Arguments: levels, callers.
void denied_from_cache(benchmark::State& state) {
  const auto levels = static_cast<std::size_t>(state.range(0));
  const auto callers = static_cast<std::uint32_t>(state.range(1));
  Callers next(callers, static_cast<std::uint64_t>(state.thread_index()) + 1);
  std::string_view path[] = {"user", {}, "trade", "AAPL-USD"};
  const PathCost path_cost{Path(path, levels + 1), 1};
  Decision decision;
  if (state.thread_index() == 0) {
    for (std::uint32_t i = 0; i < 2 * callers; ++i) {
      path[1] = next.name(i % callers);
      (void)g_limiter->decide(Operation::kAuthorize, {{&path_cost, 1}}, nullptr,
                              &decision);
    }
  }
  bool asked = false;
  for (auto _ : state) {
    path[1] = next.next();
    (void)g_limiter->decide(Operation::kAuthorize, {{&path_cost, 1}}, nullptr,
                            &decision);
    asked |= decision.source != Source::kDenyCache;
  }
  if (asked) state.SkipWithError("the store was asked");
}

BENCHMARK(denied_from_cache)
    ->Setup(setup)
    ->Teardown(teardown)
    ->ArgNames({"levels", "callers"})
    ->Args({1, 1})
    ->Args({2, 1})
    ->Args({3, 1})
    ->Args({2, 1000})
    ->Args({2, 100'000});
BENCHMARK(denied_from_cache)
    ->Setup(setup)
    ->Teardown(teardown)
    ->ArgNames({"levels", "callers"})
    ->Args({2, 1000})
    ->Threads(2)
    ->UseRealTime();

}  // namespace
}  // namespace limitree::bench

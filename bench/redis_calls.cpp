// Writes what the Redis store sends, for redis_server_cpu.py.
//
//   redis_calls allowed|denied|cost|ALGORITHM LEVELS CALLERS
//
// Levels of an ALGORITHM, such as fixed_window, are all allowed.
//
// First the call with the script's text, which loads it, and then the usual one
// of each caller; each preceded by its size as four bytes, lowest first.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/limit.hpp"
#include "base/plan.hpp"
#include "bench/algorithms.hpp"
#include "store/redis/script.hpp"

namespace {

using limitree::Algorithm;
using limitree::Duration;
using limitree::Limit;
using limitree::Plan;
using limitree::Segment;

constexpr const char* kActions[] = {"trade", "spot", "orders", "cancel"};
constexpr std::uint32_t kMaxLevels = 1 + std::size(kActions);

std::optional<Algorithm> algorithm_of(std::string_view name) {
  for (const Algorithm algorithm : limitree::bench::kAlgorithms) {
    if (name == limitree::algorithm_name(algorithm)) return algorithm;
  }
  return std::nullopt;
}

// "allowed": more than can be asked for; "denied": one level holds one token.
std::deque<Limit> limits_for(std::string_view what, std::uint32_t levels) {
  constexpr int kIntervalMs[kMaxLevels] = {1000, 2000, 500, 3000, 700};
  std::deque<Limit> limits;
  if (const std::optional<Algorithm> algorithm = algorithm_of(what)) {
    const bool log = *algorithm == Algorithm::kSlidingLog;
    for (std::uint32_t i = 0; i < levels; ++i) {
      limits.push_back(limitree::bench::limit_of(
          *algorithm, log ? 1000 : 1'000'000, std::chrono::seconds(10)));
    }
    return limits;
  }
  for (std::uint32_t i = 0; i < levels; ++i) {
    limits.emplace_back();
    limits.back().rate = {std::chrono::milliseconds(kIntervalMs[i]), 1'000'000};
  }
  if (what == "denied") limits.back().rate = {std::chrono::hours(1), 1};
  return limits;
}

void write(std::string_view call) {
  for (int shift = 0; shift < 32; shift += 8) {
    std::putchar(static_cast<int>(call.size() >> shift & 0xff));
  }
  std::fwrite(call.data(), 1, call.size(), stdout);
}

int usage() {
  std::fprintf(
      stderr,
      "usage: redis_calls allowed|denied|cost|ALGORITHM LEVELS CALLERS\n"
      "LEVELS is 1 ... %u\n",
      kMaxLevels);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return usage();
  const std::string_view what = argv[1];
  const auto levels = static_cast<std::uint32_t>(std::atoi(argv[2]));
  const int callers = std::atoi(argv[3]);
  if (levels < 1 || levels > kMaxLevels || callers < 1) return usage();
  if (what != "allowed" && what != "denied" && what != "cost" &&
      !algorithm_of(what)) {
    return usage();
  }

  const std::deque<Limit> limits = limits_for(what, levels);
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < levels; ++i) all.push_back(i);
  limitree::redis::Call call;
  for (int caller = 0; caller < callers; ++caller) {
    char name[16];
    std::snprintf(name, sizeof name, "%07d", caller);
    Plan plan(limitree::Operation::kAuthorize);
    plan.segments.emplace_back("user", Segment::Kind::kExact);
    plan.segments.emplace_back(std::string_view(name), Segment::Kind::kCaller);
    for (std::uint32_t i = 0; i < levels; ++i) {
      if (i > 0) {
        plan.segments.emplace_back(kActions[i - 1], Segment::Kind::kExact);
      }
      plan.add_level(&limits[i], 0u, 2 + i, what == "cost" ? 2 : 1);
    }
    if (!call.encode(plan, all, "limitree:", {}).ok()) return 1;
    if (caller == 0) write(call.eval());
    write(call.evalsha());
  }
  return 0;
}

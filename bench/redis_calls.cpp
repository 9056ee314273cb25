// Writes what the Redis store sends, for redis_server_cpu.py.
//
//   redis_calls allowed|denied|cost|ALGORITHM LEVELS CALLERS [TOGETHER]
//
// With an ALGORITHM, such as fixed_window, all levels allow.
//
// The first call has the text of the script, which loads it.  The usual calls
// follow, one per caller.  Each call is preceded by its size in four bytes, low
// byte first.  With TOGETHER, from 4 to 16, that many callers share a call.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limit.hpp"
#include "base/plan.hpp"
#include "bench/algorithms.hpp"
#include "store/redis/script/call.hpp"
#include "store/redis/wire/pipeline.hpp"

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
    if (name == limitree::traits_of(algorithm).name) return algorithm;
  }
  return std::nullopt;
}

// "allowed": limits that are never reached; "denied": one level holds one
// token.
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

// A call that waits to be joined.
struct Waiting final : limitree::redis::Command {
  std::string_view bytes() const override { return call.evalsha(); }
  limitree::redis::Joinable joinable() const override {
    return call.joinable();
  }
  void complete(limitree::redis::Outcome /*outcome*/) noexcept override {}

  limitree::redis::Call call;
};

void write_together(const std::deque<Waiting>& calls, std::size_t together) {
  std::vector<limitree::redis::Command*> some;
  bool loaded = false;
  for (const Waiting& one : calls) {
    some.push_back(const_cast<Waiting*>(&one));
    if (some.size() < together) continue;
    limitree::redis::Joint joint(some);
    if (!std::exchange(loaded, true)) {
      limitree::redis::Joint first(some);
      first.write_text();
      write(first.bytes());
    }
    write(joint.bytes());
    some.clear();
  }
}

int usage() {
  std::fprintf(
      stderr,
      "usage: redis_calls allowed|denied|cost|ALGORITHM LEVELS CALLERS "
      "[TOGETHER]\n"
      "LEVELS is 1 ... %u, TOGETHER %zu ... %zu\n",
      kMaxLevels, limitree::redis::kFewestJoined, limitree::redis::kMostJoined);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) return usage();
  const std::string_view what = argv[1];
  const auto levels = static_cast<std::uint32_t>(std::atoi(argv[2]));
  const int callers = std::atoi(argv[3]);
  const std::size_t together =
      argc == 5 ? static_cast<std::size_t>(std::atoi(argv[4])) : 1;
  if (levels < 1 || levels > kMaxLevels || callers < 1 ||
      (argc == 5 && (together < limitree::redis::kFewestJoined ||
                     together > limitree::redis::kMostJoined))) {
    return usage();
  }
  if (what != "allowed" && what != "denied" && what != "cost" &&
      !algorithm_of(what)) {
    return usage();
  }

  const std::deque<Limit> limits = limits_for(what, levels);
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < levels; ++i) all.push_back(i);
  std::deque<Waiting> calls;
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
    limitree::redis::Call& call = calls.emplace_back().call;
    if (!call.encode(plan, all, "limitree:", {}).ok()) return 1;
    if (together > 1) continue;
    if (caller == 0) write(call.eval());
    write(call.evalsha());
  }
  if (together > 1) {
    if (calls.front().joinable().script == nullptr) return usage();
    write_together(calls, together);
  }
  return 0;
}

// Random trees, paths and costs: limiters over memory and over Redis give the
// same answers, to the nanosecond.

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/limit.hpp"
#include "core/limiter/roomy_store.hpp"
#include "core/store/manual_clock.hpp"
#include "core/store/redis/redis_server.hpp"
#include "limiter/limiter.hpp"
#include "limiter/make_store.hpp"
#include "tree/schema.hpp"

namespace limitree {
namespace {

constexpr std::uint32_t kSeed = 20261121;

// With a caller's clock a field in Redis outlives its TAT by an hour.
constexpr Duration kMostBack = std::chrono::minutes(50);

class Trees {
 public:
  Trees(std::mt19937* random, bool mixed) : random_(*random), mixed_(mixed) {}

  std::string any() {
    std::string yaml = "schema:\n";
    for (const char* root : {"user", "ip", "job"}) {
      yaml += std::string("  ") + root + ":" + body(4, root[0] == 'i') + "\n";
    }
    return yaml;
  }

 private:
  int pick(int below) {
    return static_cast<int>(random_() % static_cast<unsigned>(below));
  }

  std::string limit(int number) {
    static const char* const kModes[] = {"enforce", "enforce", "enforce",
                                         "shadow", "check"};
    const std::string mode = kModes[pick(5)];
    static const std::vector<std::string> windows = [] {
      std::vector<std::string> all = {
          "fixed_window, align: first",
          "fixed_window, align: calendar, timezone: Asia/Tokyo",
          "sliding_window, buckets: 3", "sliding_tail, round: up"};
      for (const AlgorithmTraits& one : kAlgorithms) {
        if (is_window(one.algorithm)) all.push_back(one.rule);
      }
      return all;
    }();
    // Half of the rounds have only plain limits, which have their own scripts.
    const bool window = mixed_ && pick(2) == 0;
    const std::string& kind = windows[static_cast<std::size_t>(
        pick(static_cast<int>(windows.size())))];
    const bool calendar = kind.find("calendar") != std::string::npos;
    return "{name: n" + std::to_string(number) +
           ", count: " + std::to_string(1 + pick(5)) + ", period: " +
           (window && calendar ? "1d" : std::to_string(1 + pick(20)) + "s") +
           (window ? ", algorithm: " + kind
                   : ", burst: " + std::to_string(1 + pick(6))) +
           (mixed_ && !window && pick(3) == 0
                ? ", algorithm: leaky_bucket, drain: step"
                : "") +
           (mixed_ && pick(4) == 0 ? ", overrun: {percent: 50, when: idle}"
                                   : "") +
           ", cost: " + std::to_string(pick(4) == 0 ? pick(3) : 1) +
           ", mode: " + mode +
           (pick(6) == 0                      ? ", charge: independent"
            : pick(8) == 0 && mode != "check" ? ", charge: denials"
                                              : "") +
           "}";
  }

  std::string body(int depth, bool ip) {
    std::string text = " {";
    if (ip) text += "key: ip, ";
    text += "limits: [";
    const int limits = pick(3);
    for (int i = 0; i < limits; ++i) text += limit(i) + ", ";
    if (pick(8) == 0) text += "{block: true}";
    text += "]";
    if (depth > 0) {
      text += ", children: {";
      const char* const names[] = {"\"*\"", "alex", "\"a*\"", "trade"};
      const int first = ip ? 1 : pick(4);
      for (int i = ip ? 0 : first; i < (ip ? 1 : 4); ++i) {
        text += std::string(text.back() == '{' ? "" : ", ") + names[i] + ":" +
                body(depth - 2, false);
      }
      text += "}";
    }
    return text + "}";
  }

  std::mt19937& random_;
  const bool mixed_;  // not plain limits alone
};

// The same tree with other numbers; with other names a bucket may lie in
// another key of Redis.
std::string changed(std::string yaml, std::mt19937* random) {
  for (const char* number : {"count: ", "period: ", "burst: "}) {
    for (std::size_t at = 0; (at = yaml.find(number, at)) != yaml.npos;) {
      at += std::string_view(number).size();
      const bool day = yaml.compare(at, 2, "1d") == 0;
      const std::size_t end = yaml.find_first_not_of("0123456789", at);
      if (!day) yaml.replace(at, end - at, std::to_string(1 + (*random)() % 9));
    }
  }
  return yaml;
}

std::unique_ptr<Store> store_of(const Options& options) {
  Result<std::unique_ptr<Store>> store = make_store(options);
  EXPECT_TRUE(store.ok());
  return std::move(store.value());
}

TEST(TwoStores, SayTheSame) {
  redis::RedisServer server;
  std::mt19937 random(kSeed);
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  constexpr std::string_view kRoots[] = {"user", "ip", "job"};
  constexpr std::string_view kSegments[] = {"alex", "anna", "bo",     "trade",
                                            "a:b",  "a%b",  "{evil}", ""};
  constexpr std::string_view kAddresses[] = {"10.0.0.1", "::ffff:10.0.0.1",
                                             "64:ff9b::10.0.0.1", "2001:db8::1",
                                             "2001:db8::2"};
  constexpr Operation kOperations[] = {
      Operation::kAuthorize, Operation::kAuthorize, Operation::kAuthorize,
      Operation::kAuthorize, Operation::kSpend,     Operation::kRefund,
      Operation::kPeek};
  int decided = 0;
  int cached = 0;
  int blocked = 0;
  for (int round = 0; round < 80; ++round) {
    const std::string yaml = Trees(&random, round % 4 >= 2).any();
    SCOPED_TRACE(yaml);
    Result<Tree> tree = load_tree(yaml, "random.yaml");
    ASSERT_TRUE(tree.ok()) << tree.status().error().messages[0];
    const auto shared = std::make_shared<const Tree>(std::move(tree.value()));
    ManualClock clock;
    Options options;
    options.clock = clock.clock();
    // Without the deny cache, which does not ask about every level, the clock
    // also steps back and the limits change.  A store that forgets full buckets
    // would then differ, and be right.
    const bool steps = round % 2 == 0;
    Limiter memory(shared, options,
                   steps ? make_roomy_store(clock.clock()) : store_of(options));
    ASSERT_TRUE(set_option("store",
                           "redis://127.0.0.1:" + std::to_string(server.port()),
                           &options)
                    .ok());
    ASSERT_TRUE(set_option("timeout", "10s", &options).ok());
    ASSERT_TRUE(
        set_option("prefix", "r" + std::to_string(round) + ":", &options).ok());
    ASSERT_TRUE(
        set_option("deny_cache", round % 2 == 0 ? "off" : "on", &options).ok());
    Limiter redis(shared, options, store_of(options));

    Instant latest = clock.now();
    for (int i = 0; i < 100; ++i) {
      std::vector<std::vector<std::string_view>> paths(1 + random() % 2);
      std::vector<PathCost> path_costs;
      for (auto& path : paths) {
        path.push_back(kRoots[random() % 3]);
        const bool ip = path[0] == "ip";
        const std::size_t length = random() % 4;
        for (std::size_t k = 0; k < length; ++k) {
          path.push_back(ip && k == 0 ? kAddresses[random() % 5]
                                      : kSegments[random() % 8]);
        }
        path_costs.push_back({path, static_cast<std::int64_t>(random() % 4)});
      }
      const Operation operation = kOperations[random() % 7];
      if (random() % 10 == 0) {
        const auto pressure =
            static_cast<std::int32_t>(random() % (kFullPressure + 1));
        memory.set_pressure(pressure);
        redis.set_pressure(pressure);
      }
      LevelReports ours;
      LevelReports theirs;
      Decision a;
      Decision b;
      const Status one = memory.decide(operation, {path_costs}, &ours, &a);
      const Status two = redis.decide(operation, {path_costs}, &theirs, &b);
      ASSERT_EQ(one.code(), two.code());
      if (!one.ok()) continue;
      ++decided;
      ASSERT_EQ(a.limited, b.limited) << i;
      if (b.source == Source::kDenyCache) {
        // It knows one level that denies; others may deny for longer.
        ASSERT_LE(b.retry_after, a.retry_after) << i;
        ++cached;
        continue;
      }
      ASSERT_EQ(a.soft, b.soft) << i;
      ASSERT_EQ(a.limit, b.limit) << i;
      ASSERT_EQ(a.remaining, b.remaining) << i;
      ASSERT_EQ(a.retry_after, b.retry_after) << i;
      ASSERT_EQ(a.reset_after, b.reset_after) << i;
      ASSERT_EQ(a.next_after, b.next_after) << i;
      ASSERT_EQ(ours.size(), theirs.size()) << i;
      for (std::size_t k = 0; k < ours.size(); ++k) {
        ASSERT_EQ(ours[k].verdict.charged, theirs[k].verdict.charged) << i;
        ASSERT_EQ(ours[k].verdict.remaining, theirs[k].verdict.remaining) << i;
        ASSERT_EQ(ours[k].grows_after, theirs[k].grows_after) << i;
      }
      if (random() % 3 == 0) {
        clock.advance(std::chrono::milliseconds(random() % 5000));
      }
      if (steps && random() % 10 == 0 && latest - clock.now() < kMostBack) {
        clock.advance(-std::chrono::milliseconds(random() % 60'000));
      }
      latest = std::max(latest, clock.now());
      if (steps && random() % 20 == 0) {
        Result<Tree> next = load_tree(changed(yaml, &random), "next.yaml");
        ASSERT_TRUE(next.ok());
        const auto loaded =
            std::make_shared<const Tree>(std::move(next.value()));
        ASSERT_TRUE(memory.reload(*loaded).ok());
        ASSERT_TRUE(redis.reload(*loaded).ok());
      }
      if (random() % 40 == 0) {
        const Forget leaf = random() % 2 == 0 ? Forget::kLeaf : Forget::kPath;
        ASSERT_TRUE(memory.reset(path_costs[0].path, leaf).ok());
        ASSERT_TRUE(redis.reset(path_costs[0].path, leaf).ok());
      }
      if (random() % 10 == 0) {
        const Path path = path_costs[0].path;
        const Duration time = std::chrono::milliseconds(1 + random() % 9000);
        const Status block = memory.block(path, time);
        ASSERT_EQ(block.code(), redis.block(path, time).code()) << i;
        blocked += block.ok() ? 1 : 0;
      }
      if (random() % 40 == 0) {
        const Path path = path_costs[0].path;
        ASSERT_EQ(memory.reset(path, Forget::kBlock).code(),
                  redis.reset(path, Forget::kBlock).code());
      }
    }
  }
  EXPECT_GT(decided, 2000);
  EXPECT_GT(cached, 50);
  EXPECT_GT(blocked, 100);
}

}  // namespace
}  // namespace limitree

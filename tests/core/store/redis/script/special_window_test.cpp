// Scripts made for one window: at any time of the server's they say and leave
// behind what decide_mixed.lua does at that time.

#include "store/redis/script/special_window.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/micros.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/store/redis/script_store.hpp"
#include "store/redis/script/special_script.hpp"

namespace limitree::redis {
namespace {

using std::chrono::milliseconds;

Limit limit_of(Algorithm algorithm, std::int64_t count, Duration period) {
  Limit limit;
  limit.rate = make_rate(count, period, count).value();
  if (algorithm == Algorithm::kLeakyStep) {
    limit.rate.emission_interval -= limit.rate.emission_interval % kMicrosecond;
  }
  limit.period = period;
  limit.count = count;
  limit.algorithm = algorithm;
  Rules rules;
  if (algorithm == Algorithm::kSlidingWindow) rules.bucket = period / 4;
  limit.rules = std::make_shared<const Rules>(std::move(rules));
  limit.suffix = traits_of(algorithm).suffix;
  return limit;
}

void add_overrun(Limit* limit) {
  Rules rules = *limit->rules;
  rules.overrun = 50;
  limit->rules = std::make_shared<const Rules>(std::move(rules));
}

struct Asked {
  Asked(const Limit& limit, std::string of)
      : name(std::move(of)), plan(Operation::kAuthorize) {
    plan.segments.emplace_back(name, Segment::Kind::kCaller);
    plan.add_level(&limit, 0u, 1u, limit.cost);
  }
  const std::string name;
  Plan plan;
};

const std::vector<std::uint32_t> kOne = {0};

// What is said of the bucket, but of a log that is charged not what it would be
// if it were left: the special script leaves that out, for nobody reads it.
std::string word_of(const std::string& said) {
  std::string word = said.substr(said.rfind(' ') + 1);
  if (said[0] == '-' || std::ranges::count(word, ':') != 6) return word;
  std::size_t left = word.find(':');
  for (int i = 0; i < 3; ++i) {
    const std::size_t next = word.find(':', left + 1);
    word.replace(left + 1, next - left - 1, "-");
    left += 2;
  }
  return word;
}

// A log with an entry for each instant, in microseconds, of one unit.
std::string log_of(std::initializer_list<std::int64_t> instants) {
  std::string log = {0, 0, 0, static_cast<char>(instants.size())};
  for (const std::int64_t at : instants) {
    for (int shift = 48; shift >= 0; shift -= 8) {
      log += static_cast<char>(at >> shift & 255);
    }
    log += {0, 0, 0, 1};
  }
  return log;
}

// A state dated up to `ahead` after now, as a server's clock leaves behind that
// is put back then: of some of the limit's units.
std::string state_of_future(Algorithm algorithm, std::mt19937* random,
                            Duration ahead) {
  const auto at = [&] {
    const auto by =
        static_cast<std::int64_t>((*random)() % 1000) * ahead / 1000;
    return (std::chrono::system_clock::now().time_since_epoch() + by) /
           kMicrosecond;
  };
  const std::string units = std::to_string(1 + (*random)() % 3);
  switch (algorithm) {
    case Algorithm::kFixedWindow:
      return std::to_string(at()) + ":" + units;
    case Algorithm::kSlidingTail:
      return std::to_string(at()) + ":" + units + ":" +
             std::to_string((*random)() % 3);
    case Algorithm::kSlidingLog:
    case Algorithm::kSlidingWindow:
      break;
    default:
      return std::to_string(at());
  }
  const std::int64_t first = at();
  const auto gap = static_cast<std::int64_t>((*random)() % 10);
  return log_of({first, first + gap, first + 2 * gap});
}

class SpecialWindow : public testing::TestWithParam<Algorithm> {
 protected:
  std::string send(const Call& call) {
    Reply reply = store_.send(call.evalsha());
    if (reply->type == REDIS_REPLY_ERROR) reply = store_.send(call.eval());
    EXPECT_EQ(reply->type, REDIS_REPLY_STRING) << reply->str;
    return {reply->str, reply->len};
  }
  std::string stored(const Address& address) {
    const Reply reply = store_.send_words({"HGET", address.key, address.field});
    return reply->type == REDIS_REPLY_STRING
               ? std::string(reply->str, reply->len)
               : "";
  }

  const RedisServer server_;
  ScriptStore store_{server_};
};

TEST_P(SpecialWindow, SaysWhatTheMixedScriptDoes) {
  std::mt19937 random(1);
  std::vector<Limit> limits;
  for (const int ms : {1, 7, 40, 1000}) {
    for (const int count : {1, 3, 10}) {
      limits.push_back(limit_of(GetParam(), count, milliseconds(ms)));
      limits.back().cost = 1 + count / 10;
      if (ms == 40) add_overrun(&limits.back());
    }
  }
  Call call;
  int denied = 0;
  int carried_over = 0;
  for (int i = 0; i < 1500; ++i) {
    const std::size_t kind = random() % limits.size();
    const Limit& limit = limits[kind];
    Asked asked(limit, "a" + std::to_string(kind));
    ASSERT_TRUE(is_special_window(asked.plan, Families(asked.plan, kOne)));
    const Address ours = address_of(asked.plan, asked.plan.levels[0], "x:");
    const Address mirror = address_of(asked.plan, asked.plan.levels[0], "m:");
    if (random() % 8 == 0) {
      store_.send_words({"HSET", ours.key, ours.field,
                         state_of_future(GetParam(), &random,
                                         limit.period * (1 + random() % 4))});
    }
    const std::string before = stored(ours);
    ASSERT_TRUE(call.encode(asked.plan, kOne, "x:", {}).ok());
    const std::string said = send(call);

    std::int64_t s = 0;
    std::int64_t n = 0;
    ASSERT_EQ(std::sscanf(said.c_str() + 2, "%ld %ld", &s, &n), 2);
    store_.send_words({"DEL", mirror.key});
    if (!before.empty()) {
      store_.send_words({"HSET", mirror.key, mirror.field, before});
    }
    const Instant at{std::chrono::seconds(s) + Duration(n)};
    ASSERT_TRUE(call.encode(asked.plan, kOne, "m:", at).ok());
    const std::string expected = send(call);
    // The mixed script echoes the time that it was given, without zeros.
    ASSERT_EQ(said[0], expected[0]) << i << ": " << said << "\n" << expected;
    ASSERT_EQ(word_of(said), word_of(expected)) << i << ": before " << before;
    ASSERT_EQ(stored(ours), stored(mirror)) << said << "\n" << expected;
    denied += said[0] == '-';
    carried_over += !before.empty();
    if (random() % 4 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
    }
  }
  EXPECT_GT(denied, 50);
  EXPECT_GT(carried_over, 200);
}

// A clock that was put back, by as much as one likes: what is stored then is of
// now, whether or not the request is denied.
TEST_P(SpecialWindow, KnowsStatesOfTheFuture) {
  const Limit limit = limit_of(GetParam(), 3, milliseconds(100));
  const std::int64_t later = 4'000'000'000'000'000;
  const std::string state =
      GetParam() == Algorithm::kSlidingTail   ? "4000000000000000:2:1"
      : GetParam() == Algorithm::kFixedWindow ? "4000000000000000:2"
      : GetParam() == Algorithm::kLeakyStep   ? "4000000000000000"
                                              : log_of({later, later, later});
  Asked asked(limit, "future");
  const Address address = address_of(asked.plan, asked.plan.levels[0], "x:");
  store_.send_words({"HSET", address.key, address.field, state});
  Call call;
  ASSERT_TRUE(call.encode(asked.plan, kOne, "x:", {}).ok());
  const bool denied = send(call)[0] == '-';
  EXPECT_EQ(denied, GetParam() != Algorithm::kFixedWindow);
  EXPECT_NE(stored(address), state);
  if (!denied) return;
  std::this_thread::sleep_for(2 * limit.period);
  EXPECT_EQ(send(call)[0], '+');
}

TEST_P(SpecialWindow, RefusesWhatIsNoState) {
  const Limit limit = limit_of(GetParam(), 3, milliseconds(100));
  Asked asked(limit, "foreign");
  const Address address = address_of(asked.plan, asked.plan.levels[0], "x:");
  store_.send_words({"HSET", address.key, address.field, "nonsense"});
  Call call;
  ASSERT_TRUE(call.encode(asked.plan, kOne, "x:", {}).ok());
  const Reply reply = store_.send(call.eval());
  ASSERT_EQ(reply->type, REDIS_REPLY_ERROR);
  EXPECT_TRUE(std::string_view(reply->str).starts_with("WRONGTYPE"));
}

INSTANTIATE_TEST_SUITE_P(
    All, SpecialWindow,
    testing::Values(Algorithm::kFixedWindow, Algorithm::kSlidingTail,
                    Algorithm::kLeakyStep, Algorithm::kSlidingLog,
                    Algorithm::kSlidingWindow),
    [](const auto& one) { return std::string(traits_of(one.param).name); });

}  // namespace
}  // namespace limitree::redis

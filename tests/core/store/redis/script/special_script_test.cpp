#include "store/redis/script/special_script.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/limit.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/store/redis/script_store.hpp"

namespace limitree::redis {
namespace {

using Kind = Segment::Kind;

Limit limit_of(Duration interval, std::int64_t capacity) {
  Limit limit;
  limit.rate = make_rate(1, interval, capacity).value();
  return limit;
}

// user, <caller>, <action>: a level for the caller and one for the action.
void fill(const Limit& limit, std::string_view caller, std::string_view action,
          Plan* plan) {
  plan->segments.emplace_back("user", Kind::kExact);
  plan->segments.emplace_back(caller, Kind::kCaller);
  plan->segments.emplace_back(action, Kind::kExact);
  plan->add_level(&limit, 0u, 2u, limit.cost);
  plan->add_level(&limit, 0u, 3u, limit.cost);
}

const Script* script_of(const Plan& plan) {
  std::string scratch;
  return special_script(plan, Families(plan, ScriptStore::all_levels(plan)),
                        &scratch);
}

const Script* script_of(const Limit& limit, std::string_view caller = "alex",
                        std::string_view action = "trade") {
  Plan plan(Operation::kAuthorize);
  fill(limit, caller, action, &plan);
  return script_of(plan);
}

TEST(SpecialScript, IsOneForAllCallers) {
  const Limit limit = limit_of(std::chrono::seconds(1), 5);
  const Script* const script = script_of(limit, "alex");
  ASSERT_NE(script, nullptr);
  EXPECT_EQ(script_of(limit, "bob"), script);
  EXPECT_EQ(script_of(Limit(limit), "eve"), script);
  EXPECT_EQ(script->text.find("alex"), std::string::npos);
}

TEST(SpecialScript, IsAnotherForOtherLimitsAndPlaces) {
  const Limit limit = limit_of(std::chrono::seconds(1), 5);
  const Script* const script = script_of(limit);
  EXPECT_NE(script_of(limit_of(std::chrono::seconds(2), 5)), script);
  EXPECT_NE(script_of(limit_of(std::chrono::seconds(1), 6)), script);
  EXPECT_NE(script_of(limit, "alex", "spot"), script);
  Limit other = limit;
  other.mode = Mode::kCheck;
  EXPECT_NE(script_of(other), script);
  other = limit;
  other.cost = 2;
  EXPECT_NE(script_of(other), script);
  other = limit;
  other.suffix = "#daily";
  EXPECT_NE(script_of(other), script);
}

TEST(SpecialScript, IsForWhatIsAskedMost) {
  const Limit limit = limit_of(std::chrono::seconds(1), 5);
  for (const Operation operation :
       {Operation::kPeek, Operation::kSpend, Operation::kRefund}) {
    Plan plan(operation);
    fill(limit, "alex", "trade", &plan);
    EXPECT_EQ(script_of(plan), nullptr);
  }
  for (const std::int64_t cost : {0, 2, 6}) {
    Plan plan(Operation::kAuthorize);
    fill(limit, "alex", "trade", &plan);
    plan.levels[1].cost = cost;
    EXPECT_EQ(script_of(plan), nullptr);
  }
  Limit other = limit;
  other.mode = Mode::kShadow;
  EXPECT_EQ(script_of(other), nullptr);
  other = limit;
  other.charge = Charge::kIndependent;
  EXPECT_EQ(script_of(other), nullptr);
  other = limit;
  other.cost = 6;  // more than the capacity
  EXPECT_EQ(script_of(other), nullptr);

  Plan deep(Operation::kAuthorize);
  for (std::uint32_t i = 1; i <= 13; ++i) {
    deep.segments.emplace_back("deep", Kind::kCaller);
    deep.add_level(&limit, 0u, i, 1);
  }
  EXPECT_EQ(script_of(deep), nullptr);
  deep.levels.pop_back();
  EXPECT_NE(script_of(deep), nullptr);
}

TEST(SpecialScript, RunsWithItsMostLevels) {
  const RedisServer server;
  ScriptStore store(server);
  const Limit limit = limit_of(std::chrono::hours(1), 1);
  for (const bool limited : {false, true}) {
    Plan plan(Operation::kAuthorize);
    for (std::uint32_t i = 1; i <= 12; ++i) {
      plan.segments.emplace_back("deep", Kind::kCaller);
      plan.add_level(&limit, 0u, i, 1);
    }
    ASSERT_NE(script_of(plan), nullptr);
    ASSERT_TRUE(store.decide(&plan).ok());
    for (const Level& level : plan.levels) {
      EXPECT_EQ(level.verdict.limited, limited);
    }
  }
}

// Whatever limits.yaml calls a node, it is a string to Lua and no more.
TEST(SpecialScript, QuotesNames) {
  const RedisServer server;
  ScriptStore store(server);
  const Limit limit = limit_of(std::chrono::hours(1), 1);
  for (const std::string name :
       {"'", "\"", "\\", "\\'", "]]", "--", "<i>", "<set>", "<", "$1", "\n",
        "') redis.call('FLUSHALL') --", "\xc3\xa9", "\xff", "\\0100", "@"}) {
    for (const bool limited : {false, true}) {
      Plan plan(Operation::kAuthorize);
      fill(limit, "alex", name, &plan);
      ASSERT_NE(script_of(plan), nullptr);
      ASSERT_TRUE(store.decide(&plan).ok()) << name;
      EXPECT_EQ(plan.levels[1].verdict.limited, limited) << name;
      const Address address =
          address_of(plan, plan.levels[1], ScriptStore::kPrefix);
      EXPECT_EQ(server.cli({"HEXISTS", address.key, address.field}), "1")
          << name;
    }
    server.cli({"HDEL", "limitree:{user:alex}", ""});
  }
}

TEST(SpecialScript, IsMadeOnceWhateverTheThreads) {
  std::deque<Limit> limits;
  for (int i = 0; i < 50; ++i) {
    limits.push_back(limit_of(std::chrono::minutes(i + 1), 7));
  }
  std::vector<std::vector<const Script*>> made(4);
  std::vector<std::thread> threads;
  for (std::vector<const Script*>& mine : made) {
    threads.emplace_back([&limits, &mine] {
      for (const Limit& limit : limits) mine.push_back(script_of(limit));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<const Script*>& one : made) EXPECT_EQ(one, made[0]);
  EXPECT_NE(made[0].front(), nullptr);
}

// One whose key holds something else does not take others with it, nor what
// they are charged.
TEST(SpecialScript, ForSeveralFailsForOneAlone) {
  const RedisServer server;
  ScriptStore store(server);
  const Limit limit = limit_of(std::chrono::hours(1), 1);
  server.cli({"SET", "limitree:{user:bob}", "foreign"});
  server.cli({"HSET", "limitree:{user:carol}", "trade", "foreign"});
  Plan plan(Operation::kAuthorize);
  fill(limit, "alex", "trade", &plan);
  const Script* const script = script_of(plan);
  ASSERT_NE(script, nullptr);
  ASSERT_NE(script->several, nullptr);
  const Reply reply = store.send_words(
      {"EVAL", script->several->text, "5", "limitree:{user:alex}",
       "limitree:{user:bob}", "limitree:{user:carol}", "limitree:{user:dave}",
       "limitree:{user:alex}"});
  ASSERT_EQ(reply->type, REDIS_REPLY_ARRAY) << reply->str;
  ASSERT_EQ(reply->elements, 5u);
  const auto part = [&](std::size_t i) {
    return std::string_view(reply->element[i]->str, reply->element[i]->len);
  };
  EXPECT_TRUE(part(0).starts_with("+ "));
  EXPECT_EQ(reply->element[1]->type, REDIS_REPLY_ERROR);
  EXPECT_TRUE(part(1).starts_with("WRONGTYPE ")) << part(1);
  EXPECT_EQ(reply->element[2]->type, REDIS_REPLY_ERROR);
  EXPECT_TRUE(part(2).starts_with("WRONGTYPE a field of ")) << part(2);
  EXPECT_TRUE(part(3).starts_with("+ "));
  EXPECT_TRUE(part(4).starts_with("- "));
  EXPECT_EQ(server.cli({"HEXISTS", "limitree:{user:dave}", "trade"}), "1");
}

// The last test of this file, for it uses up what the process may have.
TEST(SpecialScript, ZIsNotMadeWithoutEnd) {
  const Limit first = limit_of(std::chrono::seconds(1), 5);
  const Script* const script = script_of(first);
  std::size_t made = 0;
  for (int i = 1; i <= 1000; ++i) {
    made += script_of(limit_of(Duration(i), 3)) != nullptr;
  }
  EXPECT_LT(made, kMaxSpecialScripts);
  EXPECT_GT(made, kMaxSpecialScripts - 100);
  EXPECT_EQ(script_of(limit_of(Duration(1000), 3)), nullptr);
  EXPECT_EQ(script_of(first), script);
}

}  // namespace
}  // namespace limitree::redis

#include "store/redis/script/compiled_script.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/limit.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/store/redis/script_store.hpp"

namespace limitree::redis::compiled_script_test {
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

Compiled find_in(Scripts* scripts, const Plan& plan) {
  std::string scratch;
  return scripts->find(plan, Families(plan, ScriptStore::all_levels(plan)),
                       false, &scratch);
}

// The script for `plan`, in layout `first` or a later one.
Compiled compiled(const Plan& plan, Layout first = Layout::kWritten) {
  static Scripts all;
  static Scripts passed(0);
  static Scripts loops(0, 0);
  return find_in(first == Layout::kWritten  ? &all
                 : first == Layout::kPassed ? &passed
                                            : &loops,
                 plan);
}

const Script* script_of(const Limit& limit, std::string_view caller = "alex",
                        std::string_view action = "trade",
                        Layout first = Layout::kWritten) {
  Plan plan(Operation::kAuthorize);
  fill(limit, caller, action, &plan);
  return compiled(plan, first).script;
}

const Script* script_of(const Limit& limit, Operation operation,
                        std::int64_t cost) {
  Plan plan(operation);
  fill(limit, "alex", "trade", &plan);
  for (Level& level : plan.levels) level.cost = cost;
  return compiled(plan).script;
}

TEST(CompiledScript, IsOneForAllCallers) {
  const Limit limit = limit_of(std::chrono::seconds(1), 5);
  const Script* const script = script_of(limit, "alex");
  ASSERT_NE(script, nullptr);
  EXPECT_EQ(script_of(limit, "bob"), script);
  EXPECT_EQ(script_of(Limit(limit), "eve"), script);
  EXPECT_EQ(script->text.find("alex"), std::string::npos);
}

TEST(CompiledScript, IsAnotherForOtherLimitsAndPlaces) {
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

// If each cost had its own script, requests could make scripts without end.
TEST(CompiledScript, IsOneForAllCosts) {
  const Limit limit = limit_of(std::chrono::seconds(1), 5);
  for (const Operation operation : {Operation::kAuthorize, Operation::kPeek,
                                    Operation::kSpend, Operation::kRefund}) {
    const Script* const script = script_of(limit, operation, 2);
    EXPECT_NE(script_of(limit, operation, 1), script);
    EXPECT_EQ(script_of(limit, operation, 3), script);
    EXPECT_EQ(script_of(limit, operation, 6), script);
    EXPECT_EQ(script_of(limit, operation, INT64_MAX), script);
    EXPECT_NE(script_of(limit, operation, 0), script);
    EXPECT_EQ(script->several, nullptr) << "it must not be joined";
    EXPECT_NE(script_of(limit, operation, 1)->several, nullptr);
  }
}

// Once there is no room for a script of each limit, limits share scripts.
TEST(CompiledScript, IsOneForAllLimitsThatArePassed) {
  const Limit limit = limit_of(std::chrono::seconds(1), 5);
  const auto passed = [](const Limit& of, std::string_view action = "trade") {
    return script_of(of, "alex", action, Layout::kPassed);
  };
  const Script* const script = passed(limit);
  EXPECT_NE(script, script_of(limit));
  EXPECT_EQ(passed(limit_of(std::chrono::seconds(2), 6)), script);
  EXPECT_NE(passed(limit, "spot"), script);
  Limit other = limit;
  other.cost = 2;
  EXPECT_EQ(passed(other), script);
  other.mode = Mode::kShadow;
  EXPECT_NE(passed(other), script);
  EXPECT_EQ(script->several, nullptr);
}

TEST(CompiledScript, IsALoopForManyLevels) {
  const Limit limit = limit_of(std::chrono::seconds(1), 5);
  Plan deep(Operation::kAuthorize);
  for (std::uint32_t i = 1; i <= 13; ++i) {
    deep.segments.emplace_back("deep", Kind::kCaller);
    deep.add_level(&limit, 0u, i, 1);
  }
  EXPECT_EQ(compiled(deep).layout, Layout::kLoop);
  deep.levels.pop_back();
  EXPECT_EQ(compiled(deep).layout, Layout::kWritten);
  EXPECT_EQ(compiled(deep, Layout::kPassed).layout, Layout::kPassed);
  EXPECT_EQ(compiled(deep, Layout::kLoop).layout, Layout::kLoop);
}

TEST(CompiledScript, RunsWithItsMostLevels) {
  const RedisServer server;
  ScriptStore store(server);
  const Limit limit = limit_of(std::chrono::hours(1), 1);
  for (const bool limited : {false, true}) {
    Plan plan(Operation::kAuthorize);
    for (std::uint32_t i = 1; i <= 12; ++i) {
      plan.segments.emplace_back("deep", Kind::kCaller);
      plan.add_level(&limit, 0u, i, 1);
    }
    ASSERT_EQ(compiled(plan).layout, Layout::kWritten);
    ASSERT_TRUE(store.decide(&plan).ok());
    for (const Level& level : plan.levels) {
      EXPECT_EQ(level.verdict.limited, limited);
    }
  }
}

// Counters in shadow mode are charged with the others: nothing is decided
// before they are written, and requests can be joined.
TEST(CompiledScript, CountsHitsWithoutAskingWhetherTheyFit) {
  Limit hits = make_counter(5, std::chrono::minutes(1));
  hits.mode = Mode::kShadow;
  const Script* const script = script_of(hits);
  EXPECT_EQ(script->text.find("allowed"), std::string::npos) << script->text;
  EXPECT_NE(script->several, nullptr);
  Limit joint = hits;
  joint.charge = Charge::kAllOrDenying;
  EXPECT_NE(script_of(joint)->text.find("allowed"), std::string::npos);
}

// Whatever name limits.yaml gives a node, Lua sees only a string.
TEST(CompiledScript, QuotesNames) {
  const RedisServer server;
  ScriptStore store(server);
  const Limit limit = limit_of(std::chrono::hours(1), 1);
  for (const std::string name :
       {"'", "\"", "\\", "\\'", "]]", "--", "<i>", "<set>", "<", "$1", "\n",
        "') redis.call('FLUSHALL') --", "\xc3\xa9", "\xff", "\\0100", "@"}) {
    for (const bool limited : {false, true}) {
      Plan plan(Operation::kAuthorize);
      fill(limit, "alex", name, &plan);
      ASSERT_EQ(compiled(plan).layout, Layout::kWritten);
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

TEST(CompiledScript, IsMadeOnceWhateverTheThreads) {
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

// If the key of one request holds something else, only that request fails.  The
// others are still decided and charged.
TEST(CompiledScript, ForSeveralFailsForOneAlone) {
  const RedisServer server;
  ScriptStore store(server);
  const Limit limit = limit_of(std::chrono::hours(1), 1);
  server.cli({"SET", "limitree:{user:bob}", "foreign"});
  server.cli({"HSET", "limitree:{user:carol}", "trade", "foreign"});
  Plan plan(Operation::kAuthorize);
  fill(limit, "alex", "trade", &plan);
  const Script* const script = compiled(plan).script;
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

TEST(CompiledScript, IsNotMadeWithoutEnd) {
  const auto scripts = std::make_unique<Scripts>();
  const Limit limit = limit_of(std::chrono::seconds(1), 5);
  const auto compile = [&](const Limit& of, const std::string& action) {
    Plan plan(Operation::kAuthorize);
    fill(of, "alex", action, &plan);
    return find_in(scripts.get(), plan);
  };
  const Script* const first = compile(limit, "trade").script;
  std::size_t made[3] = {};
  for (int i = 1; i <= 1000; ++i) {
    // Each limit has an action of its own, so that limits cannot share a passed
    // script either.
    const Compiled one = compile(limit_of(Duration(i), 3), std::to_string(i));
    ASSERT_NE(one.script, nullptr);
    ++made[static_cast<std::size_t>(one.layout)];
  }
  EXPECT_EQ(made[0], kMaxWrittenScripts - 1);
  EXPECT_EQ(made[1], kMaxPassedScripts);
  EXPECT_EQ(made[2], 1000 - made[0] - made[1]);
  EXPECT_EQ(compile(limit, "trade").script, first);
}

}  // namespace
}  // namespace limitree::redis::compiled_script_test

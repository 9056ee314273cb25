// What the scripts do on a server: what they write, and what they never do.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/decision.hpp"
#include "base/limit.hpp"
#include "base/time.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/store/redis/script_store.hpp"
#include "store/redis/common/error_reply.hpp"

namespace limitree::redis::script_server_test {
namespace {

using Kind = Segment::Kind;

constexpr char kAlex[] = "limitree:{user:alex}";

Limit limit_of(Duration interval, std::int64_t capacity) {
  Limit limit;
  limit.rate = make_rate(1, interval, capacity).value();
  return limit;
}

// user, alex, trade: a level for the caller and one for the action.
class Request {
 public:
  Request(Operation operation, const Limit& limit, std::int64_t cost = 1)
      : plan_(operation) {
    plan_.segments.emplace_back("user", Kind::kExact);
    plan_.segments.emplace_back("alex", Kind::kCaller);
    plan_.segments.emplace_back("trade", Kind::kExact);
    plan_.add_level(&limit, 0u, 2u, cost);
    plan_.add_level(&limit, 0u, 3u, cost);
  }

  Status decide(ScriptStore* store) { return store->decide(&plan_); }
  bool limited() const { return aggregate(plan_).limited; }
  Plan& plan() { return plan_; }

 private:
  Plan plan_;
};

// The parameter is true for a caller's clock, and false for the server's.
class ScriptOnServer : public testing::TestWithParam<bool> {
 protected:
  static constexpr std::int64_t kNow = 1'750'000'000'000'000'000;

  std::string changes() const {
    const std::string info = server_.cli({"INFO", "persistence"});
    const std::size_t at = info.find("rdb_changes_since_last_save:");
    return info.substr(at, info.find('\r', at) - at);
  }

  // The time at which the scripts decide, or shortly before.
  Instant now() const {
    return GetParam() ? Instant(Duration(now_))
                      : Instant(std::chrono::system_clock::now());
  }

  static std::string text_of(Instant at) {
    return std::to_string(at.time_since_epoch().count());
  }

  // Everything that is stored for alex.
  std::string dump() const { return server_.cli({"DUMP", kAlex}); }

  const Limit limit_ = limit_of(std::chrono::hours(1), 2);
  const RedisServer server_;
  ScriptStore store_{server_, [this]() -> Now {
                       if (!GetParam()) return std::nullopt;
                       return Instant(Duration(now_));
                     }};
  std::int64_t now_ = kNow;
};

INSTANTIATE_TEST_SUITE_P(Clock, ScriptOnServer, testing::Bool(),
                         [](const auto& clock) -> std::string {
                           return clock.param ? "OfTheCaller" : "OfTheServer";
                         });

TEST_P(ScriptOnServer, WritesNothingUnlessItCharges) {
  for (int i = 0; i < 2; ++i) {
    Request request(Operation::kAuthorize, limit_);
    ASSERT_TRUE(request.decide(&store_).ok());
    EXPECT_FALSE(request.limited());
  }
  const std::string before = changes();
  Request denied(Operation::kAuthorize, limit_);
  ASSERT_TRUE(denied.decide(&store_).ok());
  EXPECT_TRUE(denied.limited());
  for (const auto& [operation, cost] :
       {std::pair(Operation::kPeek, 1), std::pair(Operation::kAuthorize, 0),
        std::pair(Operation::kAuthorize, 3), std::pair(Operation::kSpend, 0),
        std::pair(Operation::kRefund, 0)}) {
    Request request(operation, limit_, cost);
    ASSERT_TRUE(request.decide(&store_).ok());
  }
  EXPECT_EQ(changes(), before);
}

// One request of a call for several finds no memory: the others are decided.
TEST(ScriptForSeveral, OneThatFailsEndsNoOther) {
  const RedisServer server({.config = {"maxmemory-policy noeviction"}});
  ScriptStore store(server);
  const Limit limit = limit_of(std::chrono::hours(1), 1);
  Scripts scripts;  // others may have filled that of the process
  Call calls[3];
  std::string keys;
  for (int i = 0; i < 3; ++i) {
    const std::string name = std::to_string(i);
    Plan plan(Operation::kAuthorize);
    plan.segments.emplace_back(name, Kind::kCaller);
    plan.add_level(&limit, 0u, 1u, 1);
    if (i != 1) {
      ASSERT_TRUE(store.decide(&plan).ok());
    }
    const std::vector<std::uint32_t> levels = {0};
    ASSERT_TRUE(
        calls[i].encode(plan, levels, ScriptStore::kPrefix, {}, &scripts).ok());
    keys += calls[i].joinable().keys;
  }
  server.cli({"CONFIG", "SET", "maxmemory", "1"});
  std::string command;
  append_array(6, &command);
  append_word("EVAL", &command);
  append_word(calls[0].joinable().script->text, &command);
  append_word(std::int64_t{3}, &command);
  const Reply reply = store.send(command + keys);
  ASSERT_EQ(reply->type, REDIS_REPLY_ARRAY) << reply->str;
  ASSERT_EQ(reply->elements, 3U);
  EXPECT_EQ(reply->element[0]->str[0], '-') << "denied";
  EXPECT_EQ(reply->element[1]->type, REDIS_REPLY_ERROR);
  EXPECT_EQ(failure_of(reply->element[1]->str), Failure::kOom)
      << reply->element[1]->str;
  EXPECT_EQ(reply->element[2]->str[0], '-');
}

// A level that does not fit keeps the others from being charged.
TEST_P(ScriptOnServer, ChargesAllOrNothing) {
  Request one(Operation::kAuthorize, limit_);
  ASSERT_TRUE(one.decide(&store_).ok());
  server_.cli(
      {"HSET", kAlex, "trade", text_of(now() + std::chrono::minutes(90))});
  const std::string before = dump();
  Request two(Operation::kAuthorize, limit_);
  ASSERT_TRUE(two.decide(&store_).ok());
  EXPECT_TRUE(two.limited());
  EXPECT_EQ(dump(), before);
}

// A bucket never owes more than it holds.  A denied request enforces that too,
// although it charges nothing.
TEST_P(ScriptOnServer, HoldsWhatOwesTooMuch) {
  Request one(Operation::kAuthorize, limit_);
  ASSERT_TRUE(one.decide(&store_).ok());
  const std::string before = server_.cli({"HGET", kAlex, ""});
  server_.cli({"HSET", kAlex, "trade", "4000000000000000000"});
  const Instant earliest = now();
  Request two(Operation::kAuthorize, limit_);
  ASSERT_TRUE(two.decide(&store_).ok());
  EXPECT_TRUE(two.limited());
  EXPECT_FALSE(store_.charged());
  EXPECT_EQ(server_.cli({"HGET", kAlex, ""}), before);
  const Duration offset = limit_.rate.burst_offset();
  const std::int64_t tat = std::stoll(server_.cli({"HGET", kAlex, "trade"}));
  const Instant top = Instant(Duration(tat)) - offset;
  EXPECT_GE(top, earliest - std::chrono::microseconds(1))
      << "scripts count in microseconds";
  EXPECT_LE(top, now());
}

TEST_P(ScriptOnServer, RefusesForeignKeys) {
  server_.cli({"SET", kAlex, "something else"});
  Request request(Operation::kAuthorize, limit_);
  const Status status = request.decide(&store_);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().messages[0].substr(0, 9), "WRONGTYPE");
  EXPECT_EQ(server_.cli({"GET", kAlex}), "something else");

  EXPECT_FALSE(store_.reset(request.plan()).ok());
  EXPECT_EQ(server_.cli({"GET", kAlex}), "something else");
}

TEST_P(ScriptOnServer, RefusesForeignValues) {
  for (const char* value :
       {"", "abc", "-5", "1e5", "0x10", " 5", "nan", "inf", "5.5",
        "10000000000000000000", "99999999999999999999999999",
        "abcdefghijklmnopqrs", "1750000000x00000000", "x750000000000000000"}) {
    for (const char* field : {"", "trade"}) {
      server_.cli({"DEL", kAlex});
      server_.cli({"HSET", kAlex, field, value});
      const std::string before = dump();
      Request request(Operation::kAuthorize, limit_);
      EXPECT_FALSE(request.decide(&store_).ok()) << value;
      EXPECT_EQ(dump(), before) << value;
    }
  }
}

TEST_P(ScriptOnServer, RefusesAForeignHorizon) {
  server_.cli({"HSET", kAlex, ":", "rubbish"});
  const std::string before = dump();
  Request request(Operation::kAuthorize, limit_);
  EXPECT_FALSE(request.decide(&store_).ok());
  EXPECT_EQ(dump(), before);
}

TEST_P(ScriptOnServer, TakesOverStateOfAnyAge) {
  for (const char* value : {"0", "5", "999999999", "1000000000",
                            "999999999999999999", "1000000000000000000"}) {
    server_.cli({"DEL", kAlex});
    server_.cli({"HSET", kAlex, "trade", value});
    Request request(Operation::kAuthorize, limit_);
    ASSERT_TRUE(request.decide(&store_).ok()) << value;
    EXPECT_EQ(request.plan().levels[1].verdict.remaining, 1) << value;
    EXPECT_LE(request.plan().levels[1].debt, Duration(0)) << value;
  }
}

// A caller's full buckets are pruned even if another one is in use: after an
// hour with a caller's clock, and after two seconds with the server's.
TEST_P(ScriptOnServer, PrunesFullBuckets) {
  const Duration kept =
      GetParam() ? Duration(std::chrono::hours(1)) : std::chrono::seconds(2);
  // The server's clock continues to run meanwhile.
  const Duration soon =
      GetParam() ? kMicrosecond : Duration(std::chrono::hours(1));
  server_.cli({"HSET", kAlex, ":", "1749999999", "old", text_of(now() - kept),
               "fresh", text_of(now() - kept + soon), "owing",
               "4000000000000000000", "ancient", "17", "other!fw", "12", "word",
               "abc"});
  const std::string fresh = server_.cli({"HGET", kAlex, "fresh"});
  Request request(Operation::kAuthorize, limit_);
  ASSERT_TRUE(request.decide(&store_).ok());
  EXPECT_EQ(server_.cli({"HMGET", kAlex, "old", "ancient"}), "(nil)\n(nil)");
  EXPECT_EQ(server_.cli({"HMGET", kAlex, "fresh", "owing", "other!fw", "word"}),
            fresh + "\n4000000000000000000\n12\nabc");
  EXPECT_EQ(server_.cli({"HLEN", kAlex}), "7");
}

// Not every request renews the lifetime.
TEST_P(ScriptOnServer, RenewsTheLifetimeNowAndThen) {
  const Limit limit = limit_of(std::chrono::hours(1), 1000);
  std::string horizon;
  int renewed = 0;
  for (int i = 0; i < 100; ++i) {
    Request request(Operation::kAuthorize, limit);
    ASSERT_TRUE(request.decide(&store_).ok());
    const std::string now = server_.cli({"HGET", kAlex, ":"});
    renewed += now != horizon;
    horizon = now;
    EXPECT_GE(std::stoll(server_.cli({"TTL", kAlex})), 3600 * (i + 1));
  }
  EXPECT_LE(renewed, 9);
}

TEST_P(ScriptOnServer, RefundForgetsWhatIsFull) {
  Request charged(Operation::kAuthorize, limit_, 2);
  ASSERT_TRUE(charged.decide(&store_).ok());
  Request half(Operation::kRefund, limit_, 1);
  ASSERT_TRUE(half.decide(&store_).ok());
  EXPECT_TRUE(store_.charged());
  EXPECT_EQ(server_.cli({"HLEN", kAlex}), "3");
  Request all(Operation::kRefund, limit_, 2);
  ASSERT_TRUE(all.decide(&store_).ok());
  EXPECT_TRUE(store_.charged());
  EXPECT_EQ(server_.cli({"EXISTS", kAlex}), "0");
  Request none(Operation::kRefund, limit_, 2);
  ASSERT_TRUE(none.decide(&store_).ok());
  EXPECT_FALSE(store_.charged());
  EXPECT_EQ(server_.cli({"EXISTS", kAlex}), "0");
}

TEST_P(ScriptOnServer, ResetTellsHowManyThereWere) {
  Request request(Operation::kAuthorize, limit_);
  ASSERT_TRUE(request.decide(&store_).ok());
  server_.cli({"HSET", kAlex, "spot", "4000000000000000000"});
  ASSERT_TRUE(store_.reset(request.plan()).ok());
  EXPECT_EQ(store_.forgotten(), 2);
  EXPECT_EQ(server_.cli({"HGET", kAlex, "spot"}), "4000000000000000000");
  ASSERT_TRUE(store_.reset(request.plan()).ok());
  EXPECT_EQ(store_.forgotten(), 0);
  server_.cli({"HDEL", kAlex, "spot"});
  ASSERT_TRUE(store_.reset(request.plan()).ok());
  EXPECT_EQ(server_.cli({"EXISTS", kAlex}), "0");
}

TEST_P(ScriptOnServer, IsSentAgainAfterAFlush) {
  for (int i = 0; i < 2; ++i) {
    Request request(Operation::kAuthorize, limit_);
    ASSERT_TRUE(request.decide(&store_).ok());
    server_.cli({"SCRIPT", "FLUSH"});
  }
}

// The rights that the documentation asks for suffice, and all keys have the
// prefix.
TEST(ScriptRights, AreThese) {
  const RedisServer server(
      {.config = {"user default on nopass ~limitree:* -@all +eval +evalsha "
                  "+time +hmget +hset +expire +hlen +hgetall +hdel +hexists "
                  "+del"}});
  ScriptStore store(server);
  const Limit limit = limit_of(std::chrono::hours(1), 2);
  server.cli({"HSET", kAlex, ":", "5", "old", "17"});
  for (const Operation operation : {Operation::kAuthorize, Operation::kPeek,
                                    Operation::kSpend, Operation::kRefund}) {
    Request request(operation, limit, 2);
    const Status status = request.decide(&store);
    ASSERT_TRUE(status.ok()) << status.error().messages[0];
  }
  Request request(Operation::kAuthorize, limit, 1);
  ASSERT_TRUE(request.decide(&store).ok());
  ASSERT_TRUE(store.reset(request.plan()).ok());
}

}  // namespace
}  // namespace limitree::redis::script_server_test

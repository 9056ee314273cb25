// Reservations while Redis is in trouble: it loses its data, its answers are
// lost, or something else decides in its place.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/store/redis/await.hpp"
#include "core/store/redis/chaos_proxy.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/tree/loaded.hpp"
#include "limiter/limiter.hpp"
#include "limiter/make_store.hpp"

namespace limitree::hold_trouble_test {
namespace {

using redis::ChaosProxy;
using redis::RedisServer;
using Numbers = std::vector<std::int64_t>;

// Nothing ends or drains while a test runs.
constexpr std::string_view kYaml = R"(
schema:
  job:
    limits:
      - {name: rpm, count: 60, period: 100d}
      - {name: tpm, count: 1000, period: 100d, unit: tokens, hold: 20h}
      - {name: slots, concurrent: 2, hold: 20h}
)";

class HoldTrouble : public testing::Test {
 protected:
  using Set = std::pair<const char*, std::string>;

  void open(int port, std::vector<Set> more = {},
            std::string_view yaml = kYaml) {
    more.insert(more.begin(),
                {{"store", "redis://127.0.0.1:" + std::to_string(port)},
                 {"timeout", "30s"}});
    Options options;
    for (const auto& [name, value] : more) {
      ASSERT_TRUE(set_option(name, value, &options).ok());
    }
    limiter_.emplace(std::make_shared<const Tree>(loaded(yaml)), options,
                     std::move(make_store(options).value()));
  }

  // Each returns the reason of its failure, or nothing.
  std::string decide(Operation operation, std::int64_t requests,
                     std::int64_t tokens, HoldId id = {}, Duration hold = {}) {
    static constexpr std::array<std::string_view, 1> kPath = {"job"};
    const PathCost cost{kPath, requests};
    const UnitCost unit{"tokens", tokens};
    decision_ = {};
    const Status status = limiter_->decide(
        operation, {{&cost, 1}, {&unit, 1}, {id, hold}}, &reports_, &decision_);
    return status.ok() ? "" : status.error().reason;
  }
  std::string reserve(std::int64_t tokens) {
    id_ = limiter_->new_hold_id();
    return decide(Operation::kReserve, 1, tokens, id_);
  }
  std::string settle(std::int64_t tokens) {
    return decide(Operation::kSettle, kAsHeld, tokens, id_);
  }
  std::string extend() {
    return decide(Operation::kExtend, kAsHeld, 0, id_, std::chrono::hours(9));
  }
  Numbers left() {
    EXPECT_EQ(decide(Operation::kLook, 0, 0), "");
    Numbers all;
    for (const LevelReport& level : reports_) {
      all.push_back(level.verdict.remaining);
    }
    return all;
  }
  // So that the server knows the scripts, and a lost answer is that of a
  // script.
  void warm_up() {
    await_store();
    ASSERT_EQ(reserve(400), "");
    ASSERT_EQ(settle(0), "");
    ASSERT_EQ(left(), Numbers({59, 1000, 2}));
  }
  // Asks until the store answers.
  void await_store() {
    await("the store", [&] {
      return decide(Operation::kLook, 0, 0).empty() &&
             decision_.source == Source::kStore;
    });
  }

  RedisServer server_;
  std::optional<Limiter> limiter_;
  HoldId id_;
  LevelReports reports_;
  Decision decision_;
};

TEST_F(HoldTrouble, RedisLosesItsDataBetweenReservingAndSettling) {
  open(server_.port());
  ASSERT_EQ(reserve(400), "");
  ASSERT_EQ(decision_.held, 2);
  server_.kill();
  server_.start();
  await_store();
  EXPECT_EQ(extend(), "");
  EXPECT_EQ(decision_.held, 0);
  EXPECT_EQ(settle(81), "");
  EXPECT_EQ(decision_.held, 0);
  EXPECT_FALSE(decision_.limited);
  EXPECT_EQ(left(), Numbers({60, 1000, 2}));
  EXPECT_EQ(reserve(400), "");
  EXPECT_EQ(settle(81), "");
  EXPECT_EQ(left(), Numbers({59, 919, 2}));
}

// With its data, everything is as it was.
TEST_F(HoldTrouble, RedisRestartsWithItsData) {
  open(server_.port());
  ASSERT_EQ(reserve(400), "");
  server_.cli({"SAVE"});
  server_.kill();
  server_.start();
  await_store();
  EXPECT_EQ(left(), Numbers({59, 600, 1}));
  EXPECT_EQ(settle(81), "");
  EXPECT_EQ(decision_.held, 2);
  EXPECT_EQ(left(), Numbers({59, 919, 2}));
}

// The server settles, and its answer never comes.  Asked again it says that
// there is nothing to settle, and charges nothing twice.
TEST_F(HoldTrouble, TheAnswerToASettlementIsLost) {
  ChaosProxy proxy(server_.port());
  open(proxy.port(), {{"timeout", "5s"}});
  warm_up();
  ASSERT_EQ(reserve(400), "");
  proxy.swallow = true;
  EXPECT_EQ(settle(81), "timeout");
  proxy.swallow = false;
  await_store();
  EXPECT_EQ(left(), Numbers({58, 919, 2}));
  EXPECT_EQ(settle(81), "");
  EXPECT_EQ(decision_.held, 0);
  EXPECT_EQ(left(), Numbers({58, 919, 2}));
}

// The connection breaks instead.
TEST_F(HoldTrouble, TheConnectionBreaksDuringASettlement) {
  ChaosProxy proxy(server_.port());
  open(proxy.port());
  warm_up();
  ASSERT_EQ(reserve(400), "");
  proxy.cut_after = 0;
  EXPECT_EQ(settle(81), "lost");
  proxy.cut_after = -1;
  await_store();
  EXPECT_EQ(settle(500), "");
  EXPECT_EQ(decision_.held, 0);
  EXPECT_EQ(left(), Numbers({58, 919, 2}));
}

// The answer to a reservation is lost: its units stay held, and the caller, who
// has the id, can end that.
TEST_F(HoldTrouble, TheAnswerToAReservationIsLost) {
  ChaosProxy proxy(server_.port());
  open(proxy.port());
  warm_up();
  proxy.cut_after = 0;
  EXPECT_EQ(reserve(400), "lost");
  proxy.cut_after = -1;
  await_store();
  EXPECT_EQ(left(), Numbers({58, 600, 1}));
  EXPECT_EQ(settle(0), "");
  EXPECT_EQ(decision_.held, 2);
  EXPECT_EQ(left(), Numbers({58, 1000, 2}));
}

// A new configuration reaches one process after the other.
TEST_F(HoldTrouble, SomeProcessesDoNotKnowHoldYet) {
  for (const std::string& rule :
       {std::string("period: 100d, unit: tokens"),
        std::string("period: 90d, unit: tokens, algorithm: fixed_window")}) {
    server_.cli({"FLUSHALL"});
    const std::string before =
        "schema: {job: {limits: {count: 1000, " + rule + "}}}";
    const std::string after =
        "schema: {job: {limits: {count: 1000, " + rule + ", hold: 20h}}}";
    open(server_.port(), {}, before);
    ASSERT_EQ(decide(Operation::kAuthorize, 0, 100), "");
    open(server_.port(), {}, after);
    EXPECT_EQ(left(), Numbers({900}));
    ASSERT_EQ(reserve(300), "");
    const HoldId held = id_;
    EXPECT_EQ(left(), Numbers({600}));
    open(server_.port(), {}, before);
    EXPECT_EQ(left(), Numbers({900})) << "knows nothing of what is held";
    ASSERT_EQ(decide(Operation::kAuthorize, 0, 200), "");
    open(server_.port(), {}, after);
    EXPECT_EQ(left(), Numbers({400}));
    EXPECT_EQ(reserve(401), "");
    EXPECT_TRUE(decision_.limited);
    id_ = held;
    EXPECT_EQ(settle(30), "");
    EXPECT_EQ(left(), Numbers({670}));
    open(server_.port(), {}, before);
    EXPECT_EQ(left(), Numbers({670}));
  }
}

struct Substitute {
  const char* value;
  Source source;
  bool limited;
  std::int32_t held;
};

class HoldSubstitute : public HoldTrouble,
                       public testing::WithParamInterface<Substitute> {};

// What was reserved in the store cannot be settled while something else
// decides, nor the other way round.
TEST_P(HoldSubstitute, SettlesNothingOfTheStore) {
  const Substitute& expected = GetParam();
  open(server_.port(), {{"on_store_error", expected.value}});
  await_store();
  ASSERT_EQ(reserve(400), "");
  const HoldId of_store = id_;
  server_.stop();
  EXPECT_EQ(settle(81), "");
  EXPECT_EQ(decision_.held, 0);
  EXPECT_FALSE(decision_.limited);
  EXPECT_EQ(decision_.source, expected.source);
  EXPECT_EQ(extend(), "");
  EXPECT_EQ(decision_.held, 0);

  EXPECT_EQ(reserve(300), "");
  EXPECT_EQ(decision_.limited, expected.limited);
  EXPECT_EQ(decision_.held, expected.held);
  EXPECT_EQ(decision_.source, expected.source);
  const HoldId of_substitute = id_;
  EXPECT_EQ(extend(), "");
  EXPECT_EQ(decision_.held, expected.held);
  EXPECT_EQ(reserve(200), "");
  EXPECT_EQ(settle(5), "");
  EXPECT_EQ(decision_.held, expected.held);
  EXPECT_EQ(settle(5), "");
  EXPECT_EQ(decision_.held, 0);

  server_.start();
  await_store();
  id_ = of_substitute;
  EXPECT_EQ(settle(5), "");
  EXPECT_EQ(decision_.held, 0);
  id_ = of_store;  // its data was not saved
  EXPECT_EQ(settle(5), "");
  EXPECT_EQ(decision_.held, 0);
  EXPECT_EQ(left(), Numbers({60, 1000, 2}));
}

INSTANTIATE_TEST_SUITE_P(
    OnStoreError, HoldSubstitute,
    testing::Values(Substitute{"local", Source::kLocal, false, 2},
                    Substitute{"allow", Source::kAllow, false, 0},
                    Substitute{"deny", Source::kDeny, true, 0}),
    [](const auto& one) { return one.param.value; });

}  // namespace
}  // namespace limitree::hold_trouble_test

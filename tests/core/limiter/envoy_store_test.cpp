// Requests of Envoy, over a store that fails or answers later.

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "core/limiter/envoy_fixture.hpp"

namespace limitree {
namespace {

constexpr std::string_view kTwo =
    "domain: d\n"
    "descriptors:\n"
    "- {key: a, rate_limit: {unit: minute, requests_per_unit: 4}}\n"
    "- {key: b, rate_limit: {unit: hour, requests_per_unit: 8}}\n"
    "- {key: none, rate_limit: {unit: hour}}\n";

class EnvoyStoreTest : public EnvoyTest {
 protected:
  void make_failing(OnStoreError on_error) {
    options.on_store_error = on_error;
    make(kTwo, true);
    store->fail(Code::kStoreTimeout);
  }
};

TEST_F(EnvoyStoreTest, Raises) {
  make_failing(OnStoreError::kRaise);
  EXPECT_EQ(path_cost({"a=1"}), "no luck");
  EXPECT_EQ(path_cost({"c=1"}), "OK: -");
  EXPECT_EQ(tally("d.a").total_hits, 0);
}

TEST_F(EnvoyStoreTest, Allows) {
  make_failing(OnStoreError::kAllow);
  EXPECT_EQ(path_cost({"a=1;hits=9", "b=1;back"}), "OVER: over 0, ok 8");
  EXPECT_EQ(path_cost({"a=1;hits=4"}), "OK: ok 0");
  EXPECT_EQ(path_cost({"a=1;hits=4"}), "OK: ok 0");
  EXPECT_EQ(answer.source, Source::kAllow);
}

TEST_F(EnvoyStoreTest, Denies) {
  make_failing(OnStoreError::kDeny);
  EXPECT_EQ(path_cost({"a=1"}), "OVER: over 0");
  EXPECT_EQ(answer.source, Source::kDeny);
  EXPECT_EQ(answer.statuses[0].outcome.until_reset, GuardedStore::kDenyWait);
}

TEST_F(EnvoyStoreTest, CountsInMemoryByItsShare) {
  options.local_share = {1, 2};
  make_failing(OnStoreError::kLocal);
  EXPECT_EQ(path_cost({"a=1", "b=1"}), "OK: ok 1, ok 3");
  EXPECT_EQ(path_cost({"a=1"}), "OK: ok 0");
  EXPECT_EQ(path_cost({"a=1"}), "OVER: over 0");
  EXPECT_EQ(answer.source, Source::kLocal);
  EXPECT_EQ(answer.statuses[0].requests_per_unit, 4U);
  // A limit of the request has no share.
  EXPECT_EQ(path_cost({"x=1;limit=4/2"}), "OK: ok 3");
}

class Answers final : public Listener {
 public:
  explicit Answers(StoreLoop* loop) : Listener(loop) {}

  void decided(Status, const Decision&, const LevelReports&) noexcept override {
    ADD_FAILURE();
  }
  void answered(Status status, EnvoyAnswer* answer) noexcept override {
    texts.push_back(status.ok() ? text_of(*answer)
                                : status.error().messages.front());
    metadata = answer->metadata;
  }

  std::vector<std::string> texts;
  std::string metadata;
};

class EnvoyLaterTest : public EnvoyTest {
 protected:
  void SetUp() override {
    make(kTwo, true);
    loop = limiter->new_loop();
    answers.emplace(loop.get());
  }

  // "later", or the answer.
  std::string start(const std::vector<std::string>& descriptors) {
    EnvoyRequest request("d", descriptors);
    Status status;
    answer.wants_metadata = true;
    if (!limiter->should_rate_limit_async(request.get(), &answer, &*answers,
                                          &status)) {
      return "later";
    }
    return status.ok() ? text_of(answer) : status.error().messages.front();
  }

  std::unique_ptr<StoreLoop> loop;  // goes before the limiter
  std::optional<Answers> answers;
};

TEST_F(EnvoyLaterTest, AnswersLater) {
  EXPECT_EQ(start({"a=1;hits=3", "b=1"}), "OK: ok 1, ok 7");
  store->answers_later = true;
  EXPECT_EQ(start({"a=1;hits=2", "b=1;back", "none=1"}), "later");
  EXPECT_EQ(store->queue.size(), 2U);
  EXPECT_EQ(start({"b=1;hits=2"}), "later");
  EXPECT_EQ(start({"b=1;back"}), "later");
  EXPECT_TRUE(answers->texts.empty());
  loop->run();
  EXPECT_EQ(answers->texts,
            (std::vector<std::string>{"OVER: over 0, ok 8, over 0", "OK: ok 6",
                                      "OK: ok 7"}));
  EXPECT_EQ(answers->metadata,
            R"({"domain":"d","descriptors":[{"entries":["b=1"]}]})");
  EXPECT_EQ(start({"c=1"}), "OK: -");
  EXPECT_EQ(start({}), "rate limit descriptor list must not be empty");
  EXPECT_EQ(tally("d.a").over_limit, 1);
  EXPECT_EQ(limiter->envoy_stats().totals.service_errors, 1);
}

// In any order, and if only one of both plans fails.
TEST_F(EnvoyLaterTest, OneFailureIsEnough) {
  store->answers_later = true;
  for (const bool first : {true, false}) {
    answers->texts.clear();
    EXPECT_EQ(start({"a=1", "b=1;back"}), "later");
    Pending* const hits = store->take();
    Pending* const refunds = store->take();
    const auto complete = [](Pending* pending, bool fails) {
      if (fails) return pending->complete(Status(Code::kStoreTimeout, "late"));
      MemoryStore memory(100, Clock());
      pending->complete(memory.decide(&pending->plan()));
    };
    complete(refunds, !first);
    EXPECT_TRUE(answers->texts.empty());
    complete(hits, first);
    EXPECT_EQ(answers->texts, std::vector<std::string>{"late"});
  }
  EXPECT_EQ(limiter->envoy_stats().totals.store_errors, 2);
}

// The hits are under way when there is no memory for the second question.
TEST_F(EnvoyLaterTest, HasNoMemoryInBetween) {
  store->answers_later = true;
  store->room = 1;
  EXPECT_EQ(start({"a=1", "b=1;back"}), "later");
  loop->run();
  EXPECT_EQ(answers->texts,
            std::vector<std::string>{"no memory to give hits back"});
  store->room = 0;
  EXPECT_THROW(start({"a=1", "b=1;back"}), std::bad_alloc);
}

TEST_F(EnvoyLaterTest, IsCancelled) {
  store->answers_later = true;
  EXPECT_EQ(start({"a=1", "b=1;back"}), "later");
  loop.reset();
  EXPECT_EQ(answers->texts, std::vector<std::string>{"gone"});
}

}  // namespace
}  // namespace limitree

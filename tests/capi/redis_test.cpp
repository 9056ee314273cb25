// limitree.h over a real Redis, as a C caller uses it: blocking calls, calls
// that do not block, and the release of a limiter.

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "capi/capi_redis.hpp"

namespace redis_test {
namespace {

using namespace limitree::capi_test;

TEST_F(CapiRedis, IsRemote) {
  const char* const kUrls[] = {
      "redis://127.0.0.1:1",       "valkey://127.0.0.1:1",
      "rediss://127.0.0.1:1",      "redis+unix:///nowhere",
      "redis+sentinel://a,b/main", "redis+cluster://a,b"};
  for (const char* const url : kUrls) {
    const auto limiter = limiter_on(url, nullptr);
    EXPECT_EQ(limitree_limiter_is_remote(limiter.get()), 1) << url;
    EXPECT_EQ(limitree_limiter_is_shared(limiter.get()), 1) << url;
  }
  const auto limiter = limiter_on("memory://", nullptr);
  EXPECT_EQ(limitree_limiter_is_remote(limiter.get()), 0);
  EXPECT_EQ(limitree_limiter_is_shared(limiter.get()), 0);
}

TEST_F(CapiRedis, AnswersCallsThatBlockAndCallsThatDoNot) {
  Inbox inbox;
  const Limiter limiter = limiter_on(url(), &inbox);
  limitree_decision decision;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(
        limitree_authorize_action_for_user(limiter.get(), str("alex"),
                                           str("trade"), 1, &decision, nullptr),
        LIMITREE_OK);
    EXPECT_EQ(decision.limited, 0);
    EXPECT_EQ(decision.remaining, 5 - i);
    EXPECT_EQ(decision.source, LIMITREE_SOURCE_STORE);
  }
  for (std::uintptr_t id = 0; id < 10; ++id) {
    ASSERT_EQ(start(limiter.get(), "alex", id, &decision), LIMITREE_PENDING);
  }
  EXPECT_TRUE(inbox.calls.empty()) << "the loop has not run yet";
  run(limiter.get(), inbox, 10);
  ASSERT_EQ(inbox.calls.size(), 10U);
  int limited = 0;
  for (std::uintptr_t id = 0; id < 10; ++id) {
    EXPECT_EQ(inbox.calls[id], 1);
    EXPECT_EQ(inbox.status[id], LIMITREE_OK);
    EXPECT_EQ(inbox.decision[id].level_count, 2);
    limited += inbox.decision[id].limited;
  }
  EXPECT_EQ(limited, 7);
  EXPECT_LE(inbox.batches, 3) << "answers that came together go together";
  // A known denial is answered at once.
  EXPECT_EQ(start(limiter.get(), "alex", 99, &decision), LIMITREE_OK);
  EXPECT_EQ(decision.limited, 1);
  EXPECT_EQ(decision.source, LIMITREE_SOURCE_DENY_CACHE);
}

TEST_F(CapiRedis, SendsAtTheEndOfATurn) {
  Inbox inbox;
  const Limiter limiter = limiter_on(url(), &inbox);
  limitree_loop_set_wakeups(limiter.get(), 0);
  limitree_decision decision;
  for (std::uintptr_t id = 0; id < 10; ++id) {
    ASSERT_EQ(start(limiter.get(), "turn", id, &decision), LIMITREE_PENDING);
  }
  pollfd watched = {limitree_loop_fd(limiter.get()), POLLIN, 0};
  EXPECT_EQ(poll(&watched, 1, 50), 0) << "a started request wakes the loop";
  limitree_loop_run(limiter.get());
  run(limiter.get(), inbox, 10);
  EXPECT_EQ(inbox.calls.size(), 10U);
}

TEST_F(CapiRedis, MayHaveLessTimeThanTheOption) {
  RedisServer hung;
  Inbox inbox;
  const Limiter limiter = limiter_on(url_of(hung), &inbox);
  limitree_decision decision;
  ASSERT_EQ(start(limiter.get(), "alex", 1, &decision), LIMITREE_PENDING);
  run(limiter.get(), inbox, 1);
  hung.suspend();
  ASSERT_EQ(start(limiter.get(), "alex", 2, &decision), LIMITREE_PENDING);
  limitree_loop_set_timeout(limiter.get(), 20'000'000);
  ASSERT_EQ(start(limiter.get(), "alex", 3, &decision), LIMITREE_PENDING);
  run(limiter.get(), inbox, 2);
  EXPECT_EQ(inbox.calls[3], 1);
  EXPECT_EQ(inbox.status[3], LIMITREE_STORE_TIMEOUT);
  EXPECT_EQ(inbox.calls[2], 0);
  hung.resume();
  limitree_loop_set_timeout(limiter.get(), 0);
  ASSERT_EQ(start(limiter.get(), "alex", 4, &decision), LIMITREE_PENDING);
  run(limiter.get(), inbox, 4);
  EXPECT_EQ(inbox.status[2], LIMITREE_OK);
  EXPECT_EQ(inbox.status[4], LIMITREE_OK);
}

TEST_F(CapiRedis, GivesTheVerdictOfEachLevelLater) {
  Inbox inbox;
  const Limiter limiter = limiter_on(url(), &inbox);
  const limitree_str path[] = {{"user", 4}, {"carol", 5}, {"trade", 5}};
  const limitree_path paths[] = {{path, 3, 2, LIMITREE_PART_CHARGE}};
  limitree_level levels[2] = {};
  limitree_decision decision;
  ASSERT_EQ(limitree_decide_async(limiter.get(), LIMITREE_AUTHORIZE, paths, 1,
                                  nullptr, levels, 2, &decision, nullptr),
            LIMITREE_PENDING);
  run(limiter.get(), inbox, 1);
  EXPECT_EQ(levels[0].remaining, 14);
  EXPECT_EQ(levels[1].remaining, 4);
  EXPECT_EQ(std::string(levels[1].policy.data, levels[1].policy.size),
            "user:*/trade");
}

TEST_F(CapiRedis, CancelsWhatIsPendingWhenItIsFreed) {
  RedisServer hung;
  Inbox inbox;
  Limiter limiter = limiter_on(url_of(hung), &inbox);
  limitree_decision decision;
  ASSERT_EQ(start(limiter.get(), "alex", 1, &decision), LIMITREE_PENDING);
  run(limiter.get(), inbox, 1);
  hung.suspend();
  for (std::uintptr_t id = 2; id < 100; ++id) {
    ASSERT_EQ(start(limiter.get(), "alex", id, &decision), LIMITREE_PENDING);
  }
  limiter.reset();
  hung.resume();
  for (std::uintptr_t id = 2; id < 100; ++id) {
    EXPECT_EQ(inbox.calls[id], 1);
    EXPECT_EQ(inbox.status[id], LIMITREE_CANCELLED);
  }
}

TEST_F(CapiRedis, TellsWhyThereIsNoDecision) {
  RedisServer gone;
  const std::string dead = url_of(gone);
  gone.stop();
  Inbox inbox;
  const Limiter limiter = limiter_on(dead, &inbox);
  limitree_decision decision;
  ASSERT_EQ(start(limiter.get(), "alex", 1, &decision), LIMITREE_PENDING);
  run(limiter.get(), inbox, 1);
  EXPECT_EQ(inbox.status[1], LIMITREE_STORE_UNAVAILABLE);
  EXPECT_EQ(inbox.reason[1], "refused");

  limitree_error* error = nullptr;
  EXPECT_EQ(limitree_authorize_action_for_user(
                limiter.get(), str("alex"), str("trade"), 1, &decision, &error),
            LIMITREE_STORE_UNAVAILABLE);
  const std::unique_ptr<limitree_error, Free> owned(error);
  EXPECT_NE(std::string(limitree_error_message(error)).find("127.0.0.1"),
            std::string::npos);
}

TEST_F(CapiRedis, DecidesWithoutTheStoreIfToldTo) {
  RedisServer gone;
  const std::string dead = url_of(gone);
  gone.stop();
  Inbox inbox;
  const Limiter limiter =
      limiter_on(dead, &inbox, {{"on_store_error", "local"}});
  limitree_decision decision;
  for (std::uintptr_t id = 0; id < 8; ++id) {
    const limitree_status status = start(limiter.get(), "alex", id, &decision);
    if (status == LIMITREE_OK) {
      inbox.calls[id] = 1;
      inbox.decision[id] = decision;
    } else {
      run(limiter.get(), inbox, id + 1);
    }
    EXPECT_EQ(inbox.decision[id].limited, id < 6 ? 0 : 1) << id;
    EXPECT_TRUE(inbox.decision[id].source == LIMITREE_SOURCE_LOCAL ||
                inbox.decision[id].source == LIMITREE_SOURCE_DENY_CACHE);
  }
}

TEST_F(CapiRedis, NeedsSomewhereToSendCompletions) {
  const Limiter limiter = limiter_on(url(), nullptr);
  limitree_decision decision;
  limitree_error* error = nullptr;
  EXPECT_EQ(start(limiter.get(), "alex", 1, &decision, &error),
            LIMITREE_INVALID_ARGUMENT);
  const std::unique_ptr<limitree_error, Free> owned(error);
  EXPECT_STREQ(limitree_error_message(error),
               "this store needs limitree_config_set_completion");
}

// A child has its own connections: both processes work, and share the buckets.
TEST_F(CapiRedis, GoesOnInTheChildOfAFork) {
  Inbox inbox;
  const Limiter limiter = limiter_on(url(), &inbox);
  limitree_decision decision;
  ASSERT_EQ(start(limiter.get(), "bob", 1, &decision), LIMITREE_PENDING);
  const auto trade = [&] {
    const limitree_status status = limitree_authorize_action_for_user(
        limiter.get(), str("bob"), str("trade"), 1, &decision, nullptr);
    return status == LIMITREE_OK && decision.limited == 0;
  };
  EXPECT_TRUE(trade());
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    alarm(20);
    const bool good = trade() && trade();
    _exit(good && limitree_loop_fd(limiter.get()) >= 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  run(limiter.get(), inbox, 1);
  EXPECT_EQ(inbox.status[1], LIMITREE_OK) << "pending across the fork";
  EXPECT_TRUE(trade());
  EXPECT_EQ(decision.remaining, 1) << "two here, two there, and this one";
}

}  // namespace
}  // namespace redis_test

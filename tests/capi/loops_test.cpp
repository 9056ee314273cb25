// Several event loops over one limiter: limitree_limiter_new_loop, on one
// thread.

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capi/capi_redis.hpp"

namespace loops_test {
namespace {

using namespace limitree::capi_test;

using CapiLoops = CapiRedis;

TEST_F(CapiLoops, EachCompletesItsOwnCalls) {
  Inbox first;
  Inbox second;
  const Limiter limiter = limiter_on(url(), &first);
  const Limiter other = new_loop(limiter, &second);
  EXPECT_NE(limitree_loop_fd(limiter.get()), limitree_loop_fd(other.get()));
  limitree_decision decision;
  for (std::uintptr_t id = 0; id < 10; ++id) {
    limitree_limiter* const on = id % 2 == 0 ? limiter.get() : other.get();
    ASSERT_EQ(start(on, "alex", id, &decision), LIMITREE_PENDING);
  }
  run(other.get(), second, 5);
  ASSERT_EQ(second.calls.size(), 5U);
  EXPECT_TRUE(first.calls.empty()) << "that loop has not run yet";
  run(limiter.get(), first, 5);
  ASSERT_EQ(first.calls.size(), 5U);
  int limited = 0;
  for (std::uintptr_t id = 0; id < 10; ++id) {
    Inbox& inbox = id % 2 == 0 ? first : second;
    EXPECT_EQ(inbox.calls[id], 1);
    EXPECT_EQ(inbox.status[id], LIMITREE_OK);
    limited += inbox.decision[id].limited;
  }
  EXPECT_EQ(limited, 4) << "one bucket for both";
  EXPECT_EQ(stats_of(limiter)["connects"], 2);
}

TEST_F(CapiLoops, ShareAllElse) {
  Inbox inbox;
  const Limiter limiter = limiter_on(url(), &inbox);
  const Limiter other = new_loop(limiter, &inbox);
  limitree_decision decision;
  // A denial that one loop has learnt is known to the other.
  for (std::uintptr_t id = 0; id < 7; ++id) {
    ASSERT_EQ(start(limiter.get(), "bob", id, &decision), LIMITREE_PENDING);
  }
  run(limiter.get(), inbox, 7);
  EXPECT_EQ(start(other.get(), "bob", 7, &decision), LIMITREE_OK);
  EXPECT_EQ(decision.source, LIMITREE_SOURCE_DENY_CACHE);
  EXPECT_EQ(stats_of(other)["allowed"], 6);
  EXPECT_EQ(stats_of(limiter)["limited"], 2);
  EXPECT_EQ(stats_of(limiter)["from_deny_cache"], 1);
  // One tree.
  reload(limiter, "schema: {user: {children: {'*': {limits: 77/hour}}}}");
  ASSERT_EQ(start(other.get(), "bob", 8, &decision), LIMITREE_PENDING);
  run(other.get(), inbox, 8);
  EXPECT_EQ(inbox.decision[8].limit, 77);
  EXPECT_EQ(stats_of(other)["reloads"], 1);
}

TEST_F(CapiLoops, ResetWithoutBlocking) {
  Inbox inbox;
  const Limiter limiter = limiter_on(url(), &inbox);
  const Limiter other = new_loop(limiter, &inbox);
  const limitree_str path[] = {{"user", 4}, {"carol", 5}, {"trade", 5}};
  limitree_decision decision;
  ASSERT_EQ(limitree_spend(limiter.get(), path, 3, 9, &decision, nullptr), 0);
  void* const id = reinterpret_cast<void*>(std::uintptr_t{1});
  ASSERT_EQ(limitree_reset_async(other.get(), path, 3, 1, id, nullptr),
            LIMITREE_PENDING);
  run(other.get(), inbox, 1);
  EXPECT_EQ(inbox.status[1], LIMITREE_OK);
  ASSERT_EQ(limitree_peek(limiter.get(), path, 3, 0, &decision, nullptr), 0);
  EXPECT_EQ(decision.remaining, 6) << "the trades";
  ASSERT_EQ(limitree_reset_async(other.get(), path, 3, 0, nullptr, nullptr),
            LIMITREE_PENDING);
  run(other.get(), inbox, 2);
  EXPECT_EQ(inbox.status[0], LIMITREE_OK);
  limitree_level levels[2] = {};
  const limitree_path paths[] = {{path, 3, 0, LIMITREE_PART_CHARGE}};
  ASSERT_EQ(limitree_decide(limiter.get(), LIMITREE_PEEK, paths, 1, levels, 2,
                            &decision, nullptr),
            0);
  EXPECT_EQ(levels[0].remaining, 16);
  EXPECT_EQ(levels[1].remaining, 6);
}

TEST_F(CapiLoops, ResetTellsAtOnceWhatIsWrong) {
  Inbox inbox;
  Limiter limiter = limiter_on(url(), &inbox);
  const limitree_str path[] = {{"nobody", 6}};
  const limitree_str broken[] = {{nullptr, 1}};
  EXPECT_EQ(limitree_reset_async(limiter.get(), path, 1, 0, nullptr, nullptr),
            LIMITREE_UNKNOWN_ROOT);
  EXPECT_EQ(limitree_reset_async(limiter.get(), broken, 1, 0, nullptr, nullptr),
            LIMITREE_INVALID_ARGUMENT);
  EXPECT_TRUE(inbox.calls.empty());
  const Limiter deaf = limiter_on(url(), nullptr);
  const limitree_str good[] = {{"user", 4}, {"carol", 5}};
  EXPECT_EQ(limitree_reset_async(deaf.get(), good, 2, 0, nullptr, nullptr),
            LIMITREE_INVALID_ARGUMENT);
  // Freed while it is pending.
  void* const id = reinterpret_cast<void*>(std::uintptr_t{1});
  ASSERT_EQ(limitree_reset_async(limiter.get(), good, 2, 0, id, nullptr),
            LIMITREE_PENDING);
  limiter.reset();
  EXPECT_EQ(inbox.status[1], LIMITREE_CANCELLED);
}

TEST_F(CapiLoops, WakeOnlyTheirOwnHost) {
  Inbox inbox;
  const Limiter limiter = limiter_on(url(), &inbox);
  const Limiter other = new_loop(limiter, &inbox);
  limitree_loop_set_wakeups(other.get(), 0);
  limitree_decision decision;
  pollfd watched = {limitree_loop_fd(limiter.get()), POLLIN, 0};
  pollfd quiet = {limitree_loop_fd(other.get()), POLLIN, 0};
  ASSERT_EQ(start(other.get(), "turn", 0, &decision), LIMITREE_PENDING);
  EXPECT_EQ(poll(&quiet, 1, 20), 0);
  ASSERT_EQ(start(limiter.get(), "turn", 1, &decision), LIMITREE_PENDING);
  EXPECT_EQ(poll(&watched, 1, 1000), 1);
  EXPECT_EQ(poll(&quiet, 1, 20), 0);
  limitree_loop_run(other.get());
  run(other.get(), inbox, 1);
  run(limiter.get(), inbox, 2);
  EXPECT_EQ(inbox.calls.size(), 2U);
}

TEST_F(CapiLoops, FreeingOneCancelsItsCallsOnly) {
  RedisServer hung;
  Inbox kept;
  Inbox gone;
  const Limiter limiter = limiter_on(url_of(hung), &kept);
  Limiter other = new_loop(limiter, &gone);
  limitree_decision decision;
  ASSERT_EQ(start(limiter.get(), "alex", 0, &decision), LIMITREE_PENDING);
  ASSERT_EQ(start(other.get(), "alex", 0, &decision), LIMITREE_PENDING);
  run(limiter.get(), kept, 1);
  run(other.get(), gone, 1);
  hung.suspend();
  for (std::uintptr_t id = 1; id < 50; ++id) {
    ASSERT_EQ(start(limiter.get(), "alex", id, &decision), LIMITREE_PENDING);
    ASSERT_EQ(start(other.get(), "alex", id, &decision), LIMITREE_PENDING);
  }
  limitree_loop_run(other.get());  // sends some, and keeps others
  ASSERT_EQ(start(other.get(), "alex", 50, &decision), LIMITREE_PENDING);
  other.reset();
  EXPECT_EQ(kept.calls.size(), 1U);
  hung.resume();
  for (std::uintptr_t id = 1; id <= 50; ++id) {
    EXPECT_EQ(gone.calls[id], 1);
    EXPECT_EQ(gone.status[id], LIMITREE_CANCELLED);
    EXPECT_EQ(gone.reason[id], "");
  }
  run(limiter.get(), kept, 50);
  ASSERT_EQ(kept.calls.size(), 50U);
  for (const auto& [id, status] : kept.status) {
    EXPECT_EQ(status, LIMITREE_OK) << id;
  }
  EXPECT_EQ(stats_of(limiter)["errors"], 50);
}

TEST_F(CapiLoops, GoOnInBothProcessesAfterFork) {
  Inbox inboxes[2];
  const Limiter limiter = limiter_on(url(), &inboxes[0]);
  const Limiter other = new_loop(limiter, &inboxes[1]);
  limitree_limiter* const handles[] = {limiter.get(), other.get()};
  limitree_decision decision;
  for (limitree_limiter* const handle : handles) {
    ASSERT_EQ(start(handle, "sent", 1, &decision), LIMITREE_PENDING);
    limitree_loop_run(handle);
    ASSERT_EQ(start(handle, "started", 2, &decision), LIMITREE_PENDING);
  }
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    alarm(20);
    bool good = true;
    for (int i = 0; i < 2; ++i) {
      start(handles[i], "child", 3, &decision);
      run(handles[i], inboxes[i], 1);
      good = good && inboxes[i].calls.size() == 1 &&
             inboxes[i].status[3] == LIMITREE_OK;
    }
    _exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  for (int i = 0; i < 2; ++i) {
    run(handles[i], inboxes[i], 2);
    EXPECT_EQ(inboxes[i].status[1], LIMITREE_OK);
    EXPECT_EQ(inboxes[i].status[2], LIMITREE_OK);
  }
}

// The handle that came first is a handle like the others.
TEST_F(CapiLoops, LimiterLivesUntilItsLastHandleIsFreed) {
  static int released = 0;
  released = 0;
  Inbox of_config;
  Inbox inbox;
  limitree_config* const config = limitree_config_new();
  ASSERT_EQ(limitree_config_set_limits(config, str(kLimits), str("limits.yaml"),
                                       nullptr),
            0);
  ASSERT_EQ(limitree_config_set(config, "store", str(url()), nullptr), 0);
  ASSERT_EQ(
      limitree_config_set_completion(
          config, Inbox::put, &of_config, [](void*) { ++released; }, nullptr),
      0);
  limitree_limiter* first = nullptr;
  ASSERT_EQ(limitree_limiter_new(config, &first, nullptr), 0);
  limitree_config_free(config);
  Limiter limiter(first);
  Limiter other = new_loop(limiter, &inbox);
  limitree_decision decision;
  ASSERT_EQ(start(limiter.get(), "alex", 1, &decision), LIMITREE_PENDING);
  ASSERT_EQ(start(other.get(), "alex", 2, &decision), LIMITREE_PENDING);
  limiter.reset();
  EXPECT_EQ(of_config.status[1], LIMITREE_CANCELLED);
  EXPECT_EQ(released, 0);
  run(other.get(), inbox, 1);
  EXPECT_EQ(inbox.status[2], LIMITREE_OK);
  const Limiter third = new_loop(other, &inbox);
  other.reset();
  ASSERT_EQ(start(third.get(), "alex", 3, &decision), LIMITREE_PENDING);
  run(third.get(), inbox, 2);
  EXPECT_EQ(inbox.decision[3].remaining, 4);
  EXPECT_EQ(released, 0);
}

// Tries each call again that did not succeed.
struct Stubborn {
  static void put(const limitree_completion* completions, size_t count,
                  void* stubborn) {
    auto* const self = static_cast<Stubborn*>(stubborn);
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(completions[i].status, LIMITREE_CANCELLED);
      ++self->cancelled;
      limitree_decision decision;
      const limitree_str path[] = {{"user", 4}, {"alex", 4}};
      limitree_error* error = nullptr;
      const limitree_status status = limitree_authorize_async(
          self->limiter, path, 2, 1, nullptr, &decision, &error);
      EXPECT_EQ(status, LIMITREE_CANCELLED);
      EXPECT_STREQ(limitree_error_message(error), "the handle is being freed");
      limitree_error_free(error);
      EXPECT_EQ(limitree_loop_fd(self->limiter), -1);
      limitree_loop_set_wakeups(self->limiter, 1);
      limitree_loop_run(self->limiter);
    }
  }

  limitree_limiter* limiter = nullptr;
  int cancelled = 0;
};

TEST_F(CapiLoops, NothingIsStartedWhileAHandleIsFreed) {
  Stubborn stubborn;
  Limiter limiter = limiter_on(url(), Stubborn::put, &stubborn, {});
  stubborn.limiter = limiter.get();
  limitree_decision decision;
  for (std::uintptr_t id = 0; id < 100; ++id) {
    ASSERT_EQ(start(limiter.get(), "alex", id, &decision), LIMITREE_PENDING);
  }
  limitree_limiter_free(limiter.release());
  EXPECT_EQ(stubborn.cancelled, 100);
}

TEST_F(CapiLoops, NeedSomewhereToSendCompletions) {
  Inbox inbox;
  const Limiter limiter = limiter_on(url(), nullptr);
  const Limiter other = new_loop(limiter, &inbox);
  limitree_decision decision;
  EXPECT_EQ(start(other.get(), "alex", 1, &decision),
            LIMITREE_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace loops_test

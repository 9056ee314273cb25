#include "store/remote/drivers/loop.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>
#include <set>
#include <stdexcept>

#include "core/store/redis/chaos_proxy.hpp"
#include "core/store/redis/drive_cases.hpp"
#include "core/store/redis/redis_server.hpp"
#include "store/redis/common/remote.hpp"

namespace limitree::redis {
namespace {

using Fate = Outcome::Fate;

class Call final : public AsyncTask {
 public:
  explicit Call(const std::string& text, Target to = {})
      : echo(text, std::move(to)) {}
  Task* task() override { return &echo; }

  EchoTask echo;
};

// An event loop with nothing else to watch.
struct Host {
  explicit Host(int port, Duration timeout = 5s)
      : settings(settings_for(timeout)),
        router(settings, &traffic, local(port)),
        loop(std::make_unique<Loop>(
            &router, settings,
            [this](std::span<std::unique_ptr<AsyncTask>> batch) {
              take(batch);
            })) {}

  void take(std::span<std::unique_ptr<AsyncTask>> batch) {
    ++batches;
    for (std::unique_ptr<AsyncTask>& task : batch) {
      finished.emplace_back(static_cast<Call*>(task.release()));
      if (on_finish) on_finish(*finished.back());
    }
  }

  Call* start(const std::string& text) { return start(text, {}); }

  Call* start(const std::string& text, std::vector<Duration> pauses,
              Target to = {}) {
    auto call = std::make_unique<Call>(text, std::move(to));
    Call* const started = call.get();
    call->echo.pauses = std::move(pauses);
    loop->start(std::move(call), settings.timeout);
    return started;
  }

  // Waits for the descriptor once, for `wait_ms` at most.
  void turn(int wait_ms) {
    pollfd watched{loop->fd(), POLLIN, 0};
    if (poll(&watched, 1, wait_ms) > 0) loop->run();
  }

  // Runs until `count` tasks have finished in total.
  bool run_until(std::size_t count, Duration limit = 10s) {
    for (const Monotonic end = now() + limit; now() < end;) {
      if (finished.size() >= count) return true;
      turn(10);
    }
    return false;
  }

  // Makes one call.  Returns whether it gets the right answer.
  bool answers(const std::string& text) {
    const std::size_t before = finished.size();
    start(text);
    return run_until(before + 1) && finished.back()->echo.right();
  }

  int right() const {
    int count = 0;
    for (const auto& call : finished) {
      count += call->status.ok() && call->echo.right() ? 1 : 0;
    }
    return count;
  }

  const Settings settings;
  Traffic traffic;
  FakeRouter router;
  int batches = 0;
  std::vector<std::unique_ptr<Call>> finished;
  std::function<void(Call&)> on_finish;
  std::unique_ptr<Loop> loop;
};

TEST(Loop, OpensNothingBeforeItIsUsed) {
  const RedisServer server;
  const int before = open_descriptors();
  {
    Host host(server.port());
    host.loop->run();
    EXPECT_EQ(open_descriptors(), before);
    EXPECT_GE(host.loop->fd(), 0);
    EXPECT_TRUE(host.answers("a"));
    EXPECT_EQ(host.traffic.connects, 1);
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Loop, GivesEachItsOwnAnswer) {
  const RedisServer server;
  Host host(server.port());
  for (int i = 0; i < 3000; ++i) host.start(std::to_string(i));
  ASSERT_TRUE(host.run_until(3000));
  EXPECT_EQ(host.right(), 3000);
  std::set<std::string> texts;
  for (const auto& call : host.finished) texts.insert(call->echo.sent);
  EXPECT_EQ(texts.size(), 3000u);
  EXPECT_EQ(host.traffic.connects, 1);
}

TEST(Loop, HandsOverInBatches) {
  const RedisServer server;
  Host host(server.port());
  ASSERT_TRUE(host.answers("warm"));
  host.batches = 0;
  for (int i = 0; i < 200; ++i) host.start(std::to_string(i));
  ASSERT_TRUE(host.run_until(201));
  EXPECT_EQ(host.right(), 201);
  EXPECT_LT(host.batches, 100);
}

// All calls started in one turn go out in one write.  The server then reads
// them together, as its counter of reads shows.
TEST(Loop, WritesOnceForOneTurn) {
  const RedisServer server;
  Host host(server.port());
  ASSERT_TRUE(host.answers("warm"));
  const auto reads = [&] {
    const std::string info = server.cli({"INFO", "stats"});
    const std::size_t at = info.find("total_reads_processed:");
    return std::stoi(info.substr(at + 22));
  };
  const int before = reads();
  for (int i = 0; i < 100; ++i) host.start(std::to_string(i));
  ASSERT_TRUE(host.run_until(101));
  EXPECT_LE(reads() - before, 8);
}

// More connections than a poll tells of, which all become ready to be written
// to: each address of the loopback network is a server.
TEST(Loop, ConnectsToManyServersAtOnce) {
  const RedisServer server({.config = {"bind 0.0.0.0", "protected-mode no"}});
  Host host(server.port(), 20s);
  for (int i = 1; i <= 200; ++i) {
    Endpoint one = local(server.port());
    one.host = "127.0.0." + std::to_string(i);
    host.start(one.host, {}, {.endpoint = std::move(one)});
  }
  ASSERT_TRUE(host.run_until(200, 20s));
  EXPECT_EQ(host.right(), 200);
}

TEST(Loop, StartsFromWithinTheAnswer) {
  const RedisServer server;
  Host host(server.port());
  int left = 500;
  host.on_finish = [&](Call& call) {
    EXPECT_TRUE(call.echo.right());
    if (left-- > 0) host.start(std::to_string(left));
  };
  for (int i = 0; i < 10; ++i) host.start("first" + std::to_string(i));
  ASSERT_TRUE(host.run_until(510));
  EXPECT_EQ(host.right(), 510);
}

TEST(Loop, StartsFromAnyThread) {
  const RedisServer server;
  Host host(server.port());
  std::thread starters([&] {
    on_threads(4, [&](int thread) {
      for (int i = 0; i < 500; ++i) {
        host.start(std::to_string(thread) + ":" + std::to_string(i));
      }
    });
  });
  EXPECT_TRUE(host.run_until(2000));
  starters.join();
  EXPECT_EQ(host.right(), 2000);
}

TEST(Loop, Pauses) {
  const RedisServer server;
  Host host(server.port());
  const Monotonic start = now();
  host.start("long", {20ms, 20ms});
  host.start("short", {10ms});
  host.start("none");
  ASSERT_TRUE(host.run_until(3));
  EXPECT_GE(now() - start, 40ms);
  EXPECT_EQ(host.right(), 3);
  EXPECT_EQ(host.finished[0]->echo.sent, "none");
  EXPECT_EQ(host.finished[1]->echo.sent, "short");
}

TEST(Loop, APauseEndsWithTheDeadline) {
  const RedisServer server;
  Host host(server.port(), 50ms);
  const Stopwatch watch;
  host.start("a", {10s});
  ASSERT_TRUE(host.run_until(1));
  EXPECT_LE(watch.time(), 50ms + kGrace);
  EXPECT_EQ(host.finished[0]->echo.outcome.failure, Failure::kTimeout);
  EXPECT_EQ(host.finished[0]->echo.outcome.fate, Fate::kNotSent);
}

// ---- a host that is busy ----------------------------------------------------

// However long the host pauses, no call to a healthy server fails: neither one
// that was not sent yet, nor one whose answer was not read yet.
class LoopPauses : public testing::TestWithParam<std::pair<int, Duration>> {};

TEST_P(LoopPauses, CostNobodyAnAnswer) {
  const auto [count, pause] = GetParam();
  const RedisServer server;
  // The server answers in this time even beside busy neighbours.
  Host host(server.port(), 450ms);
  ASSERT_TRUE(soon([&] { return host.answers("warm"); }));
  const auto before = static_cast<int>(host.finished.size());
  const int right = host.right();
  for (int i = 0; i < 3; ++i) {
    for (int n = 0; n < count; ++n) host.start(std::to_string(n));
    if (i == 1) host.loop->run();  // now they are sent
    std::this_thread::sleep_for(pause);
  }
  ASSERT_TRUE(host.run_until(static_cast<std::size_t>(before + 3 * count)));
  EXPECT_EQ(host.right() - right, 3 * count);
}

INSTANTIATE_TEST_SUITE_P(Loop, LoopPauses,
                         testing::Values(std::pair(10, 200ms),
                                         std::pair(10, 500ms),
                                         std::pair(1000, 200ms),
                                         std::pair(1000, 500ms)),
                         [](const auto& of) {
                           return std::to_string(of.param.first) + "CallsOf" +
                                  std::to_string(of.param.second / 1ms) + "Ms";
                         });

// Calls finish even if the host does little but pause, there is no connection
// at first, and each call takes several steps.
TEST(Loop, GetsThereThroughOnePauseAfterAnother) {
  const RedisServer server;
  Host host(server.port(), 500ms);
  for (int i = 0; i < 10; ++i) host.start("a", {1ms, 1ms});
  for (int i = 0; i < 40 && host.finished.size() < 10; ++i) {
    std::this_thread::sleep_for(60ms);
    host.turn(0);
  }
  EXPECT_EQ(host.right(), 10);
}

// A pause of the host is no evidence against the server, and does not count as
// silence of the server.
TEST(Loop, APauseOpensNoCircuit) {
  RedisServer server;
  Host host(server.port(), 500ms);
  ASSERT_TRUE(soon([&] { return host.answers("warm"); }));
  server.suspend();
  for (int i = 0; i < 100; ++i) host.start("a");
  host.loop->run();
  std::this_thread::sleep_for(5 * host.settings.timeout);
  host.turn(0);
  EXPECT_EQ(host.finished.size(), 1u);
  EXPECT_FALSE(host.router.node()->health().open());
  server.resume();
  ASSERT_TRUE(host.run_until(101));
  EXPECT_EQ(host.right(), 101);
}

// Deadlines hold while the host keeps running the loop, however often it does
// that and for whatever reason.
TEST(Loop, AHostThatRunsKeepsDeadlines) {
  RedisServer server;
  Host host(server.port(), 100ms);
  ASSERT_TRUE(soon([&] { return host.answers("warm"); }));
  server.suspend();
  host.start("a");
  const Stopwatch watch;
  const Monotonic start = now();
  while (host.finished.size() < 2 && now() < start + 10s) {
    std::this_thread::sleep_for(3ms);
    host.loop->run();
  }
  EXPECT_GE(now() - start, 100ms);
  EXPECT_LE(watch.time(), 100ms + 3 * kGrace);
  EXPECT_EQ(host.finished.back()->echo.outcome.failure, Failure::kTimeout);
}

// A call that finds no memory at its end holds up neither the others nor itself
// for long.
TEST(Loop, EveryCallEndsThoughMemoryRunsOut) {
  RedisServer server;
  Host host(server.port(), 100ms);
  ASSERT_TRUE(soon([&] { return host.answers("warm"); }));
  server.suspend();
  const std::size_t before = host.finished.size();
  for (int i = 0; i < 20; ++i) {
    EchoTask& echo = host.start("a")->echo;
    echo.starved = i % 7 == 0;
    echo.starts_starved = i % 7 == 1;
  }
  int thrown = 0;
  for (const Monotonic end = now() + 10s;
       host.finished.size() < before + 20 && now() < end;) {
    try {
      host.turn(1000);  // it is the loop that has to wake its host
    } catch (const std::bad_alloc&) {
      ++thrown;
    }
  }
  EXPECT_EQ(host.finished.size(), before + 20);
  EXPECT_EQ(thrown, 6);
}

// Hosts whose callers have less time than the store's timeout.
TEST(Loop, MayGiveCallsLessTime) {
  RedisServer server;
  Host host(server.port(), 60s);
  ASSERT_TRUE(host.answers("warm"));
  server.suspend();
  host.loop->set_time_limit(50ms);
  const Monotonic start = now();
  host.start("a");
  ASSERT_TRUE(host.run_until(2));
  EXPECT_GE(now() - start, 50ms);
  EXPECT_EQ(host.finished.back()->echo.outcome.failure, Failure::kTimeout);
  // Deadlines need not come in the order of their calls.
  host.loop->set_time_limit(Duration::max());
  host.start("patient");
  host.loop->set_time_limit(50ms);
  host.start("b");
  ASSERT_TRUE(host.run_until(3));
  EXPECT_EQ(host.finished.back()->echo.sent, "b");
  server.resume();
  ASSERT_TRUE(host.run_until(4));
  EXPECT_EQ(host.right(), 2);
}

TEST(Loop, SendsAtOnceWhatIsStartedForAnAnswer) {
  const RedisServer server;
  Host host(server.port());
  host.on_finish = [&](Call&) {
    if (host.finished.size() == 1) host.start("b");
  };
  ASSERT_TRUE(host.answers("a"));
  // The host does not run the loop again.
  EXPECT_TRUE(soon([&] {
    const std::string counts = server.cli({"INFO", "commandstats"});
    return counts.find("cmdstat_echo:calls=2,") != std::string::npos;
  }));
  EXPECT_TRUE(host.run_until(2));
  EXPECT_EQ(host.right(), 2);
  // Later calls wake the host as before.
  EXPECT_TRUE(host.answers("c"));
}

// What it starts is not forgotten either.
TEST(Loop, GoesOnAfterAnExceptionOfItsHost) {
  const RedisServer server;
  Host host(server.port());
  host.on_finish = [&](Call&) {
    if (host.finished.size() > 1) return;
    host.start("b");
    throw std::runtime_error("of the host");
  };
  host.start("a");
  const auto run = [&] { host.run_until(1); };
  EXPECT_THROW(run(), std::runtime_error);
  EXPECT_TRUE(host.run_until(2));
  EXPECT_TRUE(host.answers("c"));
}

// ---- the end of a turn ------------------------------------------------------

TEST(Loop, DoesNotWakeAHostThatRunsItAtTheEndOfATurn) {
  const RedisServer server;
  EXPECT_TRUE(soon([&] {  // on a slow machine the timer may be due
    Host host(server.port());
    EXPECT_TRUE(host.answers("warm"));
    host.loop->set_wakeups(false);
    host.start("a");
    pollfd watched{host.loop->fd(), POLLIN, 0};
    const bool woken = poll(&watched, 1, 0) != 0;
    host.loop->run();
    EXPECT_TRUE(host.run_until(2));
    return !woken;
  }));
}

TEST(Loop, SendsAtTheEndOfATurn) {
  RedisServer server;
  Host host(server.port());
  ASSERT_TRUE(host.answers("warm"));
  server.suspend();
  pollfd watched{host.loop->fd(), POLLIN, 0};
  host.loop->set_wakeups(false);
  for (int i = 0; i < 10; ++i) host.start("a");
  EXPECT_TRUE(soon([&] {  // on a slow machine the timer may be due
    host.loop->run();
    return poll(&watched, 1, 0) == 0;
  }));
  server.resume();
  EXPECT_TRUE(soon([&] {
    const std::string counts = server.cli({"INFO", "commandstats"});
    return counts.find("cmdstat_echo:calls=11,") != std::string::npos;
  }));
  ASSERT_TRUE(host.run_until(11));
  EXPECT_EQ(host.right(), 11);
  // Calls that wait when wake-ups are turned on again are not forgotten.
  host.start("b");
  host.loop->set_wakeups(true);
  EXPECT_EQ(poll(&watched, 1, 0), 1);
  ASSERT_TRUE(host.run_until(12));
}

// ---- discovery --------------------------------------------------------------

TEST(Loop, FindsOutOnceForAll) {
  const RedisServer server;
  Host host(server.port());
  host.router.known = false;
  for (int i = 0; i < 50; ++i) host.start(std::to_string(i));
  ASSERT_TRUE(host.run_until(50));
  EXPECT_EQ(host.right(), 50);
  EXPECT_EQ(host.router.discoveries, 1);
}

TEST(Loop, TellsWhyNoServerIsKnown) {
  const RedisServer server;
  Host host(server.port());
  host.router.known = false;
  host.router.finds = false;
  host.start("a");
  ASSERT_TRUE(host.run_until(1));
  EXPECT_EQ(host.finished[0]->echo.outcome.failure, Failure::kMasterDown);
  host.router.no_discovery = true;
  host.start("b");
  ASSERT_TRUE(host.run_until(2));
  EXPECT_EQ(host.finished[1]->echo.outcome.failure, Failure::kMasterDown);
}

TEST(Loop, KeepsDeadlinesWhileFindingOut) {
  RedisServer server;
  Host host(server.port(), 100ms);
  host.router.known = false;
  server.suspend();
  const Stopwatch watch;
  for (int i = 0; i < 50; ++i) host.start(std::to_string(i));
  ASSERT_TRUE(host.run_until(50));
  EXPECT_LE(watch.time(), 100ms + kGrace);
  EXPECT_EQ(host.right(), 0);
  server.resume();
  EXPECT_TRUE(soon([&] { return host.answers("b"); }));
}

TEST(Loop, AServerThatHangsLeavesTimeToAskAnother) {
  const RedisServer server;
  ChaosProxy hangs(server.port());
  hangs.swallow = true;
  Host host(server.port(), kSanitized ? 2000ms : 1000ms);
  host.router.known = false;
  host.router.asked_first = local(hangs.port());
  EXPECT_TRUE(host.answers("a"));
}

TEST(Loop, RoutesAgainWhatWasNotSent) {
  const FreePort port;
  Host host(port.number());
  host.router.learns = true;
  host.start("a");
  ASSERT_TRUE(host.run_until(1));
  EXPECT_EQ(host.finished[0]->echo.outcome.fate, Fate::kNotSent);
  EXPECT_EQ(host.router.lessons, 6);
}

TEST(Loop, ChecksNowAndThen) {
  const RedisServer server;
  Host host(server.port());
  host.router.check = true;
  ASSERT_TRUE(host.answers("a"));
  EXPECT_TRUE(soon([&] {
    EXPECT_TRUE(host.answers("b"));
    return host.router.checks == 1;
  }));
}

// ---- failure ----------------------------------------------------------------

TEST(Loop, GivesUpAtOnceWhereNobodyListens) {
  const FreePort port;
  Host host(port.number());
  for (int i = 0; i < 10; ++i) {
    const Monotonic start = now();
    host.start(std::to_string(i));
    ASSERT_TRUE(host.run_until(static_cast<std::size_t>(i) + 1));
    EXPECT_LE(now() - start, 1s);
    const Outcome& outcome = host.finished.back()->echo.outcome;
    EXPECT_EQ(outcome.fate, Fate::kNotSent);
    if (i < 3) {
      EXPECT_EQ(outcome.failure, Failure::kRefused);
    }
  }
  EXPECT_GT(host.traffic.failures[static_cast<int>(Failure::kBackoff)], 0);
}

TEST(Loop, KeepsDeadlinesWhileTheServerHangs) {
  RedisServer server;
  Host host(server.port(), 50ms);
  ASSERT_TRUE(soon([&] { return host.answers("a"); }));
  server.suspend();
  const std::size_t before = host.finished.size();
  const Stopwatch watch;
  for (int i = 0; i < 200; ++i) host.start("lost" + std::to_string(i));
  ASSERT_TRUE(host.run_until(before + 200));
  EXPECT_LE(watch.time(), 50ms + kGrace);
  for (std::size_t i = before; i < host.finished.size(); ++i) {
    EXPECT_EQ(host.finished[i]->echo.outcome.fate, Fate::kUnknown);
    EXPECT_EQ(host.finished[i]->echo.outcome.failure, Failure::kTimeout);
  }
  server.resume();
  // Late answers are dropped.  Later calls get their own answers.
  EXPECT_TRUE(soon([&] { return host.answers("back"); }));
  for (int i = 0, right = 0; right < 100; ++i) {
    if (host.answers(std::to_string(i))) {
      ++right;
    } else {  // the machine stands still
      ASSERT_NE(host.finished.back()->echo.outcome.fate, Fate::kAnswered);
    }
  }
}

TEST(Loop, KeepsItsDeadlineWhileConnecting) {
  const RedisServer server;
  ChaosProxy proxy(server.port());
  proxy.swallow = true;
  Host host(proxy.port(), 50ms);
  const Stopwatch watch;
  host.start("a");
  ASSERT_TRUE(host.run_until(1));
  EXPECT_LE(watch.time(), 50ms + kGrace);
  EXPECT_EQ(host.finished[0]->echo.outcome.fate, Fate::kNotSent);
  EXPECT_EQ(host.finished[0]->echo.outcome.failure, Failure::kTimeout);
  proxy.swallow = false;
  EXPECT_TRUE(soon([&] { return host.answers("b"); }));
}

// The attempt continues without its caller, and without another call.
TEST(Loop, AnAttemptToConnectOutlivesItsCallers) {
  const RedisServer server;
  ChaosProxy proxy(server.port());
  proxy.swallow = true;
  Host host(proxy.port(), 50ms);
  host.start("a");
  ASSERT_TRUE(host.run_until(1));
  EXPECT_EQ(host.finished[0]->echo.outcome.detail,
            "no connection in time: no answer to the login");
  EXPECT_EQ(host.traffic.connects, 0);
  proxy.swallow = false;
  EXPECT_TRUE(soon([&] {
    host.turn(1);
    return host.traffic.connects == 1;
  }));
}

TEST(Loop, AReplyThatMakesNoSenseIsEvidence) {
  const RedisServer server;
  Host host(server.port());
  for (std::size_t i = 1; i <= Health::kFailuresToOpen; ++i) {
    EXPECT_FALSE(host.router.node()->health().open());
    host.start("a")->echo.picky = true;
    ASSERT_TRUE(host.run_until(i));
    EXPECT_EQ(host.finished.back()->echo.outcome.failure, Failure::kNoDecision);
  }
  EXPECT_TRUE(host.router.node()->health().open());
  EXPECT_EQ(host.traffic.connects, 1);
}

TEST(Loop, SurvivesTheServersEnd) {
  RedisServer server;
  Host host(server.port(), kSanitized ? 2000ms : 500ms);
  std::size_t started = 0;
  std::atomic<bool> stop = false;
  std::atomic<int> right = 0;
  std::thread disturber([&] {
    for (int i = 0; i < 3; ++i) {
      const int before = right;
      EXPECT_TRUE(soon([&] { return right > before + 100; }));
      server.kill();
      server.start();
    }
    const int before = right;
    EXPECT_TRUE(soon([&] { return right > before + 100; }));
    stop = true;
  });
  host.on_finish = [&](Call& call) {
    if (call.echo.right()) ++right;
  };
  while (!stop) {
    while (started < host.finished.size() + 20) {
      host.start(std::to_string(started++));
    }
    host.turn(10);
  }
  disturber.join();
  ASSERT_TRUE(host.run_until(started));
  for (const auto& call : host.finished) {
    const Outcome& outcome = call->echo.outcome;
    EXPECT_TRUE(outcome.failure != Failure::kNone || call->echo.right());
  }
}

TEST(Loop, AConnectionThatBreaksIsMadeAnew) {
  const RedisServer server;
  ChaosProxy proxy(server.port());
  Host host(proxy.port());
  ASSERT_TRUE(host.answers("a"));
  proxy.cut_after = 0;
  host.start("b");
  ASSERT_TRUE(host.run_until(2));
  EXPECT_EQ(host.finished[1]->echo.outcome.fate, Fate::kUnknown);
  EXPECT_EQ(host.finished[1]->echo.outcome.failure, Failure::kLost);
  proxy.cut_after = -1;
  EXPECT_TRUE(soon([&] { return host.answers("c"); }));
}

TEST(Loop, NoticesThatAnIdleConnectionWasClosed) {
  const RedisServer server;
  Host host(server.port());
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(host.answers(std::to_string(i)));
    server.cli({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    host.turn(100);
  }
  EXPECT_EQ(host.traffic.connects, 5);
}

TEST(Loop, DropsItsConnectionWithTheNodes) {
  const RedisServer server;
  Host host(server.port());
  EXPECT_TRUE(host.answers("a"));
  host.router.node()->drop_connections(Failure::kReadOnly, "a replica now");
  EXPECT_TRUE(host.answers("b"));
  EXPECT_TRUE(host.answers("c"));
  EXPECT_EQ(host.traffic.connects, 2);
}

TEST(Loop, BoundsWhatIsInFlight) {
  RedisServer server;
  Host host(server.port());
  ASSERT_TRUE(host.answers("a"));
  server.suspend();
  for (int i = 0; i < 17000; ++i) host.start(std::to_string(i));
  host.loop->run();
  ASSERT_EQ(host.finished.size(), 1u + 17000 - 16384);
  EXPECT_EQ(host.finished[1]->echo.outcome.fate, Fate::kNotSent);
  EXPECT_EQ(host.finished[1]->echo.outcome.failure, Failure::kBackoff);
  server.resume();
  ASSERT_TRUE(host.run_until(17001));
  EXPECT_EQ(host.right(), 1 + 16384);
}

TEST(Loop, TakesAnswersThatComeInBytes) {
  const RedisServer server;
  ChaosProxy proxy(server.port());
  proxy.crumble = true;
  Host host(proxy.port());
  for (int i = 0; i < 100; ++i) host.start(std::to_string(i));
  ASSERT_TRUE(host.run_until(100));
  EXPECT_EQ(host.right(), 100);
}

// ---- closing ----------------------------------------------------------------

TEST(Loop, ClosesWithTasksUnderWay) {
  RedisServer server;
  const int before = open_descriptors();
  Host host(server.port());
  ASSERT_TRUE(host.answers("a"));
  server.suspend();
  for (int i = 0; i < 20; ++i) host.start("sent" + std::to_string(i));
  for (int i = 0; i < 5; ++i) host.start("pausing" + std::to_string(i), {5s});
  host.loop->run();
  for (int i = 0; i < 20; ++i) host.start("not yet" + std::to_string(i));
  host.loop->close();
  ASSERT_EQ(host.finished.size(), 46u);
  for (std::size_t i = 1; i < 46; ++i) {
    EXPECT_EQ(host.finished[i]->status.code(), Code::kCancelled);
  }
  EXPECT_EQ(open_descriptors(), before);
  // A task started after close() is handed back at once, as cancelled.
  host.start("too late");
  ASSERT_EQ(host.finished.size(), 47u);
  EXPECT_EQ(host.finished[46]->status.code(), Code::kCancelled);
  EXPECT_EQ(host.loop->fd(), -1);
  host.loop->close();
  host.loop->run();
  EXPECT_EQ(host.finished.size(), 47u);
  server.resume();
}

TEST(Loop, ClosesWhileFindingOut) {
  RedisServer server;
  Host host(server.port());
  host.router.known = false;
  server.suspend();
  for (int i = 0; i < 20; ++i) host.start(std::to_string(i));
  host.loop->run();
  host.loop.reset();
  ASSERT_EQ(host.finished.size(), 20u);
  for (const auto& call : host.finished) {
    EXPECT_EQ(call->status.code(), Code::kCancelled);
  }
  server.resume();
}

TEST(Loop, TellsThatNoDescriptorIsLeft) {
  const RedisServer server;
  Host host(server.port());
  std::vector<int> taken;
  for (int fd = 0; (fd = dup(0)) != -1;) taken.push_back(fd);
  host.start("a");
  EXPECT_EQ(host.loop->fd(), -1);
  for (const int fd : taken) close(fd);
  ASSERT_EQ(host.finished.size(), 1u);
  EXPECT_EQ(host.finished[0]->status.code(), Code::kStoreUnavailable);
  EXPECT_TRUE(host.answers("b"));
}

// The connection on which it hung has been given up by then.  The circuit's
// wait ends with the first word over the next one.
TEST(Loop, HearsAServerThatHungForLong) {
  RedisServer server;
  Host host(server.port(), 50ms);
  ASSERT_TRUE(soon([&] { return host.answers("warm"); }));
  Health& health = host.router.node()->health();
  const auto refused = [&] {
    EXPECT_FALSE(host.answers("refused"));
    return host.finished.back()->echo.outcome.failure == Failure::kBackoff;
  };
  server.suspend();
  const Monotonic start = now();
  EXPECT_TRUE(soon([&] { return refused() && health.open(); }));
  while (now() < start + Connection::kLongestSilence + 500ms) {
    // The next attempt is far in the future.
    while (health.next_try() < now() + 60s) {
      health.failed(Failure::kTimeout, health.next_try() + 1ms);
    }
    EXPECT_TRUE(refused());
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_FALSE(host.answers("refused"));
  server.resume();
  EXPECT_TRUE(soon([&] { return host.answers("back"); }));
  EXPECT_FALSE(health.open());
  EXPECT_GT(host.traffic.connects, 1);
}

// ---- several loops ----------------------------------------------------------

TEST(Loop, SharesWhatItKnowsOfServers) {
  RedisServer server;
  Host host(server.port());
  std::vector<std::unique_ptr<AsyncTask>> finished;
  const auto take = [&](std::span<std::unique_ptr<AsyncTask>> batch) {
    for (auto& task : batch) finished.push_back(std::move(task));
  };
  auto other = std::make_unique<Loop>(&host.router, host.settings, take);
  Health& health = host.router.node()->health();
  const Monotonic past = now() - 10s;
  for (int i = 0; i < Health::kFailuresToOpen; ++i)
    health.failed(Failure::kTimeout, past);
  server.suspend();
  // The wait has passed: one loop is let through, the other is not.
  other->start(std::make_unique<Call>("a"), host.settings.timeout);
  other->run();
  host.start("b");
  ASSERT_TRUE(host.run_until(1));
  EXPECT_EQ(host.finished[0]->echo.outcome.failure, Failure::kBackoff);
  EXPECT_TRUE(finished.empty());
  // It goes without a report.  The other may try at once.
  other.reset();
  ASSERT_EQ(finished.size(), 1u);
  EXPECT_EQ(finished[0]->status.code(), Code::kCancelled);
  host.start("c");
  host.loop->run();
  EXPECT_EQ(host.finished.size(), 1u) << "not refused";
  server.resume();
  ASSERT_TRUE(host.run_until(2));
  EXPECT_EQ(host.right(), 1);
  EXPECT_FALSE(health.open());
}

TEST(Loop, ManyThatLoseOneServerAreOneFailure) {
  RedisServer server;
  Host host(server.port());
  int answered = 0;
  int broken = 0;
  const auto take = [&](std::span<std::unique_ptr<AsyncTask>> batch) {
    for (auto& task : batch) {
      const EchoTask& echo = static_cast<Call&>(*task).echo;
      ++(echo.right() ? answered : broken);
    }
  };
  std::vector<std::unique_ptr<Loop>> loops;
  for (int i = 0; i < 8; ++i) {
    loops.push_back(std::make_unique<Loop>(&host.router, host.settings, take));
  }
  const auto start = [&] {
    for (auto& loop : loops) {
      loop->start(std::make_unique<Call>("a"), host.settings.timeout);
      loop->run();
    }
  };
  const auto run_until = [&](const int* count) {
    return soon([&] {
      for (auto& loop : loops) loop->run();
      return *count == 8;
    });
  };
  start();
  ASSERT_TRUE(run_until(&answered));
  server.suspend();
  start();
  server.kill();
  server.start();
  ASSERT_TRUE(run_until(&broken));
  EXPECT_FALSE(host.router.node()->health().open());
  answered = 0;
  start();
  EXPECT_TRUE(run_until(&answered));
  EXPECT_EQ(broken, 8) << "none of the later calls was refused";
}

// ---- fork -------------------------------------------------------------------

TEST(Loop, AChildStartsAnew) {
  RedisServer server;
  Host host(server.port());
  ASSERT_TRUE(host.answers("a"));
  for (int i = 0; i < 20; ++i) host.start("parent" + std::to_string(i));
  host.loop->run();
  host.start("not yet");
  const int fd = host.loop->fd();
  const pid_t child = fork();
  if (child == 0) {
    host.finished.clear();
    bool right = true;
    for (int i = 0; i < 50; ++i) {
      right = right && host.answers("child" + std::to_string(i));
    }
    // The parent's calls must not finish here.
    _exit(right && host.finished.size() == 50 ? 0 : 1);
  }
  ASSERT_TRUE(host.run_until(22));
  EXPECT_EQ(host.right(), 22);
  EXPECT_EQ(host.loop->fd(), fd);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(host.answers("b"));
}

}  // namespace
}  // namespace limitree::redis

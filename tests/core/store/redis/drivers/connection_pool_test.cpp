#include "store/remote/drivers/connection_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <ctime>
#include <mutex>

#include "core/store/redis/chaos_proxy.hpp"
#include "core/store/redis/drive_cases.hpp"
#include "core/store/redis/fake_server.hpp"
#include "core/store/redis/redis_server.hpp"
#include "store/redis/common/remote.hpp"
#include "store/redis/wire/redis_dialog.hpp"

namespace limitree::redis {
namespace {

using Fate = Outcome::Fate;

// How long a thread may get no processor on a machine that is busy with other
// tests.
constexpr auto kStalled = 1s;

// A node, its pool, and the traffic that they count.
class Client {
 public:
  explicit Client(int port, Settings with = settings_for())
      : settings(std::move(with)),
        protocol(settings.login),
        node(local(port), protocol, &traffic) {
    auto made = std::make_unique<ConnectionPool>(&node, settings);
    pool = made.get();
    node.set_pool(std::move(made));
  }

  Outcome ask(const std::string& text) {
    EchoTask task(text);
    Patience patience(now(), now() + settings.timeout);
    return pool->exchange(&task, &patience);
  }

  // Whether the answer is `text`.
  bool answers(const std::string& text) { return text_of(ask(text)) == text; }

  std::int64_t count(Failure failure) const {
    return traffic.failures[static_cast<std::size_t>(failure)];
  }

  const Settings settings;
  Traffic traffic;
  const RedisProtocol protocol;
  Node node;
  ConnectionPool* pool = nullptr;
};

TEST(ConnectionPool, OpensNothingBeforeTheFirstCall) {
  const RedisServer server;
  const int before = open_descriptors();
  Client client(server.port());
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_TRUE(client.answers("a"));
  EXPECT_EQ(client.traffic.connects, 1);
}

TEST(ConnectionPool, ACallerAloneUsesOneConnection) {
  const RedisServer server;
  Client client(server.port());
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(client.answers(std::to_string(i)));
  EXPECT_EQ(client.traffic.connects, 1);
  std::int64_t round_trips = 0;
  for (const auto& bucket : client.traffic.round_trips) round_trips += bucket;
  EXPECT_EQ(round_trips, 100);
}

TEST(ConnectionPool, ThreadsGetTheirOwnAnswers) {
  const RedisServer server;
  Client client(server.port());
  std::atomic<int> right = 0;
  on_threads(64, [&](int thread) {
    for (int i = 0; i < 200; ++i) {
      right += client.answers(std::to_string(thread) + ":" + std::to_string(i));
    }
  });
  EXPECT_EQ(right, 64 * 200);
  EXPECT_LE(client.traffic.connects, client.settings.connections);
}

TEST(ConnectionPool, SharesASingleConnection) {
  const RedisServer server;
  Settings settings = settings_for();
  settings.connections = 1;
  Client client(server.port(), settings);
  std::atomic<int> right = 0;
  on_threads(16, [&](int thread) {
    for (int i = 0; i < 300; ++i) {
      right += client.answers(std::to_string(thread) + ":" + std::to_string(i));
    }
  });
  EXPECT_EQ(right, 16 * 300);
  EXPECT_EQ(client.traffic.connects, 1);
}

TEST(ConnectionPool, SpinsIfToldTo) {
  const RedisServer server;
  Settings settings = settings_for();
  settings.low_latency = LowLatency::kOn;
  settings.connections = 1;
  Client client(server.port(), settings);
  std::atomic<int> right = 0;
  on_threads(4, [&](int thread) {
    for (int i = 0; i < 300; ++i) {
      right += client.answers(std::to_string(thread) + ":" + std::to_string(i));
    }
  });
  EXPECT_EQ(right, 4 * 300);
}

// While g_stalls is true, a signal handler keeps its thread from running.
std::atomic<bool> g_stalls = false;
std::atomic<bool> g_stalled = false;

void stall(int /*signal*/) {
  g_stalled = true;
  const timespec moment{.tv_sec = 0, .tv_nsec = 1'000'000};
  while (g_stalls) nanosleep(&moment, nullptr);
}

// The caller that reads for all may get no processor.  Then the others read for
// themselves, and send what it should have sent for them.
TEST(ConnectionPool, GetsByWithoutItsReader) {
  RedisServer server;
  Settings settings = settings_for();
  settings.connections = 1;
  Client client(server.port(), settings);
  ASSERT_TRUE(client.answers("a"));
  std::signal(SIGUSR1, stall);
  g_stalls = true;
  server.suspend();
  std::atomic<bool> right = false;
  std::thread reader([&] { right = client.answers("reader"); });
  std::this_thread::sleep_for(300ms);  // by now it waits for its answer
  pthread_kill(reader.native_handle(), SIGUSR1);
  EXPECT_TRUE(soon([] { return g_stalled.load(); }));
  server.resume();
  std::atomic<int> others = 0;
  on_threads(16, [&](int thread) {
    for (int i = 0; i < 3; ++i) {
      others +=
          client.answers(std::to_string(thread) + ":" + std::to_string(i));
    }
  });
  EXPECT_EQ(others, 16 * 3);
  g_stalls = false;
  reader.join();
  std::signal(SIGUSR1, SIG_DFL);
  EXPECT_TRUE(right);
}

TEST(ConnectionPool, PrecedesByAsking) {
  const RedisServer server({.config = {"cluster-enabled yes"}});
  Client client(server.port());
  EchoTask task("a", {.asking = true});
  Patience patience(now(), now() + client.settings.timeout);
  const Outcome outcome = client.pool->exchange(&task, &patience);
  EXPECT_EQ(text_of(outcome), "a");
  EXPECT_TRUE(client.answers("b"));
}

// ---- a server that is not there ---------------------------------------------

TEST(ConnectionPool, GivesUpAtOnceWhereNobodyListens) {
  const FreePort port;
  Client client(port.number());
  for (int i = 0; i < Health::kFailuresToOpen; ++i) {
    const Outcome outcome = client.ask("a");
    EXPECT_EQ(outcome.fate, Fate::kNotSent);
    EXPECT_EQ(outcome.failure, Failure::kRefused) << outcome.detail;
  }
  EXPECT_TRUE(client.node.health().open());
  // From now on most calls fail without an attempt to connect.
  EXPECT_TRUE(soon([&] {
    const Outcome outcome = client.ask("a");
    EXPECT_EQ(outcome.fate, Fate::kNotSent);
    return outcome.failure == Failure::kBackoff;
  }));
  EXPECT_GT(client.count(Failure::kRefused), 2);
  EXPECT_GT(client.count(Failure::kBackoff), 0);
}

TEST(ConnectionPool, FindsAServerThatComesLater) {
  RedisServer server;
  server.stop();
  Client client(server.port());
  EXPECT_EQ(client.ask("a").failure, Failure::kRefused);
  server.start();
  EXPECT_TRUE(soon([&] { return client.answers("b"); }));
}

TEST(ConnectionPool, NeedsNoTimeIfThereIsNone) {
  const RedisServer server;
  Client client(server.port());
  EchoTask task("a");
  Patience patience(now(), now());
  const Outcome outcome = client.pool->exchange(&task, &patience);
  EXPECT_EQ(outcome.fate, Fate::kNotSent);
  EXPECT_EQ(outcome.failure, Failure::kLate);
  EXPECT_EQ(client.count(Failure::kLate), 1);
  EXPECT_EQ(client.traffic.connects, 0);
  EXPECT_FALSE(client.node.health().open());
}

TEST(ConnectionPool, SurvivesTheServersEnd) {
  RedisServer server;
  Client client(server.port(), settings_for(kSanitized ? 2000ms : 200ms));
  std::atomic<bool> stop = false;
  std::atomic<int> right = 0;
  std::atomic<int> wrong = 0;
  std::atomic<std::int64_t> longest = 0;
  std::thread disturber([&] {
    for (int i = 0; i < 3; ++i) {
      const int before = right;
      EXPECT_TRUE(soon([&] { return right > before + 50; }));
      server.kill();
      server.start();
    }
    const int before = right;
    EXPECT_TRUE(soon([&] { return right > before + 50; }));
    stop = true;
  });
  on_threads(4, [&](int thread) {
    for (int i = 0; !stop; ++i) {
      const std::string text = std::to_string(thread) + ":" + std::to_string(i);
      const Monotonic start = now();
      const Outcome outcome = client.ask(text);
      const std::int64_t took = (now() - start).count();
      if (took > longest) longest = took;
      if (outcome.fate != Fate::kAnswered) continue;
      (text_of(outcome) == text || outcome.failure == Failure::kLoading
           ? right
           : wrong) += 1;
    }
  });
  disturber.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(Duration(longest), client.settings.timeout + kStalled);
}

// ---- a server that hangs ----------------------------------------------------

TEST(ConnectionPool, KeepsItsDeadlineWhileTheServerHangs) {
  RedisServer server;
  Client client(server.port(), settings_for(50ms));
  for (int i = 0; i < 10; ++i) client.answers("warm");
  server.suspend();
  std::vector<Duration> took;
  for (int i = 0; i < 50; ++i) {
    const Monotonic start = now();
    const Outcome outcome = client.ask("lost" + std::to_string(i));
    EXPECT_NE(outcome.fate, Fate::kAnswered);
    if (outcome.failure == Failure::kTimeout) took.push_back(now() - start);
  }
  // Calls time out until the server has been silent for long enough.  After
  // that, only an occasional attempt does.
  ASSERT_GE(took.size(), 2u);
  EXPECT_LE(took.size(), 25u);
  // A call takes longer by the time in which this thread could not run.
  EXPECT_LE(*std::ranges::min_element(took), 50ms + kGrace);
  EXPECT_LE(*std::ranges::max_element(took), 50ms + kStalled);
  server.resume();
  EXPECT_TRUE(soon([&] { return client.answers("back"); }));
  for (int i = 0, right = 0; right < 100; ++i) {
    const std::string text = std::to_string(i);
    const Outcome outcome = client.ask(text);
    if (outcome.fate != Fate::kAnswered) continue;  // the machine stands still
    ASSERT_EQ(text_of(outcome), text);
    ++right;
  }
}

TEST(ConnectionPool, AnOutageEndsWithTheFirstAnswer) {
  RedisServer server;
  Client client(server.port(), settings_for(50ms));
  Health& health = client.node.health();
  EXPECT_TRUE(soon([&] { return client.answers("warm"); }));
  server.suspend();
  EXPECT_TRUE(soon([&] { return !client.answers("lost") && health.open(); }));
  // Moves the next attempt far into the future.
  while (health.next_try() < now() + 60s) {
    health.failed(Failure::kTimeout, health.next_try() + 1ms);
  }
  EXPECT_EQ(client.ask("refused").failure, Failure::kBackoff);
  server.resume();
  EXPECT_TRUE(soon([&] { return client.answers("back"); }));
  EXPECT_FALSE(health.open());
}

// The connection on which it hung has been given up by then.
TEST(ConnectionPool, HearsAServerThatHungForLong) {
  RedisServer server;
  Client client(server.port(), settings_for(50ms));
  Health& health = client.node.health();
  EXPECT_TRUE(soon([&] { return client.answers("warm"); }));
  server.suspend();
  const Monotonic start = now();
  EXPECT_TRUE(soon([&] { return !client.answers("lost") && health.open(); }));
  while (now() < start + Connection::kLongestSilence + 500ms) {
    while (health.next_try() < now() + 60s) {
      health.failed(Failure::kTimeout, health.next_try() + 1ms);
    }
    EXPECT_EQ(client.ask("refused").failure, Failure::kBackoff);
    std::this_thread::sleep_for(1ms);
  }
  server.resume();
  EXPECT_TRUE(soon([&] { return client.answers("back"); }));
  EXPECT_FALSE(health.open());
  EXPECT_GT(client.traffic.connects, 1);
}

// Many processes that lose a server must not fill its queue of connections.
TEST(ConnectionPool, MakesOneOfItsConnectionsAgain) {
  const RedisServer server;
  ChaosProxy proxy(server.port());
  Client client(proxy.port(), settings_for(50ms));
  Health& health = client.node.health();
  EXPECT_TRUE(soon([&] { return client.answers("warm"); }));
  proxy.swallow = true;
  EXPECT_TRUE(soon([&] {
    on_threads(4, [&](int) { client.ask("lost"); });
    return health.open() && proxy.accepted() >= 4;
  }));
  const int before = proxy.accepted();
  const Monotonic start = now();
  while (now() < start + 3 * Connection::kLongestSilence) {
    while (health.next_try() < now() + 60s) {
      health.failed(Failure::kTimeout, health.next_try() + 1ms);
    }
    EXPECT_EQ(client.ask("refused").failure, Failure::kBackoff);
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_GE(proxy.accepted(), before + 1);
  EXPECT_LE(proxy.accepted(), before + 4);
}

TEST(ConnectionPool, KeepsDeadlinesOfManyWhileTheServerHangs) {
  RedisServer server;
  Client client(server.port(), settings_for(kSanitized ? 500ms : 50ms));
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::atomic<int> right = 0;
  std::atomic<std::int64_t> longest = 0;
  std::thread disturber([&] {
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(soon([&] { return right > 1000 * (i + 1); }));
      server.suspend();
      std::this_thread::sleep_for(300ms);
      server.resume();
      const int before = right;
      EXPECT_TRUE(soon([&] { return right > before; }));
    }
    stop = true;
  });
  on_threads(32, [&](int thread) {
    for (int i = 0; !stop; ++i) {
      const std::string text = std::to_string(thread) + ":" + std::to_string(i);
      const Monotonic start = now();
      const Outcome outcome = client.ask(text);
      const std::int64_t took = (now() - start).count();
      if (took > longest) longest = took;
      if (outcome.fate == Fate::kAnswered) {
        (text_of(outcome) == text ? right : wrong) += 1;
      } else {
        std::this_thread::sleep_for(1ms);
      }
    }
  });
  disturber.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(Duration(longest), client.settings.timeout + kStalled);
}

TEST(ConnectionPool, GivesUpAConnectionThatStaysSilent) {
  const RedisServer server;
  ChaosProxy proxy(server.port());
  Client client(proxy.port(), settings_for(50ms));
  ASSERT_TRUE(soon([&] { return client.answers("a"); }));
  proxy.swallow = true;
  EXPECT_EQ(client.ask("b").failure, Failure::kTimeout);
  // After this long, the pool may give up the connection and open a new one.
  std::this_thread::sleep_for(Duration(1100ms));
  proxy.swallow = false;
  EXPECT_TRUE(soon([&] { return client.answers("c"); }));
}

TEST(ConnectionPool, KeepsItsDeadlineWhileConnecting) {
  const RedisServer server;
  ChaosProxy proxy(server.port());
  proxy.swallow = true;
  Client client(proxy.port(), settings_for(50ms));
  const Stopwatch watch;
  const Outcome outcome = client.ask("a");
  EXPECT_LE(watch.time(), 50ms + kGrace);
  EXPECT_EQ(outcome.fate, Fate::kNotSent);
  EXPECT_EQ(outcome.failure, Failure::kTimeout);
  proxy.swallow = false;
  EXPECT_TRUE(soon([&] { return client.answers("b"); }));
  // It is still the first connection: a slow attempt is not started again.
  EXPECT_EQ(client.traffic.connects, 1);
}

// An attempt to connect has its own timeout.  It continues after its callers
// have given up.
TEST(ConnectionPool, AnAttemptToConnectOutlivesItsCallers) {
  const FakeServer server([](Peer& peer) { peer.wait_for_end(); });
  Settings settings = settings_for(20ms);
  settings.connections = 1;
  settings.connect_timeout = 1s;
  const Monotonic start = now();
  Client client(server.endpoint().port, settings);
  const Outcome outcome = client.ask("a");
  EXPECT_EQ(outcome.failure, Failure::kTimeout);
  EXPECT_EQ(outcome.detail, "no connection in time: no answer to the login");
  EXPECT_TRUE(soon([&] {
    client.ask("b");
    return server.connections() == 2;
  }));
  EXPECT_GE(now() - start, settings.connect_timeout);
}

// Late answers are dropped.  Later answers still reach the right callers.
TEST(ConnectionPool, DropsLateAnswers) {
  const RedisServer server;
  ChaosProxy proxy(server.port());
  Settings settings = settings_for(kSanitized ? 400ms : 100ms);
  settings.connections = 1;
  Client client(proxy.port(), settings);
  ASSERT_TRUE(soon([&] { return client.answers("a"); }));
  int late = 0;
  bool stalled = false;
  for (int i = 0; late < 5; ++i) {
    ASSERT_LT(i, 50);
    proxy.delay_us = settings.timeout / 1000ns * 5 / 4;
    const Outcome outcome = client.ask("late" + std::to_string(i));
    proxy.delay_us = 0;
    // A busy machine may stop the proxy until the server is taken for dead.
    if (outcome.failure == Failure::kBackoff) {
      stalled = true;
    } else if (outcome.fate != Fate::kAnswered) {
      ++late;
      EXPECT_EQ(outcome.fate, Fate::kUnknown);
      EXPECT_EQ(outcome.failure, Failure::kTimeout);
    }  // else this thread stalled: its deadline moved, the answer was in time
    const std::string after = "after" + std::to_string(i);
    EXPECT_TRUE(soon([&] {
      const Outcome next = client.ask(after);
      if (next.fate != Fate::kAnswered) return false;
      EXPECT_EQ(text_of(next), after);
      return true;
    }));
  }
  if (!stalled) {
    EXPECT_EQ(client.traffic.connects, 1);
  }
}

TEST(ConnectionPool, RefusesToJoinAQueueThatDoesNotMove) {
  const RedisServer server;
  ChaosProxy proxy(server.port());
  Settings settings = settings_for(100ms);
  settings.connections = 1;
  Client client(proxy.port(), settings);
  ASSERT_TRUE(soon([&] { return client.answers("a"); }));
  proxy.swallow = true;
  EXPECT_EQ(client.ask("b").failure, Failure::kTimeout);
  std::this_thread::sleep_for(Connection::kShortestSilence);
  const Outcome outcome = client.ask("c");
  EXPECT_EQ(outcome.fate, Fate::kNotSent);
  EXPECT_EQ(outcome.failure, Failure::kBackoff) << outcome.detail;
}

// Answers come, but never in time: the server is slow, not silent.
TEST(ConnectionPool, ASlowServerIsNoSilentOne) {
  const RedisServer server;
  ChaosProxy proxy(server.port());
  Settings settings = settings_for(400ms);
  settings.connections = 1;
  Client client(proxy.port(), settings);
  ASSERT_TRUE(soon([&] { return client.answers("a"); }));
  proxy.delay_us = settings.timeout / 1000ns * 5 / 4;
  std::atomic<int> late = 0;
  on_threads(8, [&](int thread) {
    for (int i = 0; i < 4; ++i) {
      late += client.ask(std::to_string(thread)).failure == Failure::kTimeout;
    }
  });
  EXPECT_GT(late, 8);
  EXPECT_EQ(client.count(Failure::kBackoff), 0);
  EXPECT_FALSE(client.node.health().open());
}

// A connection that breaks fails all its callers, but counts as one failure.
TEST(ConnectionPool, OneConnectionsEndIsOneFailure) {
  RedisServer server;
  Settings settings = settings_for();
  settings.connections = 1;
  Client client(server.port(), settings);
  ASSERT_TRUE(client.answers("a"));
  server.suspend();
  std::atomic<int> asked = 0;
  std::thread breaker([&] {
    EXPECT_TRUE(soon([&] { return asked == 16; }));
    std::this_thread::sleep_for(100ms);
    client.node.drop_connections(Failure::kLost, "broken");
    server.resume();
  });
  std::atomic<int> lost = 0;
  on_threads(16, [&](int thread) {
    ++asked;
    lost += client.ask(std::to_string(thread)).failure == Failure::kLost;
  });
  breaker.join();
  EXPECT_GT(lost, Health::kFailuresToOpen);
  EXPECT_FALSE(client.node.health().open());
}

// Only the task can tell whether a reply makes sense.  If it rejects replies,
// that counts against the server, but the connection stays open.
TEST(ConnectionPool, ARepliesSenseIsTheTasks) {
  const RedisServer server;
  Client client(server.port());
  for (int i = 0; i < Health::kFailuresToOpen; ++i) {
    EXPECT_FALSE(client.node.health().open());
    EchoTask task("a");
    task.picky = true;
    Patience patience(now(), now() + client.settings.timeout);
    const Outcome outcome = client.pool->exchange(&task, &patience);
    EXPECT_EQ(outcome.failure, Failure::kNoDecision);
    EXPECT_EQ(outcome.fate, Fate::kAnswered);
  }
  EXPECT_TRUE(client.node.health().open());
  EXPECT_EQ(client.count(Failure::kNoDecision), Health::kFailuresToOpen);
  EXPECT_EQ(client.traffic.connects, 1);
}

// ---- a connection that breaks -----------------------------------------------

TEST(ConnectionPool, TakesAnswersThatComeInBytes) {
  const RedisServer server;
  ChaosProxy proxy(server.port());
  proxy.crumble = true;
  Client client(proxy.port());
  std::atomic<int> right = 0;
  on_threads(8, [&](int thread) {
    for (int i = 0; i < 20; ++i) {
      right += client.answers(std::to_string(thread) + ":" + std::to_string(i));
    }
  });
  EXPECT_EQ(right, 8 * 20);
}

TEST(ConnectionPool, SlowAnswersAreAnswers) {
  const RedisServer server;
  ChaosProxy proxy(server.port());
  proxy.delay_us = 20'000;
  Client client(proxy.port());
  std::atomic<int> right = 0;
  on_threads(32, [&](int thread) {
    for (int i = 0; i < 5; ++i) {
      right += client.answers(std::to_string(thread) + ":" + std::to_string(i));
    }
  });
  EXPECT_EQ(right, 32 * 5);
}

// Wherever an answer breaks off, it is unknown whether the server has executed
// the command.  The next call uses a new connection.
TEST(ConnectionPool, AnAnswerThatBreaksOffIsUnknown) {
  const RedisServer server;
  const std::string answer = "$6\r\nanswer\r\n";
  for (std::size_t at = 0; at < answer.size(); ++at) {
    ChaosProxy proxy(server.port());
    Settings settings = settings_for();
    settings.login.client_name.clear();  // the answer is the only reply
    Client client(proxy.port(), settings);
    proxy.cut_after = static_cast<std::int64_t>(at);
    Outcome outcome = client.ask("answer");
    // The connection may break before the command is sent.
    if (at == 0 && outcome.fate == Fate::kNotSent) continue;
    EXPECT_EQ(outcome.fate, Fate::kUnknown) << at;
    EXPECT_EQ(outcome.failure, Failure::kLost) << at;
    proxy.cut_after = -1;
    EXPECT_TRUE(soon([&] { return client.answers("again"); })) << at;
  }
}

// Servers close idle connections.  No call may fail because of that.
TEST(ConnectionPool, NoticesThatAnIdleConnectionWasClosed) {
  const RedisServer server;
  Client client(server.port());
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(client.answers(std::to_string(i)));
    server.cli({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    // The pool checks a connection only after 10 ms without traffic.
    std::this_thread::sleep_for(20ms);
  }
  EXPECT_EQ(client.traffic.connects, 5);
  EXPECT_EQ(client.count(Failure::kLost), 0);
}

TEST(ConnectionPool, TellsThatTheServerIsFull) {
  const RedisServer server;
  server.cli({"CONFIG", "SET", "maxclients", "1"});
  Client first(server.port());
  ASSERT_TRUE(soon([&] { return first.answers("a"); }));
  Client second(server.port());
  const Outcome outcome = second.ask("b");
  EXPECT_EQ(outcome.fate, Fate::kNotSent);
  EXPECT_EQ(outcome.failure, Failure::kMaxClients) << outcome.detail;
}

TEST(ConnectionPool, DropsConnectionsWithThoseWhoWait) {
  RedisServer server;
  Client client(server.port());
  ASSERT_TRUE(client.answers("a"));
  server.suspend();
  std::atomic<int> told = 0;
  std::atomic<int> done = 0;
  std::thread dropper([&] {
    while (done < 16) {  // some may begin late
      std::this_thread::sleep_for(50ms);
      client.node.drop_connections(Failure::kReadOnly, "a replica now");
    }
  });
  const Monotonic start = now();
  on_threads(16, [&](int thread) {
    const Outcome outcome = client.ask(std::to_string(thread));
    told += outcome.fate != Fate::kAnswered &&
            outcome.failure == Failure::kReadOnly &&
            outcome.detail == "a replica now";
    ++done;
  });
  dropper.join();
  EXPECT_EQ(told, 16);
  EXPECT_LT(now() - start, 2s);
  server.resume();
  EXPECT_TRUE(soon([&] { return client.answers("b"); }));
}

// ---- posting ----------------------------------------------------------------

TEST(ConnectionPool, PostsWithoutWaiting) {
  const RedisServer server;
  Client client(server.port());
  client.pool->post(echo("posted"));
  EXPECT_EQ(client.pool->take_posted(), std::nullopt);
  // Later posts finish the connection and read the answer.
  std::optional<Outcome> outcome;
  ASSERT_TRUE(soon([&] {
    client.pool->post(echo("posted"));
    outcome = client.pool->take_posted();
    return outcome.has_value();
  }));
  EXPECT_EQ(text_of(*outcome), "posted");
  // Ordinary calls also read the answer to a post.
  client.pool->post(echo("again"));
  EXPECT_TRUE(client.answers("a"));
  EXPECT_TRUE(soon([&] {
    EXPECT_TRUE(client.answers("b"));
    return client.pool->take_posted().has_value();
  }));
  EXPECT_EQ(client.traffic.connects, 1);
}

TEST(ConnectionPool, PostsToNobodyWithoutHarm) {
  const FreePort port;
  Client client(port.number());
  ASSERT_TRUE(soon([&] {
    client.pool->post(echo("posted"));
    const std::optional<Outcome> outcome = client.pool->take_posted();
    EXPECT_TRUE(!outcome || outcome->failure == Failure::kRefused);
    return client.node.health().open();
  }));
}

// One descriptor, for the connection, is enough.  A second one only makes it
// faster.
TEST(ConnectionPool, GetsByWithOneDescriptor) {
  const RedisServer server;
  Client client(server.port());
  std::vector<int> taken;
  for (int fd = 0; (fd = dup(0)) != -1;) taken.push_back(fd);
  const Outcome none = client.ask("a");
  close(taken.back());
  taken.pop_back();
  const bool one = client.answers("b") && client.answers("c");
  for (const int fd : taken) close(fd);
  EXPECT_EQ(none.fate, Fate::kNotSent);
  EXPECT_EQ(none.failure, Failure::kRefused) << none.detail;
  EXPECT_TRUE(one);
}

TEST(ConnectionPool, LeavesNoDescriptorBehind) {
  RedisServer server;
  const int before = open_descriptors();
  for (int i = 0; i < 5; ++i) {
    Client client(server.port(), settings_for(500ms));
    on_threads(8, [&](int) { client.answers("a"); });
    server.restart();
    on_threads(8, [&](int) { client.answers("a"); });
  }
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace limitree::redis

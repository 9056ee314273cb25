// Whatever a server answers, a request ends with a decision or with one named
// failure.

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

#include "core/store/memcached/asking.hpp"
#include "core/store/memcached/memcached_server.hpp"
#include "core/store/redis/await.hpp"
#include "core/store/redis/fake_server.hpp"
#include "store/memcached/memcached_store.hpp"

namespace limitree::memcached {
namespace {

using redis::FakeServer;
using redis::Peer;

// What a fake server does when a line has come; of `ms`, with its value.
using OnLine = std::function<void(Peer& peer, std::string_view line)>;

// Serves lines until the other side closes.
std::function<void(Peer&)> serving(OnLine on_line) {
  return [on_line = std::move(on_line)](Peer& peer) {
    while (true) {
      const std::string line = peer.receive_line();
      if (line.empty()) return;
      if (line.starts_with("ms ")) {
        const std::size_t size = line.find(' ', 3) + 1;
        peer.skip(std::stoul(line.substr(size)) + 2);
      }
      on_line(peer, line);
    }
  };
}

// Answers every mg with one text, and every other line with another.
std::function<void(Peer&)> answering(std::string get, std::string other) {
  return serving([get = std::move(get), other = std::move(other)](
                     Peer& peer, std::string_view line) {
    peer.send(line.starts_with("mg ") ? get : other);
  });
}

std::function<void(Peer&)> answering_then_closing(std::string get) {
  return [get = std::move(get)](Peer& peer) {
    peer.receive_line();
    peer.send(get);
  };
}

// Either driver.
class RepliesOfServer : public testing::TestWithParam<bool> {
 protected:
  static Settings settings_of(const FakeServer& server,
                              std::chrono::milliseconds timeout) {
    Settings settings = store_settings("memcached://127.0.0.1:" +
                                       std::to_string(server.port()));
    settings.timeout = timeout;
    return settings;
  }

  // The first request to such a server: "ok" or the reason of its failure.
  std::string first(
      std::function<void(Peer&)> script,
      std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
    const FakeServer server(std::move(script));
    MemcachedStore store(settings_of(server, timeout), Clock());
    Asker asker(&store, GetParam());
    const Status status = asker.ask({"alex"}, limit_of(5));
    if (status.ok()) return "ok";
    message_ = status.error().messages.front();
    return status.error().reason;
  }

  std::string message_;
};

TEST_P(RepliesOfServer, AreUnderstoodByteByByte) {
  EXPECT_EQ(first(serving([](Peer& peer, std::string_view line) {
              peer.send_bytewise(line.starts_with("mg ") ? "EN\r\n" : "HD\r\n");
            })),
            "ok");
}

TEST_P(RepliesOfServer, ThatAreNoneOfItsProtocolAreErrors) {
  for (const char* const garbage :
       {"hello\r\n", "\r\n", "$5\r\nhello\r\n", "VA\r\n", "VA x c1\r\n",
        "VA -1 c1\r\n\r\n", "VA 3 cx\r\nabc\r\n", "VA 3 c1\r\nabcdefg\r\n",
        "HTTP/1.1 400 Bad Request\r\n\r\n"}) {
    EXPECT_EQ(first(answering(garbage, "HD\r\n")), "protocol") << garbage;
  }
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  bytes += "\r\n";
  EXPECT_EQ(first(answering(bytes, bytes)), "protocol");
}

TEST_P(RepliesOfServer, ThatAreHugeAreErrorsBeforeTheyHaveCome) {
  EXPECT_EQ(first(answering("VA 99999999999 c1\r\n", "")), "protocol");
  EXPECT_EQ(first(answering("VA 99999999999999999999999 c1\r\n", "")),
            "protocol");
  EXPECT_EQ(first(answering("VA 4000000 c1\r\n", "")), "protocol");
  EXPECT_EQ(first(answering(std::string(100'000, 'x'), "")), "protocol");
}

TEST_P(RepliesOfServer, ThatEndInTheMiddleAreLost) {
  for (const char* const part : {"", "V", "VA 10 c1", "VA 10 c1\r\n",
                                 "VA 10 c1\r\nabc", "VA 3 c1\r\nabc\r"}) {
    EXPECT_EQ(first(answering_then_closing(part)), "lost") << part;
  }
}

TEST_P(RepliesOfServer, ThatStopInTheMiddleTakeTheTimeOfTheRequest) {
  const auto script = [](Peer& peer) {
    peer.receive_line();
    peer.send("VA 10 c1\r\nabc");
    peer.hang();
  };
  EXPECT_EQ(first(script, std::chrono::seconds(1)), "timeout");
}

TEST_P(RepliesOfServer, WithAnItemOfAnotherAreErrorsThatNameIt) {
  for (const char* const item :
       {"VA 11 c1\r\nnot an item\r\n", "VA 0 c1\r\n\r\n",
        "VA 3 c1\r\nLT\x02\r\n", "VA 3 c1\r\nLT\x01\r\n",
        "VA 12 c1\r\nLT\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\r\n"}) {
    EXPECT_EQ(first(answering(item, "HD\r\n")), "nodecision") << item;
    EXPECT_NE(message_.find("alex"), std::string::npos) << message_;
  }
}

// As `memcached -C`, which then refuses each write of what it has.
TEST_P(RepliesOfServer, WithoutCasSayWhatIsWrong) {
  std::string item;
  encode(Item(), &item);
  for (const char* const cas : {"", " c0"}) {
    EXPECT_EQ(first(answering("VA " + std::to_string(item.size()) + cas +
                                  "\r\n" + item + "\r\n",
                              "EX\r\n")),
              "nodecision");
    EXPECT_NE(message_.find("started with -C?"), std::string::npos) << message_;
  }
}

TEST_P(RepliesOfServer, OfFailuresHaveTheirNames) {
  const std::pair<const char*, const char*> texts[] = {
      {"SERVER_ERROR out of memory storing object\r\n", "oom"},
      {"SERVER_ERROR object too large for cache\r\n", "toolarge"},
      {"SERVER_ERROR shutting down\r\n", "other"},
      {"CLIENT_ERROR bad data chunk\r\n", "protocol"},
      {"ERROR\r\n", "protocol"}};
  for (const auto& [text, reason] : texts) {
    EXPECT_EQ(first(answering(text, text)), reason) << text;
    EXPECT_EQ(first(answering("EN\r\n", text)), reason) << text;
  }
  EXPECT_EQ(first(answering("ERROR\r\n", "")), "protocol");
  EXPECT_NE(message_.find("memcached 1.6"), std::string::npos) << message_;
}

TEST_P(RepliesOfServer, MayComeBeforeAnyRequest) {
  EXPECT_EQ(first([](Peer& peer) {
              peer.send("ERROR Too many open connections\r\n");
              peer.end_sending();
              peer.wait_for_end();
            }),
            "maxclients");
}

// Such a server does not say what it has: nobody is admitted twice by that.
TEST_P(RepliesOfServer, ThatLieDoNoHarm) {
  for (const char* const lie :
       {"HD\r\n", "EX\r\n", "NS\r\n", "NF\r\n", "MN\r\n", "VA 3\r\nabc\r\n"}) {
    const std::string reason =
        first(answering(lie, "HD\r\n"), std::chrono::seconds(1));
    EXPECT_TRUE(reason == "ok" || reason == "protocol" ||
                reason == "nodecision")
        << lie << reason;
  }
}

TEST_P(RepliesOfServer, ThatRefuseEveryWriteEndInTime) {
  for (const char* const refusal : {"NS\r\n", "EX\r\n", "NF\r\n"}) {
    std::string reason;
    // If the machine stands still, the last answer may come too late.
    for (int i = 0; i < 5 && reason != "conflict"; ++i) {
      reason = first(answering("EN\r\n", refusal), std::chrono::seconds(1));
    }
    EXPECT_EQ(reason, "conflict") << refusal;
    EXPECT_NE(message_.find("other callers have changed it"), std::string::npos)
        << message_;
  }
}

// Of two callers the first is written, and others are faster for the second.
OnLine refusing_the_second(std::string undo, std::atomic<int>* writes) {
  return [undo = std::move(undo), writes](Peer& peer, std::string_view line) {
    const bool is_first = line.find("{a}") != line.npos;
    if (line.starts_with("mg ")) return peer.send("EN\r\n");
    if (line.starts_with("md ")) return peer.send(undo);
    if (is_first) ++*writes;
    peer.send(is_first ? "HD c7\r\n" : "EX\r\n");
  };
}

TEST_P(RepliesOfServer, AnUndoWithoutAnAnswerIsNoAdmission) {
  std::atomic<int> writes = 0;
  const FakeServer server(serving(refusing_the_second("", &writes)));
  MemcachedStore store(settings_of(server, std::chrono::seconds(1)), Clock());
  const Status status = Asker(&store, GetParam()).ask({"a", "b"}, limit_of(5));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::kStoreTimeout);
  EXPECT_EQ(status.error().reason, std::string("timeout"));
  EXPECT_EQ(writes, 1);
}

TEST_P(RepliesOfServer, AnUndoThatFailsEndsTheRequest) {
  std::atomic<int> writes = 0;
  const FakeServer server(
      serving(refusing_the_second("SERVER_ERROR out of memory\r\n", &writes)));
  MemcachedStore store(settings_of(server, std::chrono::seconds(20)), Clock());
  const Status status = Asker(&store, GetParam()).ask({"a", "b"}, limit_of(5));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::kStoreTimeout);
  EXPECT_EQ(status.error().reason, std::string("oom"));
  EXPECT_EQ(writes, 1);
}

// It stays charged, once; so the failure is not one that has charged nothing.
TEST_P(RepliesOfServer, WhatOthersHaveChargedSinceIsNotTakenBack) {
  std::atomic<int> writes = 0;
  const FakeServer server(serving(refusing_the_second("EX\r\n", &writes)));
  MemcachedStore store(settings_of(server, std::chrono::seconds(1)), Clock());
  const Status status = Asker(&store, GetParam()).ask({"a", "b"}, limit_of(5));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().reason, std::string("timeout"));
  EXPECT_EQ(writes, 1);
}

// What may have been carried out is not sent again.
TEST_P(RepliesOfServer, AWriteWithoutAnAnswerIsNotRepeated) {
  std::atomic<int> writes = 0;
  EXPECT_EQ(first(serving([&](Peer& peer, std::string_view line) {
              if (line.starts_with("mg ")) return peer.send("EN\r\n");
              ++writes;
              peer.close();
            })),
            "lost");
  EXPECT_EQ(writes, 1);
}

TEST_P(RepliesOfServer, AreFollowedByNoStormOfConnections) {
  const FakeServer server(answering("hello\r\n", ""));
  MemcachedStore store(settings_of(server, std::chrono::seconds(20)), Clock());
  Asker asker(&store, GetParam());
  const Limit limit = limit_of(5);
  for (int i = 0; i < 1000; ++i) EXPECT_NE(asker.reason("alex", limit), "ok");
  EXPECT_LT(server.connections(), 50);
}

TEST_P(RepliesOfServer, ThatMakeSenseAgainEndTheTrouble) {
  const FakeServer server({answering("hello\r\n", ""), answering("", ""),
                           answering("EN\r\n", "HD\r\n")});
  MemcachedStore store(settings_of(server, std::chrono::seconds(1)), Clock());
  Asker asker(&store, GetParam());
  EXPECT_EQ(asker.reason("alex", limit_of(5)), "protocol");
  await("a server that makes sense",
        [&] { return asker.reason("alex", limit_of(5)) == "ok"; });
}

class Waiter final : public Pending {
 public:
  Waiter(StoreLoop* loop, const Limit& limit)
      : Pending(Kind::kDecide, Operation::kAuthorize, loop) {
    plan().segments.emplace_back("alex", Segment::Kind::kCaller);
    plan().add_level(&limit, 0u, 1u, 1);
  }

  std::string reason;  // "" until it is over

 private:
  void finished(Status status) override {
    reason = status.ok() ? "ok" : status.error().reason;
  }
};

// Who has the turn has more time, and a server that is silent by then.
TEST(TurnsOfMemcached, AreWaitedForAsLongAsARequestMayTake) {
  const Limit limit = limit_of(5);
  std::atomic<int> reads = 0;
  const FakeServer server(serving([&](Peer& peer, std::string_view line) {
    if (line.starts_with("ms ")) return peer.send("EX\r\n");
    if (++reads <= 2) peer.send("EN\r\n");
  }));
  Settings settings =
      store_settings("memcached://127.0.0.1:" + std::to_string(server.port()));
  settings.timeout = std::chrono::minutes(10);
  MemcachedStore store(settings, Clock());
  auto loop = store.new_loop();
  Waiter first(loop.get(), limit);
  Waiter second(loop.get(), limit);
  Status status;
  ASSERT_FALSE(store.start(&first, &status));
  loop->set_time_limit(std::chrono::seconds(2));
  ASSERT_FALSE(store.start(&second, &status));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (second.reason.empty() && std::chrono::steady_clock::now() < end) {
    wait_for(loop->fd(), false, end);
    loop->run();
  }
  EXPECT_EQ(second.reason, "conflict");
  EXPECT_EQ(first.reason, "");
  loop.reset();  // completes the first
}

INSTANTIATE_TEST_SUITE_P(Drivers, RepliesOfServer, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& by_loop) {
                           return by_loop.param ? "Loop" : "Blocking";
                         });

}  // namespace
}  // namespace limitree::memcached

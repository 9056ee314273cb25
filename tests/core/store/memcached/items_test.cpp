// What the store does with items: how many round trips, what is in memcached,
// and what becomes of items that are odd.

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "core/store/manual_clock.hpp"
#include "core/store/memcached/memcached_server.hpp"
#include "core/store/store_cases.hpp"
#include "store/memcached/memcached_store.hpp"

namespace limitree::memcached {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

class MemcachedItems : public testing::Test {
 protected:
  Status ask(Operation operation, const std::vector<std::string>& names,
             Store* of = nullptr) {
    plan_ = std::make_unique<Plan>(operation);
    names_ = names;  // which the plan refers to
    for (const std::string& name : names_) {
      const auto at = static_cast<std::uint32_t>(plan_->segments.size());
      plan_->segments.emplace_back(name, Segment::Kind::kCaller);
      plan_->add_level(&limit_, at, 1u, 1);
    }
    return (of == nullptr ? &store_ : of)->decide(plan_.get());
  }
  const Verdict& verdict() const { return plan_->levels[0].verdict; }

  std::int64_t round_trips() {
    std::int64_t count = 0;
    for (const std::int64_t one : store_.stats().round_trips) count += one;
    return count;
  }
  std::string key(const std::string& name) const {
    return settings_.prefix + "{" + name + "}";
  }
  std::string put(const std::string& name, const std::string& bytes) {
    return server_.ask("ms " + key(name) + " " + std::to_string(bytes.size()) +
                       "\r\n" + bytes + "\r\n");
  }

  const Limit limit_ = simple_limit(hours(1), 2);
  const MemcachedServer server_;
  const Settings settings_ = store_settings("memcached://" + server_.host());
  MemcachedStore store_{settings_, Clock()};
  std::vector<std::string> names_;
  std::unique_ptr<Plan> plan_;
};

TEST_F(MemcachedItems, ADenialIsOneRoundTripAndAnAdmissionTwo) {
  ASSERT_TRUE(ask(Operation::kAuthorize, {"a"}).ok());
  EXPECT_FALSE(verdict().limited);
  EXPECT_EQ(round_trips(), 2);
  ASSERT_TRUE(ask(Operation::kAuthorize, {"a"}).ok());
  EXPECT_EQ(round_trips(), 4);
  ASSERT_TRUE(ask(Operation::kAuthorize, {"a"}).ok());
  EXPECT_TRUE(verdict().limited);
  EXPECT_EQ(round_trips(), 5);
  ASSERT_TRUE(ask(Operation::kPeek, {"a"}).ok());
  EXPECT_EQ(round_trips(), 6);
  // All families of a server at once.
  ASSERT_TRUE(ask(Operation::kAuthorize, {"b", "c", "d"}).ok());
  EXPECT_EQ(round_trips(), 8);
}

// By every clock that may be used: they differ by up to a minute.
TEST_F(MemcachedItems, LiveUntilTheirBucketsAreFull) {
  ASSERT_TRUE(ask(Operation::kAuthorize, {"a"}).ok());
  const std::string answer = server_.ask("mg " + key("a") + " t\r\n");
  ASSERT_TRUE(answer.starts_with("HD t")) << answer;
  const int ttl = std::stoi(answer.substr(4));
  EXPECT_GE(ttl, 3600 + 60 - 30);
  EXPECT_LE(ttl, 3600 + 60 + 1);
  // Given back, nothing is left but the latest instant.
  ASSERT_TRUE(ask(Operation::kRefund, {"a"}).ok());
  const std::string empty = server_.ask("mg " + key("a") + " t s\r\n");
  ASSERT_TRUE(empty.starts_with("HD t")) << empty;
  EXPECT_LE(std::stoi(empty.substr(4)), 60 + 1);
  EXPECT_LT(std::stoi(empty.substr(empty.find('s') + 1)), 20);
}

TEST_F(MemcachedItems, ResetForgetsThem) {
  ASSERT_TRUE(ask(Operation::kAuthorize, {"a"}).ok());
  ASSERT_TRUE(ask(Operation::kAuthorize, {"a", "b"}).ok());
  ASSERT_TRUE(store_.reset(*plan_).ok());
  ASSERT_TRUE(ask(Operation::kPeek, {"a"}).ok());
  EXPECT_EQ(verdict().remaining, 1);
}

// While a limit gets a `hold`, or loses it, in one process after the other.
TEST_F(MemcachedItems, AreReadWithAHoldAndWithout) {
  const Limit plain = simple_limit(hours(1), 10);
  Limit held = plain;
  Rules rules;
  rules.hold = hours(1);
  held.rules = std::make_shared<const Rules>(rules);
  const auto left = [&](Operation operation, const Limit& limit,
                        std::int64_t cost) {
    Plan plan(operation);
    plan.reservation.id = {1, 2};
    plan.segments.emplace_back("a", Segment::Kind::kCaller);
    plan.add_level(&limit, 0u, 1u, cost);
    EXPECT_TRUE(store_.decide(&plan).ok());
    return plan.levels[0].verdict.remaining;
  };
  EXPECT_EQ(left(Operation::kAuthorize, plain, 4), 6);
  EXPECT_EQ(left(Operation::kReserve, held, 3), 3);
  EXPECT_EQ(left(Operation::kAuthorize, plain, 0), 3);
  EXPECT_EQ(left(Operation::kAuthorize, held, 1), 2);
  EXPECT_EQ(left(Operation::kAuthorize, plain, 1), 1);
  // What was held is used by now.
  EXPECT_EQ(left(Operation::kAuthorize, held, 1), 0);
  EXPECT_EQ(left(Operation::kAuthorize, plain, 0), 0);
}

// Keys that memcached does not take.
TEST_F(MemcachedItems, LongKeysAreHashed) {
  const std::string longest(200, 'x');
  ASSERT_TRUE(ask(Operation::kAuthorize, {longest}).ok());
  EXPECT_TRUE(server_.ask("mg " + key(longest) + " s\r\n").starts_with("HD"));
  Plan plan(Operation::kAuthorize);
  for (const char c : {'y', 'z'}) {
    plan.segments.emplace_back(plan.keep(std::string(150, c)),
                               Segment::Kind::kCaller);
  }
  plan.add_level(&limit_, 0u, 2u, 2);
  ASSERT_TRUE(store_.decide(&plan).ok());
  ASSERT_TRUE(store_.decide(&plan).ok());
  EXPECT_TRUE(plan.levels[0].verdict.limited);
  Settings odd = settings_;
  odd.prefix = "odd prefix:";
  MemcachedStore other(odd, Clock());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(ask(Operation::kAuthorize, {"a"}, &other).ok());
  }
  EXPECT_TRUE(verdict().limited);
}

// An item of others is left alone, and only its caller is concerned.  A reset
// makes room.
TEST_F(MemcachedItems, OfOthersAreAnErrorUntilAReset) {
  EXPECT_EQ(put("a", "hello"), "HD\r\n");
  const Status status = ask(Operation::kAuthorize, {"a"});
  EXPECT_EQ(status.code(), Code::kStoreProtocol);
  EXPECT_EQ(status.message(), server_.host() + ": " + key("a") +
                                  ": an item that is not limitree's");
  EXPECT_TRUE(server_.ask("mg " + key("a") + " v\r\n").starts_with("VA 5"));
  ASSERT_TRUE(ask(Operation::kAuthorize, {"b"}).ok());
  EXPECT_TRUE(ask(Operation::kAuthorize, {"a"}).code() == Code::kStoreProtocol);
  ASSERT_TRUE(store_.reset(*plan_).ok());
  EXPECT_TRUE(ask(Operation::kAuthorize, {"a"}).ok());
}

// Memory that the server lacks is a caller's error, and its caller starts full.
TEST_F(MemcachedItems, ThatAreLostAreFullAgain) {
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(ask(Operation::kAuthorize, {"a"}).ok());
  }
  server_.ask("flush_all\r\n");
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(ask(Operation::kAuthorize, {"a"}).ok());
    EXPECT_EQ(verdict().limited, i == 2);
  }
}

TEST_F(MemcachedItems, AreOnTheServersThatAreSet) {
  const MemcachedServer other;
  ASSERT_TRUE(ask(Operation::kAuthorize, {"a"}).ok());
  EXPECT_FALSE(store_.set_servers({}));
  const Endpoint endpoint{"127.0.0.1", static_cast<std::uint16_t>(other.port()),
                          ""};
  EXPECT_TRUE(store_.set_servers({endpoint}));
  ASSERT_TRUE(ask(Operation::kAuthorize, {"a"}).ok());
  EXPECT_EQ(verdict().remaining, 1);
  EXPECT_TRUE(other.ask("mg " + key("a") + " s\r\n").starts_with("HD"));
  EXPECT_TRUE(store_.ping().ok());
}

// Names and passwords of memcached's own file.
TEST(MemcachedLogin, IsSentFirst) {
  const TemporaryFolder folder("login");
  const std::string file = folder.path() + "/users";
  std::ofstream(file) << "alex:s3cret%\n";
  const MemcachedServer server({"-Y", file});
  const Limit limit = simple_limit(hours(1), 2);
  const auto code = [&](const std::string& login) {
    MemcachedStore store(store_settings("memcached://" + login + server.host()),
                         Clock());
    Plan plan(Operation::kAuthorize);
    plan.segments.emplace_back("a", Segment::Kind::kCaller);
    plan.add_level(&limit, 0u, 1u, 1);
    const Status status = store.decide(&plan);
    return status.ok() ? std::string("ok") : status.error().reason;
  };
  EXPECT_EQ(code("alex:s3cret%25@"), "ok");
  EXPECT_EQ(code("alex:other@"), "wrongpass");
  EXPECT_EQ(code(""), "noauth");
}

// A server that knows no users stores what it is sent.
TEST(MemcachedLogin, LeavesNoPasswordBehind) {
  const MemcachedServer server;
  MemcachedStore store(
      store_settings("memcached://alex:s3cret@" + server.host()), Clock());
  ASSERT_TRUE(store.ping().ok());
  EXPECT_EQ(server.ask("mg limitree v\r\n"), "EN\r\n");
}

// A request of a loop, to its end.
class LoopRequest : public Pending {
 public:
  LoopRequest(StoreLoop* loop, const Limit& limit, const std::string& name)
      : Pending(Kind::kDecide, Operation::kAuthorize, loop), name_(name) {
    plan().segments.emplace_back(name_, Segment::Kind::kCaller);
    plan().add_level(&limit, 0u, 1u, 1);
  }

  std::optional<Status> outcome;

 private:
  void finished(Status status) override { outcome = std::move(status); }

  const std::string name_;
};

TEST_F(MemcachedItems, AreDecidedByLoopsToo) {
  const std::unique_ptr<StoreLoop> loop = store_.new_loop();
  std::vector<std::unique_ptr<LoopRequest>> requests;
  for (int i = 0; i < 300; ++i) {
    requests.push_back(std::make_unique<LoopRequest>(
        loop.get(), limit_, "caller" + std::to_string(i % 100)));
    Status status;
    ASSERT_FALSE(store_.start(requests.back().get(), &status));
  }
  const auto deadline = std::chrono::steady_clock::now() + seconds(30);
  const auto is_open = [](const auto& one) { return !one->outcome; };
  while (std::ranges::any_of(requests, is_open)) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    pollfd watched{loop->fd(), POLLIN, 0};
    poll(&watched, 1, 1000);
    loop->run();
  }
  int admitted = 0;
  for (const auto& one : requests) {
    EXPECT_TRUE(one->outcome->ok()) << one->outcome->message();
    admitted += one->plan().levels[0].verdict.limited ? 0 : 1;
  }
  EXPECT_EQ(admitted, 200);
  EXPECT_EQ(store_.stats().connects, 1);
}

// All of them compete for one item: each is admitted, and none twice.
TEST_F(MemcachedItems, AreChargedByManyRequestsOfALoop) {
  const Limit limit = simple_limit(hours(1), 300);
  const std::unique_ptr<StoreLoop> loop = store_.new_loop();
  std::vector<std::unique_ptr<LoopRequest>> requests;
  for (int i = 0; i < 400; ++i) {
    requests.push_back(
        std::make_unique<LoopRequest>(loop.get(), limit, "alex"));
    Status status;
    ASSERT_FALSE(store_.start(requests.back().get(), &status));
  }
  const auto deadline = std::chrono::steady_clock::now() + seconds(30);
  const auto is_open = [](const auto& one) { return !one->outcome; };
  while (std::ranges::any_of(requests, is_open)) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    pollfd watched{loop->fd(), POLLIN, 0};
    poll(&watched, 1, 1000);
    loop->run();
  }
  int admitted = 0;
  for (const auto& one : requests) {
    EXPECT_TRUE(one->outcome->ok()) << one->outcome->message();
    admitted += one->plan().levels[0].verdict.limited ? 0 : 1;
  }
  EXPECT_EQ(admitted, 300);
}

// Those that wait for their turn are cancelled with the others.
TEST_F(MemcachedItems, OfALoopThatEndsAreCancelled) {
  std::unique_ptr<StoreLoop> loop = store_.new_loop();
  std::vector<std::unique_ptr<LoopRequest>> requests;
  for (int i = 0; i < 100; ++i) {
    requests.push_back(
        std::make_unique<LoopRequest>(loop.get(), limit_, "alex"));
    Status status;
    ASSERT_FALSE(store_.start(requests.back().get(), &status));
  }
  const auto is_done = [](const auto& one) { return one->outcome.has_value(); };
  const auto deadline = std::chrono::steady_clock::now() + seconds(30);
  while (std::ranges::none_of(requests, is_done)) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    pollfd watched{loop->fd(), POLLIN, 0};
    poll(&watched, 1, 1000);
    loop->run();
  }
  loop.reset();
  int cancelled = 0;
  for (const auto& one : requests) {
    ASSERT_TRUE(one->outcome);
    cancelled += one->outcome->code() == Code::kCancelled ? 1 : 0;
  }
  EXPECT_GT(cancelled, 0);
}

// Whoever has the turn at fork() has it in the parent only.
TEST_F(MemcachedItems, AChildOfForkWaitsForNobody) {
  const Limit limit = simple_limit(hours(1), 1000);
  const std::unique_ptr<StoreLoop> loop = store_.new_loop();
  std::vector<std::unique_ptr<LoopRequest>> requests;
  const auto start = [&](int count) {
    for (int i = 0; i < count; ++i) {
      requests.push_back(
          std::make_unique<LoopRequest>(loop.get(), limit, "alex"));
      Status status;
      store_.start(requests.back().get(), &status);
    }
  };
  const auto is_done = [](const auto& one) { return one->outcome.has_value(); };
  const auto run_until = [&](const auto& is_so) {
    const auto deadline = std::chrono::steady_clock::now() + seconds(30);
    while (!is_so()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      pollfd watched{loop->fd(), POLLIN, 0};
      poll(&watched, 1, 1000);
      loop->run();
    }
    return true;
  };
  const auto all_done = [&] { return std::ranges::all_of(requests, is_done); };
  start(100);
  ASSERT_TRUE(
      run_until([&] { return std::ranges::any_of(requests, is_done); }));
  ASSERT_FALSE(all_done());
  const pid_t child = fork();
  if (child == 0) {
    requests.clear();
    start(20);
    _exit(run_until(all_done) ? 0 : 1);
  }
  EXPECT_TRUE(run_until(all_done));
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace limitree::memcached

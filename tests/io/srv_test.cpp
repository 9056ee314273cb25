#include "io/srv.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/dns_name.hpp"
#include "core/sanitizers.hpp"
#include "io/name_server.hpp"
#include "io/socket.hpp"

namespace limitree {
namespace {

constexpr const char* kName = "_memcached._tcp.example.test";

std::string question() {
  return dns_number(0x1234, 2) + dns_number(0x0100, 2) + dns_number(1, 2) +
         dns_number(0, 6) + dns_name(kName) + dns_number(33, 2) +
         dns_number(1, 2);
}

std::string read(const std::string& message, SrvList* list) {
  return read_srv(
      {reinterpret_cast<const unsigned char*>(message.data()), message.size()},
      list);
}

std::string texts_of(const std::vector<Endpoint>& list) {
  std::string texts;
  for (const Endpoint& one : list) texts += one.text() + ' ';
  return texts;
}

// "" and the servers, or what is wrong.
std::string read_records(const std::vector<DnsRecord>& records) {
  SrvList list;
  const std::string wrong = read(dns_message(question(), {records}), &list);
  return wrong.empty() ? texts_of(list.servers) : wrong;
}

TEST(SrvName, HasServiceProtocolAndDomain) {
  for (const char* const name :
       {kName, "_m._t.x", "_memcache._tcp.a-b.svc.cluster.local."}) {
    EXPECT_TRUE(is_srv_name(name)) << name;
  }
  for (const std::string& name :
       {std::string(), std::string("memcached"), std::string("a._tcp.x"),
        std::string("_a.tcp.x"), std::string("_a._tcp"),
        std::string("_a._tcp."), std::string("_._tcp.x"), std::string("_a._.x"),
        std::string("_a._tcp.x y"), std::string("_a._tcp.x\n"),
        std::string("_a._tcp.") + std::string(250, 'x')}) {
    EXPECT_FALSE(is_srv_name(name)) << name;
  }
}

TEST(SrvAnswer, NamesTheServersOfTheBestPriorityInOneOrder) {
  EXPECT_EQ(
      read_records(
          {srv_record(1, 5, 11212, "b.test"), srv_record(1, 7, 11211, "B.test"),
           srv_record(1, 0, 11211, "a.test"), srv_record(1, 9, 11211, "a.test"),
           srv_record(2, 1, 11211, "backup.test")}),
      "a.test:11211 b.test:11211 b.test:11212 ");
}

TEST(SrvAnswer, LivesAsLongAsItsFirstRecordToEnd) {
  SrvList list;
  EXPECT_EQ(read(dns_message(question(), {{srv_record(1, 1, 1, "a.test", 30),
                                           srv_record(1, 1, 1, "b.test", 20)}}),
                 &list),
            "");
  EXPECT_EQ(list.time_to_live, 20 * kOneSecond);
}

TEST(SrvAnswer, LeavesOutWhatIsNoServer) {
  const DnsRecord alias{5, 60, dns_name("other.test")};
  EXPECT_EQ(read_records({alias,
                          srv_record(0, 0, 0, "a.test"),
                          srv_record(0, 0, 1, "two words.test"),
                          srv_record(0, 0, 1, "line\n.test"),
                          {33, 60, "short"},
                          srv_record(3, 0, 1, "c.test")}),
            "c.test:1 ");
  EXPECT_EQ(read_records({alias}), "it names no server");
  // The root says that there is no such service.
  EXPECT_EQ(read_records({srv_record(0, 0, 0, "")}), "it names no server");
  EXPECT_EQ(read_records({srv_record(0, 0, 9, "")}), "it names no server");
}

TEST(SrvAnswer, HasABoundedNumberOfServers) {
  std::vector<DnsRecord> records;
  for (std::size_t i = 0; i < SrvList::kMaxServers; ++i) {
    records.push_back(srv_record(0, 0, 1, std::to_string(i) + ".test"));
  }
  EXPECT_TRUE(read_records(records).ends_with("99.test:1 "));
  records.push_back(srv_record(0, 0, 1, "more.test"));
  EXPECT_EQ(read_records(records), "it names 257 servers, more than 256");
}

TEST(SrvAnswer, DamageIsAnError) {
  const std::string message = dns_message(
      question(), {{srv_record(0, 0, 1, "a.test"), srv_record(0, 0, 1, "b")}});
  SrvList list;
  for (std::size_t size = 0; size < message.size(); ++size) {
    EXPECT_EQ(read(message.substr(0, size), &list),
              "the answer of a name server is damaged");
  }
  EXPECT_EQ(read(message, &list), "");
  // A name that points to itself, and one behind the end.
  for (const char* const pointer : {"\xc0\x0c", "\xff\xff"}) {
    std::string looped = message;
    looped.replace(12, 2, pointer);
    list = {};
    read(looped, &list);
    EXPECT_LE(list.servers.size(), 2U);
  }
}

// ---- servers of a name ------------------------------------------------------

// What the name server says, and how often it was asked.
class Names {
 public:
  void say(DnsAnswer answer) {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
  }
  void serve(int port) { say({{srv_record(0, 0, port, "a.test", 60)}}); }
  int asked() const { return asked_; }

 private:
  std::mutex mutex_;
  DnsAnswer answer_;
  std::atomic<int> asked_{0};
  NameServer server_{[this](const std::string& name) {
    ++asked_;
    const std::lock_guard lock(mutex_);
    return name == kName ? answer_ : DnsAnswer{{}, 3};
  }};
};

// The servers that it has told last, and how often it told some.
class Told {
 public:
  SrvServers::Listener listener() {
    return [this](const std::vector<Endpoint>& servers) {
      last = texts_of(servers);
      ++times;
    };
  }

  std::string last;
  int times = 0;
};

// Waits for a question that is under way.
void wait_for_answer(SrvServers* servers) {
  if (const auto asked = servers->asked()) {
    ASSERT_TRUE(
        wait_for(asked->fd(), false, after(steady_now(), 60 * kOneSecond)));
    ASSERT_TRUE(asked->done());
  }
}

void ask(SrvServers* servers, Monotonic now) {
  servers->look(now);
  wait_for_answer(servers);
  servers->look(now);
}

TEST(SrvServers, AreLookedUpWithoutWaiting) {
  Names names;
  names.serve(7);
  Told told;
  SrvServers servers(kName, {}, told.listener());
  EXPECT_EQ(names.asked(), 0);
  servers.look(steady_now());
  wait_for_answer(&servers);
  EXPECT_EQ(told.times, 0);
  servers.look(steady_now());
  EXPECT_EQ(told.last, "a.test:7 ");
  EXPECT_EQ(servers.asked(), nullptr);
  EXPECT_EQ(servers.detail(), "");
}

TEST(SrvServers, MayBeMoreThanFitIntoADatagram) {
  Names names;
  std::vector<DnsRecord> records;
  for (int i = 100; i < 200; ++i) {
    records.push_back(srv_record(0, 0, i, "a.test"));
  }
  names.say({records});
  std::size_t count = 0;
  SrvServers servers(
      kName, {}, [&](const std::vector<Endpoint>& all) { count = all.size(); });
  ask(&servers, steady_now());
  EXPECT_EQ(count, 100U) << servers.detail();
}

TEST(SrvServers, AreAskedForAgainWhenTheirTimeIsOver) {
  Names names;
  names.serve(7);
  Told told;
  SrvServers servers(kName, {}, told.listener());
  const Monotonic begin = steady_now();
  ask(&servers, begin);
  const Monotonic end = begin + 60 * kOneSecond;
  ask(&servers, end - Duration(1));
  EXPECT_EQ(names.asked(), 1);
  ask(&servers, end);
  EXPECT_EQ(names.asked(), 2);
  EXPECT_EQ(told.times, 1);  // the same answer is the same list
  names.serve(8);
  servers.look(end + 60 * kOneSecond);
  wait_for_answer(&servers);
  EXPECT_EQ(told.last, "a.test:7 ");
  servers.look(end + 60 * kOneSecond);
  EXPECT_EQ(told.last, "a.test:8 ");
}

TEST(SrvServers, AreAskedForAfterAFixedTimeIfThereIsOne) {
  Names names;
  names.serve(7);
  Told told;
  SrvServers servers(kName, kOneSecond, told.listener());
  const Monotonic begin = steady_now();
  ask(&servers, begin);
  ask(&servers, begin + kOneSecond - Duration(1));
  EXPECT_EQ(names.asked(), 1);
  ask(&servers, begin + kOneSecond);
  EXPECT_EQ(names.asked(), 2);
}

TEST(SrvServers, TheirTimeHasBounds) {
  Names names;
  names.say({{srv_record(0, 0, 7, "a.test", 0)}});
  Told told;
  SrvServers servers(kName, {}, told.listener());
  Monotonic now = steady_now();
  ask(&servers, now);
  now += SrvServers::kLeastTime - Duration(1);
  ask(&servers, now);
  EXPECT_EQ(names.asked(), 1);
  names.say({{srv_record(0, 0, 7, "a.test", 0xffffffff)}});
  ask(&servers, now += Duration(1));
  EXPECT_EQ(names.asked(), 2);
  ask(&servers, now += SrvServers::kMostTime);
  EXPECT_EQ(names.asked(), 3);
}

TEST(SrvServers, FailuresKeepTheLastList) {
  Names names;
  names.serve(7);
  Told told;
  SrvServers servers(kName, kOneSecond, told.listener());
  Monotonic now = steady_now();
  ask(&servers, now);
  const std::pair<DnsAnswer, std::string> failures[] = {
      {{{}, 3}, "name or service not known"},
      {{{}, 2}, "temporary failure in name resolution"},
      {{}, "it has no SRV records"},
      {{{{33, 60, "short"}}}, "it names no server"}};
  for (const auto& [answer, detail] : failures) {
    names.say(answer);
    const int asked = names.asked();
    ask(&servers, now += SrvServers::kRetryTime);
    EXPECT_EQ(servers.detail(), detail);
    EXPECT_GT(names.asked(), asked);
    servers.look(now + SrvServers::kRetryTime - Duration(1));
    EXPECT_EQ(servers.asked(), nullptr);
  }
  EXPECT_EQ(told.times, 1);
  names.serve(8);
  ask(&servers, now + SrvServers::kRetryTime);
  EXPECT_EQ(told.last, "a.test:8 ");
  EXPECT_EQ(servers.detail(), "");
}

TEST(SrvServers, WhatTheListenerHasNotTakenIsToldAgain) {
  Names names;
  names.serve(7);
  bool fails = true;
  std::string told;
  SrvServers servers(kName, kOneSecond, [&](const std::vector<Endpoint>& list) {
    if (std::exchange(fails, false)) throw std::bad_alloc();
    told = texts_of(list);
  });
  Monotonic now = steady_now();
  EXPECT_THROW(ask(&servers, now), std::bad_alloc);
  ask(&servers, now += kOneSecond);
  EXPECT_EQ(told, "a.test:7 ");
}

TEST(SrvServers, OneQuestionAtATime) {
  Names names;
  names.say({{}, -1});
  Told told;
  SrvServers servers(kName, {}, told.listener());
  const Monotonic now = steady_now();
  servers.look(now);
  const auto asked = servers.asked();
  ASSERT_NE(asked, nullptr);
  servers.look(now + 3'600 * kOneSecond);
  EXPECT_EQ(servers.asked(), asked);
  names.serve(7);  // for the resolver's next attempt, or a later test
}

TEST(SrvServers, AChildOfForkAsksAnew) {
  if (limitree::kThreadSanitized) {
    GTEST_SKIP() << "its children cannot start threads";
  }
  Names names;
  names.say({{}, -1});
  Told told;
  SrvServers servers(kName, {}, told.listener());
  servers.look(steady_now());
  ASSERT_NE(servers.asked(), nullptr);
  servers.before_fork();
  const pid_t child = fork();
  if (child == 0) {
    servers.after_fork_in_child();
    const bool forgotten = servers.asked() == nullptr;
    servers.look(steady_now());
    _exit(forgotten && servers.asked() != nullptr ? 0 : 1);
  }
  servers.after_fork();
  EXPECT_NE(servers.asked(), nullptr);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace limitree

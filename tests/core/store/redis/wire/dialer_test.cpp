// Look-ups of names, with a resolver that is as slow as a test wants it to be.

#include "io/dialer.hpp"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/sanitizers.hpp"
#include "core/store/redis/fake_server.hpp"
#include "core/store/redis/wire.hpp"
#include "io/lookup.hpp"

namespace limitree::redis::dialer_test {
namespace {

// What the fake resolver answers.
struct Names {
  std::mutex mutex;  // guards the rest
  std::condition_variable changed;
  std::vector<std::string> addresses;  // of "name.test" and "late.test"
  int looked_up = 0;                   // look-ups of these since mean()
  bool held = false;  // look-ups of "slow.test" and "late.test" block
  int waiting = 0;    // look-ups that block now

  void hold() {
    const std::lock_guard lock(mutex);
    held = true;
  }
  void release() {
    std::unique_lock lock(mutex);
    held = false;
    changed.notify_all();
    changed.wait(lock, [this] { return waiting == 0; });
  }
  bool are_waiting(int count) {
    const std::lock_guard lock(mutex);
    return waiting == count;
  }
  void wait_until_waiting(int count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return waiting == count; });
  }
};

Names& names() {
  static auto* const all = new Names;
  return *all;
}

using LookUp = decltype(getaddrinfo);

LookUp* system_resolver() {
  static auto* const function =
      reinterpret_cast<LookUp*>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return function;
}

void wait_while_held() {
  std::unique_lock lock(names().mutex);
  ++names().waiting;
  names().changed.notify_all();
  names().changed.wait(lock, [] { return !names().held; });
  --names().waiting;
  names().changed.notify_all();
}

int look_up_test_name(const char* service, const addrinfo* hints,
                      addrinfo** result) {
  std::vector<std::string> addresses;
  {
    const std::lock_guard lock(names().mutex);
    addresses = names().addresses;
    ++names().looked_up;
  }
  addrinfo** end = result;
  *end = nullptr;
  addrinfo numeric = *hints;
  numeric.ai_flags |= AI_NUMERICHOST;
  for (const std::string& address : addresses) {
    const int error =
        system_resolver()(address.c_str(), service, &numeric, end);
    if (error != 0) return error;
    end = &(*end)->ai_next;
  }
  return addresses.empty() ? EAI_NONAME : 0;
}

}  // namespace
}  // namespace limitree::redis::dialer_test

// Replaces the system's resolver.
extern "C" int getaddrinfo(const char* host, const char* service,
                           const addrinfo* hints, addrinfo** result) {
  using namespace limitree::redis::dialer_test;  // NOLINT: only here
  const std::string_view name(host);
  const bool numeric = (hints->ai_flags & AI_NUMERICHOST) != 0;
  if (name == "slow.test" && !numeric) {
    wait_while_held();
    return EAI_NONAME;
  }
  if (name == "late.test" && !numeric) wait_while_held();
  if ((name == "name.test" || name == "late.test") && !numeric) {
    return look_up_test_name(service, hints, result);
  }
  return system_resolver()(host, service, hints, result);
}

namespace limitree::redis::dialer_test {
namespace {

Endpoint endpoint_of(const std::string& host, int port = 6379) {
  Endpoint endpoint;
  endpoint.host = host;
  endpoint.port = static_cast<std::uint16_t>(port);
  return endpoint;
}

void mean(std::vector<std::string> addresses) {
  const std::lock_guard lock(names().mutex);
  names().addresses = std::move(addresses);
  names().looked_up = 0;
}

// The address as text, such as "127.0.0.1:6379".
std::string text_of(const SocketAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.bytes.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address.bytes);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return text + (":" + std::to_string(ntohs(v4.sin_port)));
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address.bytes);
  inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
  return text + (":" + std::to_string(ntohs(v6.sin6_port)));
}

std::vector<std::string> texts_of(const Resolver& resolver) {
  std::vector<std::string> texts;
  for (const SocketAddress& address : resolver.addresses()) {
    texts.push_back(text_of(address));
  }
  return texts;
}

// Waits as a caller does: until the descriptor is readable.
void wait_for(Resolver* resolver) {
  while (!resolver->done()) {
    pollfd watched{resolver->fd(), POLLIN, 0};
    ASSERT_EQ(poll(&watched, 1, 10'000), 1);
  }
}

using Texts = std::vector<std::string>;

// ---- what needs no look-up --------------------------------------------------

TEST(Resolver, KnowsNumericAddressesAtOnce) {
  Resolver v4(endpoint_of("127.0.0.1", 7));
  EXPECT_TRUE(v4.done());
  EXPECT_EQ(v4.fd(), -1);
  EXPECT_EQ(texts_of(v4), Texts{"127.0.0.1:7"});
  Resolver v6(endpoint_of("2001:db8::1", 65535));
  EXPECT_TRUE(v6.done());
  EXPECT_EQ(texts_of(v6), Texts{"2001:db8::1:65535"});
}

TEST(Resolver, KnowsUnixSocketsAtOnce) {
  Endpoint endpoint;
  endpoint.socket = "/run/redis.sock";
  Resolver resolver(endpoint);
  EXPECT_TRUE(resolver.done());
  ASSERT_EQ(resolver.addresses().size(), 1U);
  const SocketAddress& address = resolver.addresses()[0];
  EXPECT_EQ(address.bytes.ss_family, AF_UNIX);
  EXPECT_STREQ(reinterpret_cast<const sockaddr_un&>(address.bytes).sun_path,
               "/run/redis.sock");
}

TEST(Resolver, RefusesPathsThatAreTooLong) {
  Endpoint endpoint;
  const std::size_t most = sizeof(sockaddr_un::sun_path) - 1;
  endpoint.socket = "/" + std::string(most - 1, 'x');
  EXPECT_EQ(Resolver(endpoint).addresses().size(), 1U);
  endpoint.socket += "x";
  Resolver resolver(endpoint);
  EXPECT_TRUE(resolver.done());
  EXPECT_TRUE(resolver.addresses().empty());
  EXPECT_EQ(resolver.detail(), "the path of the socket is too long");
}

// ---- names ------------------------------------------------------------------

TEST(Resolver, LooksUpNames) {
  Resolver resolver(endpoint_of("localhost", 7));
  wait_for(&resolver);
  EXPECT_EQ(resolver.fd(), -1);
  const Texts texts = texts_of(resolver);
  EXPECT_NE(std::find(texts.begin(), texts.end(), "127.0.0.1:7"), texts.end());
}

TEST(Resolver, KeepsTheOrderOfTheSystem) {
  mean({"127.0.0.3", "::1", "127.0.0.2"});
  Resolver resolver(endpoint_of("name.test", 7));
  wait_for(&resolver);
  EXPECT_EQ(texts_of(resolver), (Texts{"127.0.0.3:7", "::1:7", "127.0.0.2:7"}));
  EXPECT_EQ(resolver.detail(), "");
}

TEST(Resolver, TellsWhyThereIsNoAddress) {
  mean({});
  Resolver resolver(endpoint_of("name.test"));
  wait_for(&resolver);
  EXPECT_TRUE(resolver.addresses().empty());
  EXPECT_EQ(resolver.detail(), "name or service not known");
}

TEST(Resolver, DoesNotWait) {
  names().hold();
  {
    Resolver resolver(endpoint_of("slow.test"));
    names().wait_until_waiting(1);
    EXPECT_FALSE(resolver.done());
    ASSERT_GE(resolver.fd(), 0);
    pollfd watched{resolver.fd(), POLLIN, 0};
    EXPECT_EQ(poll(&watched, 1, 0), 0);
    EXPECT_FALSE(resolver.done());
  }
  names().release();
}

TEST(Resolver, MayBeForgottenAtAnyTime) {
  mean({"127.0.0.1"});
  for (int i = 0; i < 200; ++i) {
    const Resolver resolver(endpoint_of("name.test"));
  }
  SUCCEED();
}

// Starts as many look-ups as may run at once.  None of them ends.  Look-ups of
// earlier tests may still count, because they do so until their threads have
// ended.
std::vector<std::unique_ptr<Resolver>> as_many_as_may_be() {
  std::vector<std::unique_ptr<Resolver>> resolvers;
  for (int i = 0; i < Lookup::kMaxThreads; ++i) {
    resolvers.push_back(std::make_unique<Resolver>(endpoint_of("slow.test")));
  }
  while (!names().are_waiting(Lookup::kMaxThreads)) {
    for (const auto& one : resolvers) one->done();
    std::this_thread::yield();
  }
  return resolvers;
}

// A look-up without an answer keeps its thread until the system's resolver
// gives up.  Others wait until it has.
TEST(Resolver, BoundsTheThreadsOfAProcess) {
  mean({"127.0.0.1"});
  names().hold();
  auto resolvers = as_many_as_may_be();
  Resolver one_more(endpoint_of("name.test", 7));
  for (int i = 0; i < 20; ++i) {  // it tries again, each time
    ASSERT_FALSE(one_more.done());
    pollfd watched{one_more.fd(), POLLIN, 0};
    ASSERT_EQ(poll(&watched, 1, 10'000), 1);
  }
  // Numeric addresses need no thread.
  EXPECT_TRUE(Resolver(endpoint_of("127.0.0.1")).done());
  EXPECT_TRUE(names().are_waiting(Lookup::kMaxThreads));
  resolvers.clear();
  names().release();
  wait_for(&one_more);
  EXPECT_EQ(texts_of(one_more), Texts{"127.0.0.1:7"});
}

// The child inherits none of the threads, so it may start as many of its own.
TEST(Resolver, StartsAnewInTheChildOfAFork) {
  if (kThreadSanitized) {
    GTEST_SKIP() << "a forked child must not start threads under TSan";
  }
  mean({"127.0.0.1"});
  names().hold();
  auto resolvers = as_many_as_may_be();
  names().wait_until_waiting(Lookup::kMaxThreads);
  const pid_t child = fork();
  if (child == 0) {
    for (const auto& resolver : resolvers) resolver->abandon_after_fork();
    Resolver own(endpoint_of("name.test", 7));
    wait_for(&own);
    _exit(texts_of(own) == Texts{"127.0.0.1:7"} ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  resolvers.clear();
  names().release();
}

// ---- connections to names ---------------------------------------------------

const Settings kSettings{};
const Login kNoLogin{"", "", 0, ""};

void answer_ping(Peer& peer) {
  peer.expect(resp({"PING"}));
  peer.send("+PONG\r\n");
  peer.wait_for_end();
}

TEST(Dialer, TriesOneAddressAfterTheOther) {
  FakeServer server(answer_ping);
  mean({"127.0.0.2", "::1", "127.0.0.3", "127.0.0.1"});
  Wire connection(endpoint_of("name.test", server.port()), kSettings, kNoLogin);
  EXPECT_EQ(ask(&connection, {"PING"}), "PONG");
}

TEST(Dialer, TellsWhenAllHaveRefused) {
  FakeServer server(answer_ping);
  mean({"127.0.0.2", "127.0.0.3"});
  Wire connection(endpoint_of("name.test", server.port()), kSettings, kNoLogin);
  EXPECT_EQ(ask(&connection, {"PING"}), "not sent: refused");
  EXPECT_EQ(connection.detail(), "connection refused");
}

TEST(Dialer, LooksUpTheNameForEachConnection) {
  FakeServer server(answer_ping);
  const Endpoint endpoint = endpoint_of("name.test", server.port());
  mean({"127.0.0.2"});
  {
    Wire connection(endpoint, kSettings, kNoLogin);
    EXPECT_EQ(ask(&connection, {"PING"}), "not sent: refused");
  }
  mean({"127.0.0.1"});
  for (int i = 1; i <= 3; ++i) {
    Wire connection(endpoint, kSettings, kNoLogin);
    EXPECT_EQ(ask(&connection, {"PING"}), "PONG");
    const std::lock_guard lock(names().mutex);
    EXPECT_EQ(names().looked_up, i);
  }
}

// The first address uses up the time of the first attempt.
TEST(Dialer, BeginsWithAnotherAddressAfterOneThatDidNotAnswer) {
  FakeServer server(answer_ping);
  const DeafServer deaf("127.0.0.2", server.port());
  mean({"127.0.0.2", "127.0.0.1"});
  const Endpoint endpoint = endpoint_of("name.test", server.port());
  int attempts = 0;
  std::string answer;
  while (answer != "PONG" && attempts < 3) {
    ++attempts;
    Wire connection(endpoint, kSettings, kNoLogin);
    TestCommand command({"PING"});
    connection.push(&command);
    run_until(
        &connection, [&] { return command.done(); },
        std::chrono::milliseconds(100));
    connection.close(Failure::kTimeout, "no answer");
    answer = command.text();
  }
  EXPECT_EQ(answer, "PONG");
  EXPECT_LE(attempts, 2);
}

TEST(Dialer, WhatIsPushedWhileTheNameIsLookedUpIsNotLost) {
  FakeServer server(answer_ping);
  mean({"127.0.0.1"});
  names().hold();
  TestCommand command({"PING"});
  Wire connection(endpoint_of("late.test", server.port()), kSettings, kNoLogin);
  connection.push(&command);
  connection.flush();
  names().wait_until_waiting(1);
  connection.run();
  EXPECT_GE(connection.fd(), 0);
  EXPECT_FALSE(connection.wants_write());
  names().release();
  EXPECT_TRUE(run_until(&connection, [&] { return command.done(); }));
  EXPECT_EQ(command.text(), "PONG");
}

TEST(Dialer, MayBeGivenUpWhileTheNameIsLookedUp) {
  names().hold();
  {
    Wire connection(endpoint_of("slow.test"), kSettings, kNoLogin);
    TestCommand command({"PING"});
    connection.push(&command);
    connection.close(Failure::kTimeout, "no answer");
    EXPECT_EQ(command.text(), "not sent: timeout");
    names().wait_until_waiting(1);
  }
  names().release();
}

TEST(Dialer, IsAbandonedInTheChildOfAFork) {
  names().hold();
  {
    TestCommand command({"PING"});
    Wire connection(endpoint_of("slow.test"), kSettings, kNoLogin);
    connection.push(&command);
    names().wait_until_waiting(1);
    const int fd = connection.fd();
    const pid_t child = fork();
    if (child == 0) {
      connection.abandon_after_fork();
      const bool forgotten = connection.closed() && connection.fd() == -1 &&
                             !command.done() && fcntl(fd, F_GETFD) == -1;
      _exit(forgotten ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(connection.fd(), fd);
  }
  names().release();
}

TEST(Dialer, TellsThatANameHasNoAddress) {
  mean({});
  Wire connection(endpoint_of("name.test"), kSettings, kNoLogin);
  EXPECT_EQ(ask(&connection, {"PING"}), "not sent: resolve");
  EXPECT_EQ(connection.detail(), "name or service not known");
}

}  // namespace
}  // namespace limitree::redis::dialer_test

// The store with real servers: the cases that every store must pass, and cases
// that only a remote store can meet.

#include "store/redis/redis_store.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>

#include "core/store/redis/redis_fixture.hpp"
#include "core/store/redis/redis_server.hpp"
#include "core/store/redis/store_settings.hpp"
#include "core/store/store_cases.hpp"
#include "store/redis/common/remote.hpp"
#include "store/remote/wire/tls_certificates.hpp"

namespace limitree::redis {
namespace {

struct Plain {
  static Settings settings() {
    static RedisServer server;
    return store_settings("redis://127.0.0.1:" + std::to_string(server.port()));
  }
};

struct UnixSocket {
  static Settings settings() {
    static RedisServer server;
    return store_settings("redis+unix://" + server.socket() + "?db=3");
  }
};

// Only the rights that docs/redis.md says are needed.
struct Acl {
  static Settings settings() {
    static RedisServer server(
        {.config = {"user app on >s3cret%: ~test* resetchannels -@all "
                    "+evalsha +eval +time +hmget +hgetall +hset +hdel +hlen "
                    "+hexists +expire +del +ping +select +client|setname"}});
    return store_settings("valkey://app:s3cret%25%3A@localhost:" +
                          std::to_string(server.port()) + "/2");
  }
};

struct Tls {
  static Settings settings() {
    static RedisServer server({.tls = true, .tls_clients = true});
    Settings settings = store_settings("rediss://localhost:" +
                                       std::to_string(server.tls_port()));
    settings.tls.ca_file = server.file("ca.crt");
    settings.tls.cert_file = server.file("client.crt");
    settings.tls.key_file = server.file("client.key");
    settings.certificates = std::make_shared<TlsCertificates>(settings.tls);
    return settings;
  }
};

// Limits of a second are on another server.
struct TwoParts {
  static Settings settings() {
    static RedisServer server;
    Settings settings = Plain::settings();
    Settings other = settings;
    other.url.endpoints.front().port =
        static_cast<std::uint16_t>(server.port());
    settings.per_second = std::make_shared<const Settings>(std::move(other));
    return settings;
  }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Redis, StoreCases, RedisFixture<Plain>);
INSTANTIATE_TYPED_TEST_SUITE_P(RedisTwoParts, StoreCases,
                               RedisFixture<TwoParts>);
INSTANTIATE_TYPED_TEST_SUITE_P(RedisUnix, StoreCases, RedisFixture<UnixSocket>);
INSTANTIATE_TYPED_TEST_SUITE_P(RedisAcl, StoreCases, RedisFixture<Acl>);
INSTANTIATE_TYPED_TEST_SUITE_P(RedisTls, StoreCases, RedisFixture<Tls>);
INSTANTIATE_TYPED_TEST_SUITE_P(RedisCached, StoreCases, CachedFixture<Plain>);
INSTANTIATE_TYPED_TEST_SUITE_P(RedisTlsCached, StoreCases, CachedFixture<Tls>);

bool allowed(Store* store, const Limit& limit, const std::string& name) {
  return !Request(Operation::kAuthorize, {name})
              .level(limit, 1)
              .decide(store)
              .limited;
}

// Two processes with four threads each together admit exactly the capacity.
// The bucket regains nothing during the test.
TEST(RedisStore, AdmitsTheCapacityOverAllProcesses) {
  constexpr int kCapacity = 500;
  const Settings settings = Plain::settings();
  const Limit limit = simple_limit(std::chrono::hours(1), kCapacity);
  const auto hammer = [&] {
    RedisStore store(settings, std::nullopt);
    std::atomic<int> admitted = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 150; ++i) {
          admitted += allowed(&store, limit, "shared") ? 1 : 0;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return admitted.load();
  };
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    const int admitted = hammer();
    const bool told =
        write(pipe_ends[1], &admitted, sizeof admitted) == sizeof admitted;
    _exit(told ? 0 : 1);
  }
  const int ours = hammer();
  int theirs = 0;
  ASSERT_EQ(read(pipe_ends[0], &theirs, sizeof theirs),
            static_cast<ssize_t>(sizeof theirs));
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(ours + theirs, kCapacity);
  EXPECT_GT(ours, 0);
  EXPECT_GT(theirs, 0);
}

// A program that the host process starts must not inherit a connection, because
// it could keep it open or read from it.
TEST(RedisStore, DescriptorsDoNotSurviveExec) {
  const auto without_cloexec = [] {
    std::set<int> found;
    for (int fd = 0; fd < 1024; ++fd) {
      const int flags = fcntl(fd, F_GETFD);
      if (flags != -1 && (flags & FD_CLOEXEC) == 0) found.insert(fd);
    }
    return found;
  };
  const Settings settings = Plain::settings();
  const std::set<int> before = without_cloexec();
  RedisStore store(settings, std::nullopt);
  const Limit limit = simple_limit(std::chrono::hours(1), 100);
  EXPECT_TRUE(allowed(&store, limit, "alex"));
  const std::unique_ptr<StoreLoop> loop = store.new_loop();
  EXPECT_GE(loop->fd(), 0);
  EXPECT_EQ(without_cloexec(), before);
}

}  // namespace
}  // namespace limitree::redis

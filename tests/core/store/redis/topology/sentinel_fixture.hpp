// A primary with two replicas, and three sentinels that monitor them.

#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/store/redis/redis_server.hpp"

namespace limitree::redis {

struct SentinelFixtureOptions {
  std::string password = {};           // of the servers
  std::string sentinel_password = {};  // of the sentinels
  // Further configuration lines.
  std::vector<std::string> config = {};
  std::vector<std::string> sentinel_config = {};
};

class SentinelFixture {
 public:
  static constexpr int kServers = 3;
  static constexpr int kSentinels = 3;
  static constexpr const char* kService = "mymaster";

  // Returns when every sentinel knows all servers and the other sentinels,
  // which takes about three seconds.  Throws std::runtime_error if it takes too
  // long.
  explicit SentinelFixture(SentinelFixtureOptions options = {});

  // At first, server 0 is the primary.
  RedisServer& server(int i) {
    return *servers_.at(static_cast<std::size_t>(i));
  }
  RedisServer& sentinel(int i) {
    return *sentinels_.at(static_cast<std::size_t>(i));
  }

  // redis+sentinel://..., with the password of the servers if they have one.
  std::string url() const;

  // The server that says it is the primary and that most sentinels name; -1
  // while there is none.  To make a server hang, use suspend() below, or this
  // would ask it.
  int primary() const;

  // Waits until there is a primary other than `old`, which may be -1.
  int await_primary(int old) const;

  // "master" or "slave"; empty if the server does not run, or if it closes the
  // connection, as a server does when it becomes a replica.
  std::string role(int server) const;

  void suspend(int server);
  void resume(int server);

 private:
  void start_servers();
  void start_sentinels();
  bool knows_everybody(const RedisServer& sentinel) const;
  bool is_primary(int server) const;

  const SentinelFixtureOptions options_;
  std::array<std::unique_ptr<RedisServer>, kServers> servers_;
  std::array<bool, kServers> suspended_{};
  std::array<std::unique_ptr<RedisServer>, kSentinels> sentinels_;
};

}  // namespace limitree::redis

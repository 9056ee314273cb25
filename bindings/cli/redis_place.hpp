// Where Redis is, from the URL of the option `store`.

#pragma once

#include <string>
#include <vector>

namespace limitree::cli {

struct RedisPlace {
  std::string host;
  int port = 0;
  std::string path;  // of a Unix socket, instead of these

  std::string text() const;
};

struct RedisLogin {
  std::string user;
  std::string password;
  std::string db;
};

struct RedisUrl {
  enum class Kind { kServer, kSentinel, kCluster };

  Kind kind = Kind::kServer;
  std::vector<RedisPlace> places;
  RedisLogin login;
  std::string service;  // of sentinels
  std::string password_file;
};

// The library has checked the URL already: this takes it apart.  Throws
// UsageError if it is not Redis, or needs TLS.
RedisUrl read_redis_place(const std::string& url);

}  // namespace limitree::cli

// Where Redis is, from the URL of the option `store`.

#pragma once

#include <string>
#include <string_view>
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
  std::string password_file;
  std::string service;  // of sentinels
  RedisLogin sentinel_login;
  std::string sentinel_password_file;
};

// Sets an option of a server, from the URL or from beside it.  Others mean
// nothing here.
void set_option(std::string_view name, std::string value, RedisUrl* url);

// The library has checked the URL already: this takes it apart.  Throws
// UsageError if it is not Redis, or needs TLS.
RedisUrl read_redis_place(const std::string& url);

}  // namespace limitree::cli

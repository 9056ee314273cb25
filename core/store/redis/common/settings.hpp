// What a Redis store has beyond what every remote store has.

#pragma once

#include <cstdint>
#include <string>

#include "store/redis/common/remote.hpp"
#include "store/redis/common/url.hpp"
#include "store/remote/common/settings.hpp"

namespace limitree::redis {

// How a connection introduces itself, before the first command of a caller.
struct Login {
  std::string user;                      // empty: the default user
  std::string password;                  // empty: no AUTH is sent
  std::int32_t db = 0;                   // 0: no SELECT is sent
  std::string client_name = "limitree";  // empty: no CLIENT SETNAME is sent
  // The file of the password, read for each connection: see greeting.hpp.
  std::string password_file = {};

  bool has_password() const {
    return !password.empty() || !password_file.empty();
  }
  bool has_two_passwords() const {
    return !password.empty() && !password_file.empty();
  }

  friend bool operator==(const Login&, const Login&) = default;
};

struct Settings : remote::Settings {
  Url url;
  Login login;              // for nodes that keep buckets
  Login sentinel_login;     // for sentinels; their db is always 0
  bool share_calls = true;  // several requests in one call of a script
  SendFunction client;      // for a URL that says so

  // Where the limits of a second are, if not in the same place: another server,
  // Sentinel set-up or cluster.
  std::shared_ptr<const Settings> per_second;

  const Settings& of(bool is_per_second) const {
    return is_per_second && per_second != nullptr ? *per_second : *this;
  }
};

}  // namespace limitree::redis

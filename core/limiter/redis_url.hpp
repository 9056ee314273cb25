// The URL of a Redis store with options that belong to its server:
//
//   rediss://alex@host/0?password_file=/run/secrets/redis&tls_verify=authority
//
// So one text says all about a server.  Names and values are those of the
// options, and values are percent-encoded.

#pragma once

#include <functional>
#include <string_view>

#include "base/status.hpp"
#include "limiter/option_values.hpp"
#include "store/redis/common/settings.hpp"

namespace limitree {

// Sets an option by its name.
using SetOption =
    std::function<Status(std::string_view name, std::string_view value)>;

// Sets what the URL says: where the server is and the login in *settings, the
// options after "?" by `set`.  kInvalidConfig, which never shows the URL.
Status read_redis_url(const Setting& setting, const SetOption& set,
                      redis::Settings* settings);

}  // namespace limitree

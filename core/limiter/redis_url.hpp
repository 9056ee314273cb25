// The URL of a Redis store with options that belong to its server:
//
//   rediss://alex@host/0?password_file=/run/secrets/redis&tls_verify=authority
//
// So one text says all about a server.  Names and values are those of the
// options, and values are percent-encoded.

#ifndef LIMITREE_LIMITER_REDIS_URL_HPP
#define LIMITREE_LIMITER_REDIS_URL_HPP

#include <string_view>

#include "base/status.hpp"
#include "limiter/option_values.hpp"
#include "limiter/options.hpp"

namespace limitree {

// Changes options->redis_settings to what the URL says, or nothing at all.
// kInvalidConfig, which never shows the URL.
Status read_redis_url(const Setting& setting, Options* options);

// The same for options->per_second; no text: there is none.
Status read_per_second_url(const Setting& setting, Options* options);

}  // namespace limitree

#endif  // LIMITREE_LIMITER_REDIS_URL_HPP

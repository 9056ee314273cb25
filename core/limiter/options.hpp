// Every option of a limiter: name, default and meaning in one table.
//
// The names are the same in every language. docs/configuration.md shows this
// table, and a test compares the two.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/limit.hpp"
#include "base/status.hpp"
#include "descriptors/answer.hpp"
#include "descriptors/rule_hits.hpp"
#include "store/clock.hpp"
#include "store/decorators/deny_cache.hpp"
#include "store/decorators/guarded_store.hpp"
#include "store/memcached/url.hpp"
#include "store/memory/memory_store.hpp"
#include "store/redis/common/settings.hpp"
#include "store/shared/shared_url.hpp"

namespace limitree {

// In front of which stores leases are spent: lease_cache.hpp.
enum class Leases : std::uint8_t { kRemote, kAlways, kOff };

// The kind of store, given by the scheme of its URL.
enum class StoreKind : std::uint8_t { kMemory, kShared, kRedis, kMemcached };

struct Options {
  StoreKind store = StoreKind::kMemory;
  std::string store_name;  // its URL without user and password
  shared::SharedUrl shared_url;
  redis::Settings redis_settings;  // the URL's user and database in `login`
  memcached::Url memcached_url;    // the rest is as for Redis
  // What is different for limits of a second: url, logins, tls and, unless it
  // is 0, connect_timeout.
  std::optional<redis::Settings> per_second;
  std::int64_t max_buckets = MemoryStore::kDefaultMaxBuckets;
  std::int64_t max_bytes = 0;  // see log_bytes_of()
  OnStoreError on_store_error = OnStoreError::kRaise;
  Share local_share;
  bool deny_cache = true;
  std::int64_t deny_cache_size = DenyCache::kDefaultMaxBuckets;
  Duration retry_spread{};
  Leases leases = Leases::kRemote;
  Share near_limit{8, 10};
  AnswerModes answer_modes;
  Stop stop_increment = Stop::kOff;
  std::int64_t over_cache_size = 0;  // 0: no OverCache
  std::int64_t max_metric_keys = 10'000;
  Clock clock;
  LogFunction log;
};

// The name of an option of the table; null if `index` is too large.
const char* option_at(std::size_t index);

// Sets the option `name` from text. kInvalidArgument if there is no such
// option; kInvalidConfig if the value is not valid.
Status set_option(std::string_view name, std::string_view value,
                  Options* options);

// Replaces the store with one whose commands a client of the host sends.
void set_client(redis::SendFunction send, bool is_cluster, Options* options);

// Returns kInvalidConfig if the options contradict each other.
Status check_options(const Options& options);

// The table of options in Markdown, as docs/configuration.md shows it.
std::string options_markdown();

}  // namespace limitree

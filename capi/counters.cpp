// Statistics of a limiter.

#include "limiter/counters.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "handles.hpp"

using namespace limitree;
using namespace limitree::capi;

static_assert(sizeof(void*) != 8 || sizeof(limitree_counter) == 64);
static_assert(LIMITREE_SCOPE_SOURCES == to_bit(CounterScope::kSources));
static_assert(LIMITREE_SCOPE_REQUESTS == to_bit(CounterScope::kRequests));
static_assert(LIMITREE_SCOPE_LIMITS == to_bit(CounterScope::kLimits));
static_assert(LIMITREE_SCOPE_REASONS == to_bit(CounterScope::kReasons));
static_assert(LIMITREE_SCOPE_ROUND_TRIPS == to_bit(CounterScope::kRoundTrips));
static_assert(LIMITREE_SCOPE_STORE == to_bit(CounterScope::kStore));
static_assert(LIMITREE_SCOPE_ENVOY == to_bit(CounterScope::kEnvoy));
static_assert(LIMITREE_SCOPE_RULES == to_bit(CounterScope::kRules));

namespace {

using Table = std::array<limitree_counter, kMostCounters>;

// The table of the core, in the form of limitree.h.
const Table& table() {
  static const Table made = [] {
    Table rows{};
    std::size_t i = 0;
    for (const Counter& core : counters()) {
      rows[i++] = {core.name,
                   core.help,
                   label_name(core.scope),
                   to_bit(core.scope),
                   core.is_gauge ? 1 : 0,
                   {}};
    }
    return rows;
  }();
  return made;
}

// Calls `tell` with each counter, by its index, and each of its values.
template <typename Tell>
void each_value(const CounterValues& values, std::uint32_t scopes,
                const Tell& tell) {
  const auto all = counters();
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    const CounterScope scope = all[begin].scope;
    while (end < all.size() && all[end].scope == scope) ++end;
    if ((scopes & to_bit(scope)) == 0) continue;
    for (std::size_t i = 0; i < value_count(values, scope); ++i) {
      const std::string_view label = label_of(values, scope, i);
      for (std::size_t row = begin; row < end; ++row) {
        tell(row, label, all[row].value(values, i));
      }
    }
  }
}

}  // namespace

const limitree_counter* limitree_counter_at(size_t index) {
  return index < counters().size() ? &table()[index] : nullptr;
}

limitree_status limitree_limiter_each_counter(limitree_limiter* limiter,
                                              uint32_t scopes,
                                              limitree_counter_fn fn,
                                              void* user_data,
                                              limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(limiter, "limiter", fn, "fn");
    const CounterValues values = read_counters(&limiter->limiter, scopes);
    each_value(
        values, scopes,
        [&](std::size_t row, std::string_view label, std::int64_t value) {
          fn(&table()[row], {label.data(), label.size()}, value, user_data);
        });
    return {};
  });
}

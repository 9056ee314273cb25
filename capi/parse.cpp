// Texts that mean numbers: durations and rates.

#include <algorithm>

#include "handles.hpp"
#include "text/number.hpp"
#include "tree/go_duration.hpp"
#include "tree/limit_text.hpp"

using limitree::Code;
using limitree::Duration;
using limitree::Result;
using limitree::Status;
using limitree::TextRate;
using limitree::capi::guarded;
using limitree::capi::null_argument;
using limitree::capi::view;

static_assert(sizeof(limitree_rate) == 128);

namespace {

limitree_rate to_rate(const TextRate& rate) {
  limitree_rate out = {};
  out.count = rate.count;
  out.period_ns = rate.period.count();
  out.burst = rate.capacity;
  // Two numbers and a time, which fit.
  const std::string name = limitree::name_of(rate);
  out.size = static_cast<std::int32_t>(name.size());
  std::ranges::copy(name, out.name);
  return out;
}

}  // namespace

limitree_status limitree_parse_duration(limitree_str text, int64_t* duration_ns,
                                        limitree_error** error) {
  return guarded(error, [&]() -> Status {
    const auto given = view(text);
    if (!given) return null_argument("text.data");
    if (duration_ns == nullptr) return null_argument("duration_ns");
    Result<Duration> duration = limitree::parse_duration(*given);
    if (!duration.ok()) return std::move(duration.status());
    if (duration.value() < Duration::zero()) {
      return Status(Code::kInvalidConfig,
                    "must not be negative, is " +
                        limitree::format_duration(duration.value()));
    }
    *duration_ns = duration.value().count();
    return {};
  });
}

limitree_status limitree_parse_go_duration(limitree_str text,
                                           int64_t* duration_ns,
                                           limitree_error** error) {
  return guarded(error, [&]() -> Status {
    const auto given = view(text);
    if (!given) return null_argument("text.data");
    if (duration_ns == nullptr) return null_argument("duration_ns");
    const auto duration = limitree::parse_go_duration(*given);
    if (!duration) {
      return Status(Code::kInvalidConfig,
                    "must be a duration such as 10s or 1h30m");
    }
    *duration_ns = duration->count();
    return {};
  });
}

limitree_status limitree_parse_rates(limitree_str text, limitree_rate* rates,
                                     size_t capacity, size_t* count,
                                     limitree_error** error) {
  return guarded(error, [&]() -> Status {
    const auto given = view(text);
    if (!given) return null_argument("text.data");
    if (rates == nullptr && capacity != 0) return null_argument("rates");
    if (count == nullptr) return null_argument("count");
    Result<std::vector<TextRate>> read = limitree::parse_rates(*given);
    if (!read.ok()) return std::move(read.status());
    const std::vector<TextRate>& found = read.value();
    for (std::size_t i = 0; i < std::min(capacity, found.size()); ++i) {
      rates[i] = to_rate(found[i]);
    }
    *count = found.size();
    return {};
  });
}

// Requests of Envoy: copies in, calls the core, copies out.

#include <algorithm>
#include <chrono>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "convert.hpp"

static_assert(sizeof(void*) != 8 || sizeof(limitree_descriptor) == 64);
static_assert(sizeof(void*) != 8 || sizeof(limitree_envoy_request) == 64);
static_assert(sizeof(void*) != 8 || sizeof(limitree_descriptor_status) == 128);
static_assert(sizeof(void*) != 8 || sizeof(limitree_envoy_response) == 64);

using namespace limitree;
using namespace limitree::capi;

namespace limitree::capi {

static_assert(same(LIMITREE_CODE_OK, LimitCode::kOk));
static_assert(same(LIMITREE_CODE_OVER_LIMIT, LimitCode::kOverLimit));
static_assert(same(LIMITREE_MATCH_NONE, Match::kUnmatched));
static_assert(same(LIMITREE_MATCH_UNLIMITED, Match::kUnlimited));
static_assert(same(LIMITREE_MATCH_REPLACED, Match::kReplaced));
static_assert(same(LIMITREE_MATCH_LIMIT, Match::kLimited));
static_assert(same(LIMITREE_UNIT_UNKNOWN, LimitUnit::kUnknown));
static_assert(same(LIMITREE_UNIT_SECOND, LimitUnit::kSecond));
static_assert(same(LIMITREE_UNIT_MINUTE, LimitUnit::kMinute));
static_assert(same(LIMITREE_UNIT_HOUR, LimitUnit::kHour));
static_assert(same(LIMITREE_UNIT_DAY, LimitUnit::kDay));
static_assert(same(LIMITREE_UNIT_MONTH, LimitUnit::kMonth));
static_assert(same(LIMITREE_UNIT_YEAR, LimitUnit::kYear));
static_assert(same(LIMITREE_UNIT_WEEK, LimitUnit::kWeek));

namespace {

Status unknown_flags(const char* of, std::uint32_t flags) {
  return Status(
      Code::kInvalidArgument,
      "unknown flags of a " + std::string(of) + ": " + std::to_string(flags));
}

// Whole seconds, rounded up.
std::int64_t whole_seconds(Duration time) {
  const std::chrono::seconds seconds(ceil_seconds(time));
  return std::chrono::duration_cast<Duration>(seconds).count();
}

// Envoy's numbers for what the core has decided.
void fill_limit(const DescriptorStatus& from, limitree_descriptor_status* out) {
  const RuleOutcome& outcome = from.outcome;
  out->name = {from.name.data(), from.name.size()};
  out->requests_per_unit = from.requests_per_unit;
  out->unit = static_cast<std::int32_t>(from.unit);
  out->unit_multiplier = from.unit_multiplier;
  out->period_ns = from.period.count();
  out->duration_until_reset_ns = whole_seconds(outcome.until_reset);
  out->retry_after_ns = outcome.retry_after.count();
  out->reset_after_ns = outcome.reset_after.count();
  if (from.shadowed) out->flags |= LIMITREE_SHADOWED;
  if (outcome.cached) out->flags |= LIMITREE_CACHED;
  if (outcome.soft) out->flags |= LIMITREE_SOFT;
}

limitree_descriptor_status to_c(const DescriptorStatus& from) {
  limitree_descriptor_status out{};
  out.code = static_cast<std::int32_t>(from.code);
  out.match = static_cast<std::int32_t>(from.match);
  out.limit_remaining = from.remaining;
  out.quota = from.quota ? 1 : 0;
  if (from.match == Match::kLimited) fill_limit(from, &out);
  return out;
}

std::uint32_t flags_of(const EnvoyAnswer& answer) {
  std::uint32_t flags = source_flags(answer.source);
  if (!answer.met_limit()) flags |= LIMITREE_UNLIMITED;
  if (answer.shadowed) flags |= LIMITREE_SHADOWED;
  if (answer.holds) flags |= LIMITREE_HOLDS;
  return flags;
}

}  // namespace

void append(const limitree_entry* entries, std::size_t count, EntryList* all) {
  require(entries != nullptr || count == 0, "entries");
  for (const limitree_entry& entry : std::span(entries, count)) {
    require(entry.key, "key.data", entry.value, "value.data");
    all->push_back({view(entry.key), view(entry.value)});
  }
}

Status EnvoyRequest::read(const limitree_envoy_request& from) {
  constexpr std::uint32_t kKnown =
      LIMITREE_HAS_HITS_ADDEND | LIMITREE_HAS_LIMIT | LIMITREE_NEGATIVE_HITS;
  require(from.domain, "domain.data",
          from.descriptors != nullptr || from.descriptor_count == 0,
          "descriptors");
  constexpr std::uint32_t kKnownOfRequest =
      LIMITREE_WANTS_METADATA | LIMITREE_ONLY_PEEKS | LIMITREE_ONLY_LOOKS;
  if ((from.flags & ~kKnownOfRequest) != 0) {
    return unknown_flags("request", from.flags);
  }
  wants_metadata_ = (from.flags & LIMITREE_WANTS_METADATA) != 0;
  const std::span descriptors(from.descriptors, from.descriptor_count);
  for (const limitree_descriptor& one : descriptors) {
    if ((one.flags & ~kKnown) != 0) {
      return unknown_flags("descriptor", one.flags);
    }
    append(one.entries, one.entry_count, &entries_);
  }
  const Entry* entries = entries_.data();  // the elements no longer move
  for (const limitree_descriptor& one : descriptors) {
    RequestDescriptor& descriptor =
        descriptors_.emplace_back(Entries(entries, one.entry_count));
    entries += one.entry_count;
    if ((one.flags & LIMITREE_HAS_HITS_ADDEND) != 0) {
      descriptor.hits_addend = one.hits_addend;
    }
    if ((one.flags & LIMITREE_HAS_LIMIT) != 0) {
      descriptor.limit = {one.requests_per_unit, one.unit, one.unit_multiplier};
    }
    descriptor.is_negative_hits = (one.flags & LIMITREE_NEGATIVE_HITS) != 0;
  }
  Purpose purpose = Purpose::kCount;
  if ((from.flags & LIMITREE_ONLY_PEEKS) != 0) purpose = Purpose::kPeek;
  if ((from.flags & LIMITREE_ONLY_LOOKS) != 0) purpose = Purpose::kLook;
  request_ = {view(from.domain),
              {descriptors_.data(), descriptors_.size()},
              from.hits_addend,
              purpose};
  return {};
}

void Statuses::fill(EnvoyAnswer* answer) const noexcept {
  const std::size_t count = answer->statuses.size();
  for (std::size_t i = 0; i < std::min(count, capacity); ++i) {
    data[i] = to_c(answer->statuses[i]);
  }
  *response = {};
  response->overall_code = static_cast<std::int32_t>(answer->overall);
  response->header_status = answer->header_status;
  response->status_count = count;
  response->source = static_cast<std::int32_t>(answer->source);
  response->flags = flags_of(*answer);
  if (!answer->wants_metadata) return;
  response->metadata =
      new (std::nothrow) limitree_text{std::move(answer->metadata)};
}

void check(const limitree_limiter* limiter,
           const limitree_envoy_request* request, const Statuses& statuses) {
  require(limiter, "limiter", request, "request",
          statuses.data != nullptr || statuses.capacity == 0, "statuses",
          statuses.response, "response");
}

}  // namespace limitree::capi

limitree_status limitree_should_rate_limit(
    limitree_limiter* limiter, const limitree_envoy_request* request,
    limitree_descriptor_status* statuses, size_t status_capacity,
    limitree_envoy_response* response, limitree_error** error) {
  return guarded(error, [&]() -> Status {
    const Statuses out{statuses, status_capacity, response};
    check(limiter, request, out);
    EnvoyRequest parsed;
    Status status = parsed.read(*request);
    if (!status.ok()) return status;
    EnvoyAnswer answer;
    answer.wants_metadata = parsed.wants_metadata();
    status = limiter->limiter.should_rate_limit(parsed.request(), &answer);
    if (status.ok()) out.fill(&answer);
    return status;
  });
}

limitree_status limitree_reset_descriptors(
    limitree_limiter* limiter, const limitree_envoy_request* request,
    limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(limiter, "limiter", request, "request");
    EnvoyRequest parsed;
    if (Status bad = parsed.read(*request); !bad.ok()) return bad;
    return limiter->limiter.reset(parsed.request());
  });
}

limitree_status limitree_limiter_reload_descriptors(
    limitree_limiter* limiter, const limitree_config* config,
    limitree_error** error) {
  return guarded(error, [&]() -> Status {
    require(limiter, "limiter", config, "config");
    limiter->limiter.reload(config->descriptors);
    return {};
  });
}

const char* limitree_unit_name(int32_t unit) {
  const auto known = unit_of(unit);
  return unit_name(known.value_or(LimitUnit::kUnknown));
}

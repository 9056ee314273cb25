#include "web/answers.hpp"

#include <algorithm>
#include <cstdint>

#include "http/exchange.hpp"
#include "json/writer.hpp"

namespace limitree::server {

namespace {

// A number that is not known is left out.
void add_known(JsonWriter* to, std::string_view name, std::int64_t value) {
  if (value >= 0) to->number(name, value);
}

void append_level(const limitree_level& level, JsonWriter* to) {
  to->begin_object();
  to->text("policy", {level.policy.data, level.policy.size});
  to->flag("limited", level.limited != 0);
  to->number("limit", level.limit);
  to->number("remaining", level.remaining);
  add_known(to, "retry_after_ns", level.retry_after_ns);
  to->number("reset_after_ns", level.reset_after_ns);
  to->number("next_after_ns", level.next_after_ns);
  to->number("grows_after_ns", level.grows_after_ns);
  to->number("window_ns", level.window_ns);
  to->number("cost", level.cost);
  to->text("unit", {level.unit.data, level.unit.size});
  to->number("path", level.path);
  to->flag("charged", level.charged != 0);
  if (level.soft != 0) to->flag("soft", true);
  to->text("mode", limitree_mode_name(level.mode));
  to->end_object();
}

void append_flags(const limitree_decision& decision, JsonWriter* to) {
  const struct {
    std::uint32_t flag;
    std::string_view name;
  } flags[] = {{LIMITREE_UNLIMITED, "unlimited"},
               {LIMITREE_SHADOWED, "shadowed"},
               {LIMITREE_SOFT, "soft"},
               {LIMITREE_DEGRADED, "degraded"}};
  for (const auto& [flag, name] : flags) {
    if ((decision.flags & flag) != 0) to->flag(name, true);
  }
}

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

std::string_view name_of_code(std::int32_t code) {
  return code == LIMITREE_CODE_OVER_LIMIT ? "OVER_LIMIT" : "OK";
}

std::uint64_t remaining_of(const limitree_descriptor_status& status) {
  return static_cast<std::uint64_t>(
      std::clamp<std::int64_t>(status.limit_remaining, 0, UINT32_MAX));
}

std::int64_t seconds_of(const limitree_descriptor_status& status) {
  return status.duration_until_reset_ns / kNanosecondsPerSecond;
}

void append_limit(const limitree_descriptor_status& status, JsonWriter* to) {
  to->key("currentLimit");
  to->begin_object();
  if (status.requests_per_unit != 0) {
    to->whole("requestsPerUnit", status.requests_per_unit);
  }
  if (status.unit != LIMITREE_UNIT_UNKNOWN) {
    to->text("unit", limitree_unit_name(status.unit));
  }
  if (status.name.size > 0) {
    to->text("name", {status.name.data, status.name.size});
  }
  if (status.unit_multiplier > 1) {
    to->whole("unitMultiplier", status.unit_multiplier);
  }
  to->end_object();
}

void append_status(const limitree_descriptor_status& status, JsonWriter* to) {
  const bool has_limit = status.match == LIMITREE_MATCH_LIMIT;
  to->begin_object();
  to->text("code", name_of_code(status.code));
  if (has_limit) append_limit(status, to);
  if (remaining_of(status) > 0) {
    to->whole("limitRemaining", remaining_of(status));
  }
  if (has_limit) {
    to->text("durationUntilReset", std::to_string(seconds_of(status)) + 's');
  }
  to->end_object();
}

void append_header(std::string_view name, std::uint64_t value, JsonWriter* to) {
  to->begin_object();
  to->text("key", name);
  to->text("value", std::to_string(value));
  to->end_object();
}

void append_headers(const limitree_descriptor_status& status,
                    const AnswerSettings& settings, JsonWriter* to) {
  to->key("responseHeadersToAdd");
  to->begin_list();
  append_header(settings.limit_header, status.requests_per_unit, to);
  append_header(settings.remaining_header, remaining_of(status), to);
  append_header(settings.reset_header,
                static_cast<std::uint64_t>(seconds_of(status)), to);
  to->end_list();
}

}  // namespace

void append_decision(const limitree_decision& decision,
                     std::span<const limitree_level> levels, bool with_levels,
                     std::string* out, std::string_view receipt) {
  JsonWriter to(out);
  to.begin_object();
  to.flag("limited", decision.limited != 0);
  add_known(&to, "limit", decision.limit);
  add_known(&to, "remaining", decision.remaining);
  add_known(&to, "retry_after_ns", decision.retry_after_ns);
  to.number("reset_after_ns", decision.reset_after_ns);
  to.number("next_after_ns", decision.next_after_ns);
  to.number("binding_reset_after_ns", decision.binding_reset_after_ns);
  add_known(&to, "level", decision.level);
  to.number("level_count", decision.level_count);
  to.text("source", limitree_source_name(decision.source));
  append_flags(decision, &to);
  if (decision.limited == 0 && !receipt.empty()) {
    to.number("held", decision.held);
    to.text("receipt", receipt);
  }
  if (with_levels) {
    to.key("levels");
    to.begin_list();
    for (const limitree_level& level : levels) append_level(level, &to);
    to.end_list();
  }
  to.end_object();
}

void append_settlement(const limitree_decision& decision, std::string_view name,
                       std::string* out) {
  JsonWriter to(out);
  to.begin_object();
  to.number(name, decision.held);
  to.text("source", limitree_source_name(decision.source));
  to.end_object();
}

int http_status_of(limitree_status status) {
  switch (status) {
    case LIMITREE_INVALID_ARGUMENT:
      return 400;
    case LIMITREE_UNKNOWN_ROOT:
      return 404;
    case LIMITREE_OUT_OF_MEMORY:
    case LIMITREE_STORE_UNAVAILABLE:
    case LIMITREE_CANCELLED:  // the server ends
      return 503;
    case LIMITREE_STORE_TIMEOUT:
      return 504;
    default:
      return 500;
  }
}

void append_problem(int status, std::string_view detail, std::string* out) {
  JsonWriter to(out);
  to.begin_object();
  to.text("title", reason_of(status));
  to.number("status", status);
  to.text("detail", detail);
  to.end_object();
}

void append_envoy_answer(const limitree_envoy_response& response,
                         std::span<const limitree_descriptor_status> statuses,
                         const AnswerSettings& settings, std::string* out) {
  JsonWriter to(out);
  to.begin_object();
  to.text("overallCode", name_of_code(response.overall_code));
  to.key("statuses");
  to.begin_list();
  for (const limitree_descriptor_status& status : statuses) {
    append_status(status, &to);
  }
  to.end_list();
  if (settings.headers && response.header_status >= 0) {
    append_headers(statuses[static_cast<std::size_t>(response.header_status)],
                   settings, &to);
  }
  if (response.metadata != nullptr) {
    const limitree_str metadata = limitree_text_str(response.metadata);
    to.key("dynamicMetadata");
    to.json({metadata.data, metadata.size});
  }
  to.end_object();
}

}  // namespace limitree::server

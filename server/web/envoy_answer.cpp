#include "web/envoy_answer.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "json/writer.hpp"

namespace limitree::server {

namespace {

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
    to->key("requestsPerUnit");
    to->whole(status.requests_per_unit);
  }
  if (status.unit != LIMITREE_UNIT_UNKNOWN) {
    to->key("unit");
    to->text(limitree_unit_name(status.unit));
  }
  if (status.name.size > 0) {
    to->key("name");
    to->text({status.name.data, status.name.size});
  }
  to->end_object();
}

void append_status(const limitree_descriptor_status& status, JsonWriter* to) {
  const bool has_limit = status.match == LIMITREE_MATCH_LIMIT;
  to->begin_object();
  to->key("code");
  to->text(name_of_code(status.code));
  if (has_limit) append_limit(status, to);
  if (remaining_of(status) > 0) {
    to->key("limitRemaining");
    to->whole(remaining_of(status));
  }
  if (has_limit) {
    to->key("durationUntilReset");
    to->text(std::to_string(seconds_of(status)) + 's');
  }
  to->end_object();
}

void append_header(std::string_view name, std::uint64_t value, JsonWriter* to) {
  to->begin_object();
  to->key("key");
  to->text(name);
  to->key("value");
  to->text(std::to_string(value));
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

void append_envoy_answer(const limitree_envoy_response& response,
                         std::span<const limitree_descriptor_status> statuses,
                         const AnswerSettings& settings, std::string* out) {
  JsonWriter to(out);
  to.begin_object();
  to.key("overallCode");
  to.text(name_of_code(response.overall_code));
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

#include "services/rate_limit_response.hpp"

#include <cstdint>
#include <protozero/pbf_writer.hpp>

#include "services/json_struct.hpp"

namespace limitree::server {

namespace {

using protozero::pbf_tag_type;
using protozero::pbf_writer;

constexpr std::int64_t kSecondNs = 1'000'000'000;

// Numbers of fields in rls.proto.
enum ResponseField : pbf_tag_type {
  kOverallCode = 1,
  kStatuses = 2,
  kResponseHeaders = 3,
  kDynamicMetadata = 6,
};

enum StatusField : pbf_tag_type {
  kCode = 1,
  kCurrentLimit = 2,
  kLimitRemaining = 3,
  kDurationUntilReset = 4,
};

// A field that has the value 0 is not written.
void add(pbf_writer* to, pbf_tag_type tag, std::uint32_t value) {
  if (value != 0) to->add_uint32(tag, value);
}

std::uint32_t remaining_of(const limitree_descriptor_status& status) {
  return static_cast<std::uint32_t>(status.limit_remaining);
}

void write_limit(const limitree_descriptor_status& status, pbf_writer* parent) {
  pbf_writer to(*parent, kCurrentLimit);
  add(&to, 1, status.requests_per_unit);
  if (status.unit != 0) to.add_enum(2, status.unit);
  if (status.name.size != 0) {
    to.add_string(3, status.name.data, status.name.size);
  }
}

void write_status(const limitree_descriptor_status& status,
                  pbf_writer* parent) {
  const bool has_limit = status.match == LIMITREE_MATCH_LIMIT;
  pbf_writer to(*parent, kStatuses);
  to.add_enum(kCode, status.code);
  if (has_limit) write_limit(status, &to);
  add(&to, kLimitRemaining, remaining_of(status));
  if (!has_limit) return;
  pbf_writer duration(to, kDurationUntilReset);
  const std::int64_t seconds = status.duration_until_reset_ns / kSecondNs;
  if (seconds != 0) duration.add_int64(1, seconds);
}

void write_header(const std::string& name, std::int64_t value,
                  pbf_writer* parent) {
  pbf_writer to(*parent, kResponseHeaders);
  to.add_string(1, name);
  to.add_string(2, std::to_string(value));
}

void write_headers(const limitree_descriptor_status& status,
                   const AnswerSettings& settings, pbf_writer* to) {
  write_header(settings.limit_header, status.requests_per_unit, to);
  write_header(settings.remaining_header, status.limit_remaining, to);
  write_header(settings.reset_header,
               status.duration_until_reset_ns / kSecondNs, to);
}

}  // namespace

void write_rate_limit(const limitree_rate_limit_response& response,
                      std::span<const limitree_descriptor_status> statuses,
                      const AnswerSettings& settings, std::string* out) {
  pbf_writer to(*out);
  to.add_enum(kOverallCode, response.overall_code);
  for (const limitree_descriptor_status& status : statuses) {
    write_status(status, &to);
  }
  const std::int32_t shown = response.header_status;
  if (settings.headers && shown >= 0) {
    write_headers(statuses[static_cast<std::size_t>(shown)], settings, &to);
  }
  if (response.metadata != nullptr) {
    const limitree_str json = limitree_text_str(response.metadata);
    pbf_writer metadata(to, kDynamicMetadata);
    write_struct({json.data, json.size}, &metadata);
  }
}

}  // namespace limitree::server

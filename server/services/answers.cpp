#include "services/answers.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <protozero/varint.hpp>

namespace limitree::server {

namespace {

using protozero::pbf_tag_type;
using protozero::pbf_writer;

constexpr std::int64_t kSecondNs = 1'000'000'000;

// ---- Decisions --------------------------------------------------------------

// A field that has the value 0 is not written.
void add(pbf_writer* to, pbf_tag_type tag, std::int64_t value) {
  if (value != 0) to->add_int64(tag, value);
}

void add_flag(pbf_writer* to, pbf_tag_type tag, bool value) {
  if (value) to->add_bool(tag, true);
}

void write_level(const limitree_level& level, pbf_writer* parent) {
  pbf_writer to(*parent, 10);
  to.add_string(1, level.policy.data, level.policy.size);
  add(&to, 2, level.limit);
  add(&to, 3, level.remaining);
  if (level.retry_after_ns >= 0) to.add_int64(4, level.retry_after_ns);
  add(&to, 5, level.reset_after_ns);
  add(&to, 6, level.next_after_ns);
  add(&to, 7, level.grows_after_ns);
  add(&to, 8, level.window_ns);
  add(&to, 9, level.cost);
  add(&to, 10, level.path);
  add_flag(&to, 11, level.limited != 0);
  add_flag(&to, 12, level.charged != 0);
  add_flag(&to, 13, level.soft != 0);
  add(&to, 14, level.mode);
  to.add_string(15, level.unit.data, level.unit.size);
}

// ---- Responses to Envoy -----------------------------------------------------

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

// Sizes are written before the contents of messages, which is faster than
// making room for them later.  Tags are below 16, so one byte has tag and type.

void add_number(pbf_tag_type tag, std::uint64_t value, std::string* out) {
  out->push_back(static_cast<char>(tag << 3));
  protozero::add_varint_to_buffer(out, value);
}

// The size of a field that is not written if it is 0.
std::size_t size_of(std::uint64_t value) {
  return value == 0
             ? 0
             : 1 + static_cast<std::size_t>(protozero::length_of_varint(value));
}

void add(pbf_tag_type tag, std::uint64_t value, std::string* out) {
  if (value != 0) add_number(tag, value, out);
}

// Writes the beginning of a text or a message: its tag and its size.
void begin(pbf_tag_type tag, std::size_t size, std::string* out) {
  out->push_back(static_cast<char>(tag << 3 | 2));
  protozero::add_varint_to_buffer(out, size);
}

std::size_t size_with_tag(std::size_t size) {
  return size == 0 ? 0 : size_of(size) + size;
}

class StatusWriter {
 public:
  explicit StatusWriter(const limitree_descriptor_status& status)
      : status_(status),
        remaining_(static_cast<std::uint32_t>(status.limit_remaining)) {
    if (status.match != LIMITREE_MATCH_LIMIT) return;
    unit_ = static_cast<std::uint32_t>(status.unit);
    seconds_ =
        static_cast<std::uint64_t>(status.duration_until_reset_ns / kSecondNs);
    // Not written if it is 1, so that other answers are those of the original.
    if (status.unit_multiplier > 1) multiplier_ = status.unit_multiplier;
    limit_size_ = size_of(status.requests_per_unit) + size_of(unit_) +
                  size_with_tag(status.name.size) +
                  size_with_tag(size_of(multiplier_));
  }

  // Every answer has one: calls for its numbers took 1 % of a request.
  [[gnu::flatten]] void write(std::string* out) const {
    begin(kStatuses, size(), out);
    add_number(kCode, static_cast<std::uint64_t>(status_.code), out);
    if (limit_size_ != 0) write_limit(out);
    add(kLimitRemaining, remaining_, out);
    if (seconds_ == 0) return;
    begin(kDurationUntilReset, size_of(seconds_), out);
    add(1, seconds_, out);
  }

 private:
  std::size_t size() const {
    constexpr std::size_t kCodeSize = 2;
    return kCodeSize + size_with_tag(limit_size_) + size_of(remaining_) +
           size_with_tag(size_of(seconds_));
  }

  void write_limit(std::string* out) const {
    begin(kCurrentLimit, limit_size_, out);
    add(1, status_.requests_per_unit, out);
    add(2, unit_, out);
    if (status_.name.size != 0) {
      begin(3, status_.name.size, out);
      out->append(status_.name.data, status_.name.size);
    }
    if (multiplier_ == 0) return;
    begin(4, size_of(multiplier_), out);
    add(1, multiplier_, out);
  }

  const limitree_descriptor_status& status_;
  // 0: not written.
  std::uint32_t remaining_;
  std::uint32_t unit_ = 0;
  std::uint32_t multiplier_ = 0;
  std::uint64_t seconds_ = 0;
  std::size_t limit_size_ = 0;
};

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

using Json = nlohmann::ordered_json;

// Numbers of fields in struct.proto.
enum ValueField : protozero::pbf_tag_type {
  kNull = 1,
  kNumber = 2,
  kText = 3,
  kBool = 4,
  kStruct = 5,
  kList = 6,
};

void write_value(const Json& value, pbf_writer* to);

void write_members(const Json& object, pbf_writer* to) {
  for (const auto& [key, value] : object.items()) {
    pbf_writer member(*to, 1);
    member.add_string(1, key);
    pbf_writer content(member, 2);
    write_value(value, &content);
  }
}

void write_items(const Json& list, pbf_writer* to) {
  for (const Json& item : list) {
    pbf_writer content(*to, 1);
    write_value(item, &content);
  }
}

// Zeros are written, too, because the field shows the kind of the value.
void write_value(const Json& value, pbf_writer* to) {
  if (value.is_object()) {
    pbf_writer content(*to, kStruct);
    write_members(value, &content);
  } else if (value.is_array()) {
    pbf_writer content(*to, kList);
    write_items(value, &content);
  } else if (value.is_string()) {
    to->add_string(kText, value.get_ref<const std::string&>());
  } else if (value.is_boolean()) {
    to->add_bool(kBool, value.get<bool>());
  } else if (value.is_number()) {
    to->add_double(kNumber, value.get<double>());
  } else {
    to->add_enum(kNull, 0);
  }
}

}  // namespace

void write_decision(const limitree_decision& decision,
                    std::span<const limitree_level> levels, std::string* out,
                    std::string_view receipt) {
  pbf_writer to(*out);
  add_flag(&to, 1, decision.limited != 0);
  if (decision.limit >= 0) to.add_int64(2, decision.limit);
  if (decision.remaining >= 0) to.add_int64(3, decision.remaining);
  if (decision.retry_after_ns >= 0) to.add_int64(4, decision.retry_after_ns);
  add(&to, 5, decision.reset_after_ns);
  add(&to, 6, decision.next_after_ns);
  add(&to, 7, decision.binding_reset_after_ns);
  if (decision.level >= 0) to.add_int64(8, decision.level);
  add(&to, 9, decision.level_count);
  for (const limitree_level& level : levels) write_level(level, &to);
  add(&to, 11, decision.source);
  add_flag(&to, 12, (decision.flags & LIMITREE_UNLIMITED) != 0);
  add_flag(&to, 13, (decision.flags & LIMITREE_SHADOWED) != 0);
  add_flag(&to, 14, (decision.flags & LIMITREE_SOFT) != 0);
  add_flag(&to, 15, (decision.flags & LIMITREE_DEGRADED) != 0);
  add(&to, 16, decision.held);
  if (decision.limited == 0 && !receipt.empty()) {
    to.add_string(17, receipt.data(), receipt.size());
  }
}

void write_settlement(const limitree_decision& decision, std::string* out) {
  pbf_writer to(*out);
  add(&to, 1, decision.held);
  add(&to, 2, decision.source);
}

GrpcCode code_of(limitree_status status) {
  switch (status) {
    case LIMITREE_INVALID_ARGUMENT:
      return GrpcCode::kInvalidArgument;
    case LIMITREE_UNKNOWN_ROOT:
      return GrpcCode::kNotFound;
    case LIMITREE_OUT_OF_MEMORY:
      return GrpcCode::kResourceExhausted;
    case LIMITREE_STORE_UNAVAILABLE:
    case LIMITREE_CANCELLED:  // the server ends
      return GrpcCode::kUnavailable;
    case LIMITREE_STORE_TIMEOUT:
      return GrpcCode::kDeadlineExceeded;
    default:
      return GrpcCode::kInternal;
  }
}

bool write_struct(std::string_view json, pbf_writer* to) {
  const Json object = Json::parse(json, nullptr, false);
  if (!object.is_object()) return false;
  write_members(object, to);
  return true;
}

void write_envoy(const limitree_envoy_response& response,
                 std::span<const limitree_descriptor_status> statuses,
                 const AnswerSettings& settings, std::string* out) {
  pbf_writer to(*out);
  to.add_enum(kOverallCode, response.overall_code);
  for (const limitree_descriptor_status& status : statuses) {
    StatusWriter(status).write(out);
  }
  const std::int32_t shown = response.header_status;
  if (settings.headers && shown >= 0) {
    write_headers(statuses[static_cast<std::size_t>(shown)], settings, &to);
  }
  if (response.metadata != nullptr) {
    const limitree_str json = limitree_text_str(response.metadata);
    pbf_writer metadata(to, kDynamicMetadata);
    if (!write_struct({json.data, json.size}, &metadata)) metadata.rollback();
  }
}

}  // namespace limitree::server

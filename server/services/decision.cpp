#include "services/decision.hpp"

#include <cstdint>
#include <protozero/pbf_writer.hpp>

namespace limitree::server {

namespace {

using protozero::pbf_tag_type;
using protozero::pbf_writer;

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
}

}  // namespace

void write_decision(const limitree_decision& decision,
                    std::span<const limitree_level> levels, std::string* out) {
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

}  // namespace limitree::server

#include "services/decide_request.hpp"

#include "services/messages.hpp"

namespace limitree::server {

namespace {

using protozero::pbf_wire_type;
using protozero::tag_and_type;

constexpr auto kText = pbf_wire_type::length_delimited;
constexpr auto kNumber = pbf_wire_type::varint;

// Stands for a path without a cost of its own until all is read.
constexpr std::int64_t kNoCost = INT64_MIN;

}  // namespace

void DecideRequest::read(std::string_view message) {
  start(&segments_);
  start(&paths_);
  start(&parts_);
  omits_levels_ = false;
  std::int64_t cost = 1;
  protozero::pbf_reader reader = reader_of(message);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kText): {
        const std::string_view path = view_of(reader.get_view());
        // One more than the core takes: it says what is wrong.
        if (paths_.size() <= LIMITREE_MAX_PATHS) read_path(path);
        break;
      }
      case tag_and_type(2, kNumber):
        cost = reader.get_int64();
        break;
      case tag_and_type(3, kNumber):
        omits_levels_ = flag_of(&reader);
        break;
      default:
        reader.skip();
        break;
    }
  }
  settle(cost);
}

void DecideRequest::read_path(std::string_view message) {
  const std::size_t first = segments_.size();
  std::int64_t cost = kNoCost;
  std::int32_t part = LIMITREE_PART_CHARGE;
  protozero::pbf_reader reader = reader_of(message);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kText): {
        const std::string_view segment = view_of(reader.get_view());
        segments_.push_back({segment.data(), segment.size()});
        break;
      }
      case tag_and_type(2, kNumber):
        cost = reader.get_int64();
        // The core refuses all costs below 0 alike.
        if (cost == kNoCost) cost = -1;
        break;
      case tag_and_type(3, kNumber):
        part = reader.get_enum();
        break;
      default:
        reader.skip();
        break;
    }
  }
  // The segments may still move: settle() tells where they are.
  paths_.push_back({nullptr, segments_.size() - first, cost});
  parts_.push_back(part);
}

void DecideRequest::settle(std::int64_t cost) {
  const limitree_str* segment = segments_.data();
  for (limitree_path& path : paths_) {
    path.segments = segment;
    segment += path.size;
    if (path.cost == kNoCost) path.cost = cost;
  }
}

ResetRequest read_reset(std::string_view message) {
  ResetRequest request;
  protozero::pbf_reader reader = reader_of(message);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kText):
        request.segments.push_back(view_of(reader.get_view()));
        break;
      case tag_and_type(2, kNumber):
        request.leaf_only = flag_of(&reader);
        break;
      default:
        reader.skip();
        break;
    }
  }
  return request;
}

}  // namespace limitree::server

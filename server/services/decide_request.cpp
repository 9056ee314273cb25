#include "services/decide_request.hpp"

#include "services/messages.hpp"

namespace limitree::server {

namespace {

using protozero::pbf_wire_type;
using protozero::tag_and_type;

constexpr auto kText = pbf_wire_type::length_delimited;
constexpr auto kNumber = pbf_wire_type::varint;

}  // namespace

void DecideRequest::read(std::string_view message) {
  clear();
  std::int64_t cost = 1;
  protozero::pbf_reader reader = reader_of(message);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kText): {
        const std::string_view path = view_of(reader.get_view());
        // One more than the core takes: it says what is wrong.
        if (paths().size() <= LIMITREE_MAX_PATHS) read_path(path);
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
  needs_levels_ = !omits_levels_;
  finish(cost);
}

void DecideRequest::read_path(std::string_view message) {
  const std::size_t first = segment_count();
  std::int64_t cost = kNoCost;
  std::int32_t part = LIMITREE_PART_CHARGE;
  protozero::pbf_reader reader = reader_of(message);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kText):
        add_segment(view_of(reader.get_view()));
        break;
      case tag_and_type(2, kNumber):
        cost = reader.get_int64();
        // The core refuses every cost below 0.
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
  add_path(first, cost, part);
}

void DecideRequest::read_reset(std::string_view message) {
  clear();
  protozero::pbf_reader reader = reader_of(message);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kText):
        add_segment(view_of(reader.get_view()));
        break;
      case tag_and_type(2, kNumber):
        leaf_only_ = flag_of(&reader);
        break;
      default:
        reader.skip();
        break;
    }
  }
  add_path(0, 0, LIMITREE_PART_CHARGE);
  finish(0);
}

}  // namespace limitree::server

#include "web/path_request.hpp"

namespace limitree::server {

namespace {

std::int32_t part_of(const JsonPlace& place) {
  const std::string_view name = place.text();
  if (name == "CHARGE") return LIMITREE_PART_CHARGE;
  if (name == "SPEND_IF_FITS") return LIMITREE_PART_SPEND_IF_FITS;
  if (name == "CHECK") return LIMITREE_PART_CHECK;
  place.fail("must be CHARGE, SPEND_IF_FITS or CHECK");
}

std::int64_t cost_of(const JsonPlace& place) {
  return place.integer(0, INT64_MAX);
}

}  // namespace

void PathRequest::read(std::string_view body) {
  clear();
  document_.read(body);
  std::int64_t cost = 1;
  JsonPlace(document_).each_member(
      [&](std::string_view key, const JsonPlace& value) {
        if (key == "paths") {
          read_paths(value, true);
        } else if (key == "cost") {
          cost = cost_of(value);
        } else if (key == "omit_levels") {
          omits_levels_ = value.flag();
        } else {
          value.fail_unknown();
        }
      });
  finish(cost);
}

void PathRequest::read_reset(std::string_view body) {
  clear();
  document_.read(body);
  JsonPlace(document_).each_member(
      [&](std::string_view key, const JsonPlace& value) {
        if (key == "paths") {
          read_paths(value, false);
        } else if (key == "leaf_only") {
          leaf_only_ = value.flag();
        } else {
          value.fail_unknown();
        }
      });
  finish(0);
}

void PathRequest::read_paths(const JsonPlace& list, bool has_costs) {
  list.each_item([&](const JsonPlace& path) { read_path(path, has_costs); });
}

void PathRequest::read_path(const JsonPlace& path, bool has_costs) {
  const std::size_t first = segment_count();
  std::int64_t cost = kNoCost;
  std::int32_t part = LIMITREE_PART_CHARGE;
  if (path.kind() != JsonKind::kObject) {
    read_segments(path);
  } else {
    path.each_member([&](std::string_view key, const JsonPlace& value) {
      if (key == "segments") {
        read_segments(value);
      } else if (has_costs && key == "cost") {
        cost = cost_of(value);
      } else if (has_costs && key == "part") {
        part = part_of(value);
      } else {
        value.fail_unknown();
      }
    });
  }
  add_path(first, cost, part);
}

void PathRequest::read_segments(const JsonPlace& list) {
  list.each_item([&](const JsonPlace& item) { add_segment(item.text()); });
}

void PathRequest::finish(std::int64_t cost) {
  if (paths().empty()) throw JsonError("the request: has no paths");
  PathList::finish(cost);
}

}  // namespace limitree::server

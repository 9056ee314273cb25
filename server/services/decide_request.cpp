#include "services/decide_request.hpp"

#include "grpc/messages.hpp"

namespace limitree::server {

void DecideRequest::read(std::string_view message) {
  clear();
  std::int64_t cost = 1;
  const auto take_path = [this](std::string_view path) {
    // One more than the core takes: it says what is wrong.
    if (paths().size() <= LIMITREE_MAX_PATHS) read_path(path);
  };
  read_message(message, field(1, take_path), field(2, &cost),
               field(3, &omits_levels_));
  needs_levels_ = !omits_levels_;
  finish(cost);
}

void DecideRequest::read_path(std::string_view message) {
  const std::size_t first = segment_count();
  std::int64_t cost = kNoCost;
  std::int32_t part = LIMITREE_PART_CHARGE;
  const auto take_segment = [this](std::string_view one) { add_segment(one); };
  const auto take_cost = [&cost](std::int64_t own) {
    // The core refuses every cost below 0.
    cost = own == kNoCost ? -1 : own;
  };
  read_message(message, field(1, take_segment), field(2, take_cost),
               field(3, &part));
  add_path(first, cost, part);
}

void DecideRequest::read_reset(std::string_view message) {
  clear();
  const auto take_segment = [this](std::string_view one) { add_segment(one); };
  read_message(message, field(1, take_segment), field(2, &leaf_only_));
  add_path(0, 0, LIMITREE_PART_CHARGE);
  finish(0);
}

}  // namespace limitree::server

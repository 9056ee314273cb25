#include "services/requests.hpp"

#include "grpc/messages.hpp"

namespace limitree::server {

namespace {

// Empty ones take two bytes each in the message, and many times that here.
constexpr std::size_t kMaxDescriptors = 4096;
constexpr std::size_t kMaxEntries = 65'536;

}  // namespace

void DecideRequest::read(std::string_view message) {
  clear();
  has_too_many_costs_ = false;
  std::int64_t cost = 1;
  const auto take_path = [this](std::string_view path) {
    // One more than the core takes, so that the core reports the error.
    if (paths().size() <= LIMITREE_MAX_PATHS) read_path(path);
  };
  const auto take_cost = [this](std::string_view entry) { read_cost(entry); };
  read_message(message, field(1, take_path), field(2, &cost),
               field(3, &omits_levels_), field(4, take_cost),
               field(5, &hold_ns_));
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

// An entry of a map.
void DecideRequest::read_cost(std::string_view message) {
  if (has_too_many_costs_) return;
  std::string_view unit;
  std::int64_t units = 0;
  read_message(message, field(1, &unit), field(2, &units));
  has_too_many_costs_ = !add_cost(unit, units);
}

void DecideRequest::read_reset(std::string_view message,
                               std::int32_t operation) {
  clear();
  const auto take_segment = [this](std::string_view one) { add_segment(one); };
  if (operation == LimiterOperation::kBlock) {
    read_message(message, field(1, take_segment), field(2, &hold_ns_));
  } else {
    read_message(message, field(1, take_segment), field(2, &leaf_only_));
  }
  add_path(0, 0, LIMITREE_PART_CHARGE);
  finish(0);
}

void ReceiptMessage::read(const HoldOperation& one, std::string_view message) {
  static_cast<ReceiptRequest&>(*this) = {};
  mistake_ = nullptr;
  operation = &one;
  const auto take_cost = [this](std::int64_t own) {
    cost = own;
    // The core would take -1 for "as held".
    if (own < 0) mistake_ = "cost must not be negative";
  };
  const auto take_units = [this](std::string_view entry) { read_cost(entry); };
  switch (one.act) {
    case HoldOperation::Act::kSettle:
      read_message(message, field(1, &receipt), field(2, take_cost),
                   field(3, take_units));
      break;
    case HoldOperation::Act::kExtend:
      read_message(message, field(1, &receipt), field(2, &hold_ns));
      break;
    case HoldOperation::Act::kReserve:
    case HoldOperation::Act::kCancel:
      read_message(message, field(1, &receipt));
      break;
  }
}

void ReceiptMessage::read_cost(std::string_view message) {
  if (costs.size() == kMaxCosts) {
    mistake_ = "the request has more than 64 costs";
    return;
  }
  std::string_view unit;
  std::int64_t units = 0;
  read_message(message, field(1, &unit), field(2, &units));
  costs.push_back({{unit.data(), unit.size()}, units});
}

void EnvoyRequest::read(std::string_view message) {
  clear(message);
  is_too_large_ = false;
  const auto take_descriptor = [this](std::string_view one) {
    read_descriptor(one);
  };
  read_message(message, field(1, &request_.domain), field(2, take_descriptor),
               field(3, &request_.hits_addend));
  finish();
}

void EnvoyRequest::read_descriptor(std::string_view message) {
  if (descriptors_.size() == kMaxDescriptors) {
    is_too_large_ = true;
    return;
  }
  const std::size_t first = entries_.size();
  limitree_descriptor descriptor{};
  bool is_negative = false;
  const auto take_entry = [this](std::string_view one) { read_entry(one); };
  const auto take_limit = [&descriptor](std::string_view limit) {
    descriptor.flags |= LIMITREE_HAS_LIMIT;
    const auto take_multiplier = [&descriptor](std::string_view wrapped) {
      read_message(wrapped, field(1, &descriptor.unit_multiplier));
    };
    read_message(limit, field(1, &descriptor.requests_per_unit),
                 field(2, &descriptor.unit), field(3, take_multiplier));
  };
  const auto take_hits = [&descriptor](std::string_view wrapped) {
    descriptor.flags |= LIMITREE_HAS_HITS_ADDEND;
    read_message(wrapped, field(1, &descriptor.hits_addend));
  };
  read_message(message, field(1, take_entry), field(2, take_limit),
               field(3, take_hits), field(4, &is_negative));
  if (is_negative) descriptor.flags |= LIMITREE_NEGATIVE_HITS;
  descriptor.entry_count = entries_.size() - first;
  descriptors_.push_back(descriptor);
}

void EnvoyRequest::read_entry(std::string_view message) {
  if (entries_.size() == kMaxEntries) {
    is_too_large_ = true;
    return;
  }
  limitree_entry entry{};
  read_message(message, field(1, &entry.key), field(2, &entry.value));
  entries_.push_back(entry);
}

}  // namespace limitree::server

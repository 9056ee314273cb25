#include "web/requests.hpp"

#include <span>
#include <string>

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

// Returns the cost in "request", or `absent`.  Calls `use(unit, place)` for
// each other unit.
template <typename Use>
std::int64_t read_costs(const JsonPlace& costs, std::int64_t absent,
                        const Use& use) {
  if (costs.kind() != JsonKind::kObject) return cost_of(costs);
  std::int64_t requests = absent;
  costs.each_member([&](std::string_view unit, const JsonPlace& value) {
    if (unit == "request") {
      requests = cost_of(value);
    } else {
      use(unit, value);
    }
  });
  return requests;
}

// A field of a message, by its name in JSON and in the .proto file.
struct FieldName {
  std::string_view camel;
  std::string_view snake;
};

// Calls `use(place, value)` for each field, with its place in `names`.  A field
// that is null is absent; one that occurs under both of its names is refused.
template <typename Use>
void each_field(const JsonPlace& message, std::span<const FieldName> names,
                const Use& use) {
  std::uint32_t seen = 0;
  message.each_member([&](std::string_view key, const JsonPlace& value) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (key != names[i].camel && key != names[i].snake) continue;
      if ((seen >> i & 1) != 0) value.fail("comes twice");
      seen |= 1u << i;
      if (!value.is_null()) use(i, value);
      return;
    }
    value.fail_unknown();
  });
}

limitree_str text_of(const JsonPlace& place) {
  const std::string_view text = place.text();
  return {text.data(), text.size()};
}

// An enum is a name or a number; the library checks which numbers are valid.
std::int32_t unit_of(const JsonPlace& place) {
  if (place.kind() != JsonKind::kText) {
    return static_cast<std::int32_t>(place.integer(INT32_MIN, INT32_MAX));
  }
  const std::string_view name = place.text();
  if (name == "UNKNOWN") return LIMITREE_UNIT_UNKNOWN;
  for (std::int32_t unit = LIMITREE_UNIT_SECOND; unit <= LIMITREE_UNIT_WEEK;
       ++unit) {
    if (name == limitree_unit_name(unit)) return unit;
  }
  place.fail("is not a unit such as SECOND, MINUTE, HOUR, DAY");
}

limitree_entry entry_of(const JsonPlace& place) {
  static constexpr FieldName kFields[] = {{"key", "key"}, {"value", "value"}};
  limitree_entry entry{};
  each_field(place, kFields, [&](std::size_t field, const JsonPlace& value) {
    (field == 0 ? entry.key : entry.value) = text_of(value);
  });
  return entry;
}

void read_limit(const JsonPlace& place, limitree_descriptor* descriptor) {
  static constexpr FieldName kFields[] = {
      {"requestsPerUnit", "requests_per_unit"},
      {"unit", "unit"},
      {"unitMultiplier", "unit_multiplier"}};
  descriptor->flags |= LIMITREE_HAS_LIMIT;
  each_field(place, kFields, [&](std::size_t field, const JsonPlace& value) {
    if (field == 0) {
      descriptor->requests_per_unit =
          static_cast<std::uint32_t>(value.whole(UINT32_MAX));
    } else if (field == 1) {
      descriptor->unit = unit_of(value);
    } else {
      descriptor->unit_multiplier =
          static_cast<std::uint32_t>(value.whole(UINT32_MAX));
    }
  });
}

// limiter.proto has the cost in units other than request under a name of its
// own.
bool is_cost(std::string_view key, const JsonPlace& value) {
  if (key != "costs") return key == "cost";
  if (value.kind() != JsonKind::kObject) {
    value.fail("must be the cost in each unit");
  }
  std::size_t units = 0;
  value.each_member([&](std::string_view unit, const JsonPlace& cost) {
    if (unit == "request") cost.fail("must be given as cost");
    // Soon enough, because the keys of an object are compared in pairs.
    if (++units > kMaxCosts) {
      value.fail("has more than " + std::to_string(kMaxCosts) + " units");
    }
  });
  return true;
}

}  // namespace

void PathRequest::read(std::string_view body, For use) {
  const bool has_costs = use <= For::kReservation;
  clear();
  document_.read(body);
  std::int64_t cost = has_costs ? 1 : 0;
  JsonPlace(document_).each_member(
      [&](std::string_view key, const JsonPlace& value) {
        if (key == "paths") {
          value.each_item(
              [&](const JsonPlace& path) { read_path(path, has_costs); });
        } else if (has_costs && is_cost(key, value)) {
          cost = read_cost(value, cost);
        } else if (has_costs && key == "omit_levels") {
          omits_levels_ = value.flag();
        } else if (use == For::kReservation && key == "hold_ns") {
          hold_ns_ = value.integer(0, INT64_MAX);
        } else if (use == For::kBlock && key == "duration_ns") {
          hold_ns_ = value.integer(1, INT64_MAX);
        } else if (use == For::kReset && key == "leaf_only") {
          leaf_only_ = value.flag();
        } else {
          value.fail_unknown();
        }
      });
  if (paths().empty()) throw JsonError("the request: has no paths");
  if (use == For::kBlock && hold_ns_ == 0) {
    throw JsonError("the request: has no duration_ns");
  }
  finish(cost);
}

std::int64_t PathRequest::read_cost(const JsonPlace& cost,
                                    std::int64_t absent) {
  return read_costs(
      cost, absent, [&](std::string_view unit, const JsonPlace& value) {
        // Soon enough, because the keys of an object are compared in pairs.
        if (add_cost(unit, cost_of(value))) return;
        cost.fail("has more than " + std::to_string(kMaxCosts) + " units");
      });
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
        const auto refuse = [](std::string_view, const JsonPlace& other) {
          other.fail("must be in the cost of the request, for all paths");
        };
        cost = read_costs(value, kNoCost, refuse);
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

void ReceiptJson::read(const HoldOperation& one, std::string_view body) {
  using Act = HoldOperation::Act;
  static_cast<ReceiptRequest&>(*this) = {};
  operation = &one;
  document_.read(body);
  const auto take_cost = [&](const JsonPlace& place) {
    cost = read_costs(
        place, cost, [&](std::string_view unit, const JsonPlace& value) {
          if (costs.size() == kMaxCosts) {
            place.fail("has more than " + std::to_string(kMaxCosts) + " units");
          }
          costs.push_back({{unit.data(), unit.size()}, cost_of(value)});
        });
  };
  bool has_receipt = false;
  JsonPlace(document_).each_member(
      [&](std::string_view key, const JsonPlace& value) {
        if (key == "receipt") {
          receipt = value.text();
          has_receipt = true;
        } else if (one.act == Act::kSettle && is_cost(key, value)) {
          take_cost(value);
        } else if (one.act == Act::kExtend && key == "hold_ns") {
          hold_ns = value.integer(0, INT64_MAX);
        } else {
          value.fail_unknown();
        }
      });
  if (!has_receipt) throw JsonError("the request: has no receipt");
}

void EnvoyJson::read(std::string_view body) {
  static constexpr FieldName kFields[] = {{"domain", "domain"},
                                          {"descriptors", "descriptors"},
                                          {"hitsAddend", "hits_addend"}};
  clear(body);
  document_.read(body);
  each_field(
      JsonPlace(document_), kFields,
      [&](std::size_t field, const JsonPlace& value) {
        if (field == 0) {
          request_.domain = text_of(value);
        } else if (field == 1) {
          value.each_item([&](const JsonPlace& one) { read_descriptor(one); });
        } else {
          request_.hits_addend =
              static_cast<std::uint32_t>(value.whole(UINT32_MAX));
        }
      });
  finish();
}

void EnvoyJson::read_descriptor(const JsonPlace& place) {
  static constexpr FieldName kFields[] = {
      {"entries", "entries"},
      {"limit", "limit"},
      {"hitsAddend", "hits_addend"},
      {"isNegativeHits", "is_negative_hits"}};
  const std::size_t first = entries_.size();
  limitree_descriptor descriptor{};
  each_field(place, kFields, [&](std::size_t field, const JsonPlace& value) {
    switch (field) {
      case 0:
        value.each_item([&](const JsonPlace& entry) {
          entries_.push_back(entry_of(entry));
        });
        break;
      case 1:
        read_limit(value, &descriptor);
        break;
      case 2:
        descriptor.flags |= LIMITREE_HAS_HITS_ADDEND;
        descriptor.hits_addend = value.whole(UINT64_MAX);
        break;
      default:
        if (value.flag()) descriptor.flags |= LIMITREE_NEGATIVE_HITS;
        break;
    }
  });
  descriptor.entry_count = entries_.size() - first;
  descriptors_.push_back(descriptor);
}

}  // namespace limitree::server

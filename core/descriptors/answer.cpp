#include "descriptors/answer.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

#include "base/utf8.hpp"

namespace limitree {

namespace {

using ValueKind = Metadata::Kind;

// Adds what `from` has and *to lacks.  Both are maps.
void merge(const Metadata& from, Metadata* to) {
  for (const Metadata& item : from.items) {
    const auto known = std::ranges::find(to->items, item.name, &Metadata::name);
    if (known == to->items.end()) {
      to->items.push_back(item);
    } else if (known->kind == ValueKind::kMap && item.kind == ValueKind::kMap) {
      merge(item, &*known);
    }
  }
}

void append_value(const Metadata& value, std::string* json) {
  switch (value.kind) {
    case ValueKind::kNull:
      *json += "null";
      return;
    case ValueKind::kBool:
    case ValueKind::kNumber:
      *json += value.text;
      return;
    case ValueKind::kText:
      append_json(value.text, json);
      return;
    case ValueKind::kList:
    case ValueKind::kMap:
      break;
  }
  const bool map = value.kind == ValueKind::kMap;
  *json += map ? '{' : '[';
  for (const Metadata& item : value.items) {
    if (&item != value.items.data()) *json += ',';
    if (map) {
      append_json(item.name, json);
      *json += ':';
    }
    append_value(item, json);
  }
  *json += map ? '}' : ']';
}

void append_descriptor(const RequestDescriptor& descriptor, std::string* json) {
  *json += "{\"entries\":[";
  for (const Entry& entry : descriptor.entries) {
    if (&entry != descriptor.entries.data()) *json += ',';
    std::string text(entry.key);
    text += '=';
    text += entry.value;
    append_json(text, json);
  }
  *json += ']';
  if (descriptor.limit) {
    const auto unit =
        unit_of(descriptor.limit->unit).value_or(LimitUnit::kUnknown);
    // The text form of a protobuf, which leaves out what is 0.
    *json += ",\"limit\":\"";
    if (descriptor.limit->requests_per_unit != 0) {
      *json += "requests_per_unit:" +
               std::to_string(descriptor.limit->requests_per_unit) + ' ';
    }
    *json += std::string("unit:") + unit_name(unit);
    if (descriptor.limit->unit_multiplier != 0) {
      *json += " unit_multiplier:{value:" +
               std::to_string(descriptor.limit->unit_multiplier) + '}';
    }
    *json += '"';
  }
  if (descriptor.hits_addend) {
    *json += ",\"hitsAddend\":" + std::to_string(*descriptor.hits_addend);
  }
  *json += '}';
}

// The metadata of all rules that allowed a descriptor.
Metadata joined(const RuleHits& hits, const EnvoyAnswer& answer) {
  Metadata all;
  all.kind = ValueKind::kMap;
  for (const DescriptorStatus& status : answer.statuses) {
    if (status.match != Match::kLimited || status.code != LimitCode::kOk)
      continue;
    const Rule& rule = *hits.all()[status.hit].rule;
    if (rule.metadata != nullptr) merge(*rule.metadata, &all);
  }
  return all;
}

// Which rule of a descriptor its status shows: one that denies, whether or not
// other descriptors do; then a quota that is exceeded; then any.
int rank(const RuleHit& hit) {
  if (!hit.outcome.over || hit.rule->shadow_mode) return 0;
  return hit.rule->quota_mode ? 1 : 2;
}

// Whether the status shows `a` rather than `b`, which is not as deep.
bool binds_more(const RuleHit& a, const RuleHit& b) {
  const int rank_a = rank(a);
  const int rank_b = rank(b);
  if (rank_a != rank_b) return rank_a > rank_b;
  return rank_a > 0 ? a.outcome.until_reset >= b.outcome.until_reset
                    : a.outcome.remaining <= b.outcome.remaining;
}

DescriptorStatus status_of(const RuleHit& hit) {
  DescriptorStatus status;
  status.match = Match::kLimited;
  status.requests_per_unit = hit.rule->requests_per_unit;
  status.unit = hit.rule->unit;
  status.unit_multiplier = hit.rule->unit_multiplier;
  // What may be held at once depends on no time.
  if (hit.rule->limit.algorithm != Algorithm::kConcurrent) {
    status.period = hit.rule->limit.period;
  }
  status.name = hit.rule->limit.name.view();
  status.outcome = hit.outcome;
  status.remaining = std::min(hit.outcome.remaining, kUnlimitedRemaining);
  status.quota = hit.rule->quota_mode;
  status.shadowed = hit.outcome.over && hit.rule->shadow_mode;
  if (hit.outcome.over && !hit.rule->shadow_mode) {
    status.code = LimitCode::kOverLimit;
  }
  return status;
}

void fill_statuses(const MatchedRequest& matched, const RuleHits& hits,
                   EnvoyAnswer* answer) {
  answer->statuses.clear();
  for (const MatchedDescriptor& found : matched.descriptors()) {
    DescriptorStatus status;
    status.match = found.match;
    if (found.match == Match::kUnlimited)
      status.remaining = kUnlimitedRemaining;
    answer->statuses.push_back(status);
  }
  const std::span<const RuleHit> all = hits.all();
  for (std::size_t i = 0; i < all.size();) {
    const RuleHit* shown = &all[i];
    const std::uint32_t descriptor = shown->descriptor;
    while (++i < all.size() && all[i].descriptor == descriptor) {
      if (binds_more(all[i], *shown)) shown = &all[i];
    }
    answer->statuses[descriptor] = status_of(*shown);
    answer->statuses[descriptor].hit =
        static_cast<std::uint32_t>(shown - all.data());
  }
}

}  // namespace

std::string dynamic_metadata(const DescriptorRequest& request,
                             const RuleHits& hits, const EnvoyAnswer& answer) {
  std::string json = "{\"domain\":";
  append_json(request.domain, &json);
  json += ",\"descriptors\":[";
  for (const RequestDescriptor& descriptor : request.descriptors) {
    if (&descriptor != request.descriptors.data()) json += ',';
    append_descriptor(descriptor, &json);
  }
  json += ']';
  if (request.hits_addend != 0) {
    json += ",\"hitsAddend\":" + std::to_string(request.hits_addend);
  }
  if (const Metadata all = joined(hits, answer); !all.items.empty()) {
    json += ",\"metadata\":";
    append_value(all, &json);
  }
  json += '}';
  return json;
}

void answer(const MatchedRequest& matched, const RuleHits& hits,
            const AnswerModes& modes, EnvoyAnswer* answer) {
  fill_statuses(matched, hits, answer);
  bool denied = false;
  std::size_t quotas = 0;
  std::size_t quotas_over = 0;
  std::int64_t fewest = INT64_MAX;
  answer->header_status = -1;
  for (std::size_t i = 0; i < answer->statuses.size(); ++i) {
    DescriptorStatus& status = answer->statuses[i];
    if (modes.quota_mode) status.quota = status.match != Match::kUnlimited;
    const bool over = status.code == LimitCode::kOverLimit;
    quotas += status.quota ? 1 : 0;
    quotas_over += status.quota && over ? 1 : 0;
    // The status with the fewest hits left; a later one that denies wins.
    const bool denies = over && !status.quota;
    const bool fewer =
        status.match == Match::kLimited && status.remaining < fewest;
    denied |= denies;
    if (!denies && !fewer) continue;
    fewest = denies ? 0 : status.remaining;
    answer->header_status = static_cast<std::int32_t>(i);
  }
  denied |= quotas > 0 && quotas_over == quotas;
  answer->shadowed = denied && modes.shadow_mode;
  answer->overall =
      denied && !modes.shadow_mode ? LimitCode::kOverLimit : LimitCode::kOk;
}

}  // namespace limitree

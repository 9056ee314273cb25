#include "descriptors/dynamic_metadata.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/json.hpp"

namespace limitree {

namespace {

using Kind = Metadata::Kind;

// Adds what `from` has and *to lacks.  Both are maps.
void join(const Metadata& from, Metadata* to) {
  for (const Metadata& item : from.items) {
    const auto known = std::ranges::find(to->items, item.name, &Metadata::name);
    if (known == to->items.end()) {
      to->items.push_back(item);
    } else if (known->kind == Kind::kMap && item.kind == Kind::kMap) {
      join(item, &*known);
    }
  }
}

void append_value(const Metadata& value, std::string* json) {
  switch (value.kind) {
    case Kind::kNull:
      *json += "null";
      return;
    case Kind::kBool:
    case Kind::kNumber:
      *json += value.text;
      return;
    case Kind::kText:
      append_json(value.text, json);
      return;
    case Kind::kList:
    case Kind::kMap:
      break;
  }
  const bool map = value.kind == Kind::kMap;
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

void append_descriptor(const RequestDescriptor& asked, std::string* json) {
  *json += "{\"entries\":[";
  for (const Entry& entry : asked.entries) {
    if (&entry != asked.entries.data()) *json += ',';
    std::string text(entry.key);
    text += '=';
    text += entry.value;
    append_json(text, json);
  }
  *json += ']';
  if (asked.limit) {
    const auto unit = unit_of(asked.limit->unit).value_or(LimitUnit::kUnknown);
    // The text form of a protobuf, which leaves out what is 0.
    *json += ",\"limit\":\"";
    if (asked.limit->requests_per_unit != 0) {
      *json += "requests_per_unit:" +
               std::to_string(asked.limit->requests_per_unit) + ' ';
    }
    *json += std::string("unit:") + unit_name(unit) + '"';
  }
  if (asked.hits_addend) {
    *json += ",\"hitsAddend\":" + std::to_string(*asked.hits_addend);
  }
  *json += '}';
}

// The metadata of all rules that allowed a descriptor.
Metadata joined(const RuleHits& hits, const EnvoyAnswer& answer) {
  Metadata all;
  all.kind = Kind::kMap;
  for (const DescriptorStatus& status : answer.statuses) {
    if (status.fate != Fate::kLimited || status.code != LimitCode::kOk)
      continue;
    const Rule& rule = *hits.all()[status.hit].rule;
    if (rule.metadata != nullptr) join(*rule.metadata, &all);
  }
  return all;
}

}  // namespace

std::string dynamic_metadata(const DescriptorRequest& request,
                             const RuleHits& hits, const EnvoyAnswer& answer) {
  std::string json = "{\"domain\":";
  append_json(request.domain, &json);
  json += ",\"descriptors\":[";
  for (const RequestDescriptor& asked : request.descriptors) {
    if (&asked != request.descriptors.data()) json += ',';
    append_descriptor(asked, &json);
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

}  // namespace limitree

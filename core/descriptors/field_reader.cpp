#include "descriptors/field_reader.hpp"

#include <algorithm>
#include <array>

#include "base/status.hpp"
#include "descriptors/metadata.hpp"
#include "text/number.hpp"

namespace limitree {

namespace {

constexpr unsigned kRoot = static_cast<unsigned>(KeyPlace::kRoot);
constexpr unsigned kDescriptor = static_cast<unsigned>(KeyPlace::kDescriptor);
constexpr unsigned kRateLimit = static_cast<unsigned>(KeyPlace::kRateLimit);
constexpr unsigned kReplaces = static_cast<unsigned>(KeyPlace::kReplaces);

struct KnownKey {
  std::string_view name;
  unsigned places;
};

// envoyproxy/ratelimit does not know the last twelve.
constexpr std::array<KnownKey, 28> kKeys = {{
    {"domain", kRoot},
    {"descriptors", kRoot | kDescriptor},
    {"key", kDescriptor},
    {"value", kDescriptor},
    {"rate_limit", kDescriptor},
    {"shadow_mode", kRoot | kDescriptor},
    {"quota_mode", kDescriptor},
    {"detailed_metric", kDescriptor},
    {"value_to_metric", kDescriptor},
    {"share_threshold", kDescriptor},
    {"metadata", kDescriptor},
    {"unit", kRateLimit},
    {"requests_per_unit", kRateLimit},
    {"unlimited", kRateLimit},
    {"name", kRateLimit | kReplaces},
    {"replaces", kRateLimit},
    {"unit_multiplier", kRateLimit},
    {"all_or_nothing", kRoot},
    {"parents", kRoot},
    {"algorithm", kRateLimit},
    {"burst", kRateLimit},
    {"period", kRateLimit},
    {"overrun", kRateLimit},
    {"concurrent", kRateLimit},
    {"hold", kRateLimit},
    {"unsettled", kRateLimit},
    {"lease", kRateLimit},
    {"value_to_hold", kDescriptor},
}};

constexpr auto kNames = [] {
  std::array<std::string_view, kKeys.size()> names;
  std::ranges::transform(kKeys, names.begin(), &KnownKey::name);
  return names;
}();

struct PlaceName {
  unsigned place;
  const char* name;
};

constexpr std::array<PlaceName, 4> kPlaces = {{
    {kRoot, "the top of the file"},
    {kDescriptor, "a descriptor"},
    {kRateLimit, "rate_limit"},
    {kReplaces, "an entry of replaces"},
}};

std::string names_of(unsigned places) {
  std::string names;
  for (const PlaceName& one : kPlaces) {
    if ((places & one.place) == 0) continue;
    if (!names.empty()) names += " or ";
    names += one.name;
  }
  return names;
}

using Kind = YamlNode::Kind;

}  // namespace

std::string wrong_key(std::string_view key, KeyPlace place) {
  const auto here = static_cast<unsigned>(place);
  for (const KnownKey& known : kKeys) {
    if (known.name != key) continue;
    if ((known.places & here) != 0) return {};
    return "config error, key '" + std::string(key) + "' belongs to " +
           names_of(known.places) + ", not to " + names_of(here);
  }
  std::string wrong = "config error, unknown key '" + legible(key) + "'";
  const std::string_view meant = nearest(key, kNames);
  if (!meant.empty()) wrong += ", did you mean " + quote(meant) + "?";
  return wrong;
}

// Whether a value is empty, or has been refused.
bool FieldReader::is_absent(const YamlNode& value) const {
  return value.kind == Kind::kRefused || document_.is_null(value);
}

bool FieldReader::is_good(const YamlNode& key, KeyPlace place) {
  const std::string_view text = document_.text(key);
  if (plain_kind(document_, key) != PlainKind::kText) {
    add(key.mark,
        "config error, key is not of type string: " + printable(text));
    return false;
  }
  std::string wrong = wrong_key(text, place);
  if (wrong.empty()) return true;
  add(key.mark, std::move(wrong));
  return false;
}

std::vector<YamlField> FieldReader::fields(std::size_t map, KeyPlace place) {
  std::vector<YamlField> good = document_.fields(map);
  std::erase_if(good, [&](const YamlField& field) {
    return !is_good(node(field.value - 1), place);
  });
  return good;
}

std::vector<std::size_t> FieldReader::items(const YamlField& field) {
  std::vector<std::size_t> mappings;
  const YamlNode& list = node(field.value);
  if (is_absent(list)) return mappings;
  if (!expect_kind(document_, list, Kind::kSequence,
                   std::string(field.key.text) + " must be a list",
                   &problems_)) {
    return mappings;
  }
  for (std::size_t i = field.value + 1; i < list.end; i = node(i).end) {
    const YamlNode& item = node(i);
    if (item.kind == Kind::kMapping) mappings.push_back(i);
    if (item.kind == Kind::kMapping || item.kind == Kind::kRefused) continue;
    add(item.mark,
        "config error, yaml file contains list of type other than map: " +
            (item.kind == Kind::kScalar ? printable(document_.text(item))
                                        : document_.describe(item)));
  }
  return mappings;
}

bool FieldReader::is_mapping(const YamlField& field) {
  const YamlNode& value = node(field.value);
  return !is_absent(value) &&
         expect_kind(document_, value, Kind::kMapping,
                     std::string(field.key.text) + " must be a mapping",
                     &problems_);
}

bool FieldReader::read_text(const YamlField& field, Value* value) {
  const YamlNode& scalar = node(field.value);
  if (is_absent(scalar)) return scalar.kind != Kind::kRefused;
  const std::string key(field.key.text);
  const auto read =
      read_scalar(document_, scalar, key + " must be a text", &problems_);
  if (!read) return false;
  if (plain_kind(document_, scalar) == PlainKind::kDecimal) {
    add(scalar.mark, "error checking config: " + key + " " + quote(read->text) +
                         " must be in quotes");
    return false;
  }
  *value = *read;
  return true;
}

void FieldReader::read_bool(const YamlField& field, bool* value) {
  const YamlNode& scalar = node(field.value);
  if (is_absent(scalar)) return;
  if (scalar.kind == Kind::kScalar && scalar.plain) {
    if (const auto read = parse_bool(document_.text(scalar))) {
      *value = *read;
      return;
    }
  }
  add(scalar.mark, std::string(field.key.text) + " must be true or false, is " +
                       document_.describe(scalar));
}

void FieldReader::read_number(const YamlField& field, std::uint32_t* value) {
  const YamlNode& scalar = node(field.value);
  if (is_absent(scalar)) return;
  const std::string key(field.key.text);
  const auto text = read_scalar(document_, scalar,
                                key + " must be a whole number", &problems_);
  if (!text) return;
  const auto number =
      problems_.take(parse_integer(text->text, 0), text->mark, key + " ");
  if (number && *number > UINT32_MAX) {
    add(text->mark, key + " must not exceed " + std::to_string(UINT32_MAX) +
                        ", is " + std::to_string(*number));
  } else if (number) {
    *value = static_cast<std::uint32_t>(*number);
  }
}

}  // namespace limitree

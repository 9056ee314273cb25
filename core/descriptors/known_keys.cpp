#include "descriptors/known_keys.hpp"

#include <algorithm>
#include <array>

#include "text/problems.hpp"

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

// The last six are not known to envoyproxy/ratelimit.
constexpr std::array<KnownKey, 22> kKeys = {{
    {"domain", kRoot},
    {"descriptors", kRoot | kDescriptor},
    {"key", kDescriptor},
    {"value", kDescriptor},
    {"rate_limit", kDescriptor},
    {"shadow_mode", kDescriptor},
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
    {"all_or_nothing", kRoot},
    {"parents", kRoot},
    {"algorithm", kRateLimit},
    {"burst", kRateLimit},
    {"period", kRateLimit},
    {"overrun", kRateLimit},
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

}  // namespace limitree

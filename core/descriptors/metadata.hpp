// The `metadata` of a descriptor: any mapping, kept as a tree of values.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/problems.hpp"
#include "text/yaml.hpp"

namespace limitree {

// A value of JSON's kinds.
struct Metadata {
  enum class Kind : std::uint8_t { kNull, kBool, kNumber, kText, kList, kMap };
  Kind kind = Kind::kNull;
  std::string name;             // its key, if it is in a map
  std::string text;             // "true" or "false"; a number in digits; a text
  std::vector<Metadata> items;  // of a list, or of a map in the file's order
};

// Reads the mapping at `index`, or reports a problem and returns null.
std::shared_ptr<const Metadata> read_metadata(const YamlDocument& document,
                                              std::size_t index,
                                              Problems* problems);

// What a plain scalar means to the YAML that envoyproxy/ratelimit reads.
enum class PlainKind : std::uint8_t { kText, kInteger, kDecimal, kBool, kNull };
PlainKind plain_kind(const YamlDocument& document, const YamlNode& scalar);

// Reads "true", "yes", "y", "on" and their opposites; nothing if it is neither.
std::optional<bool> parse_bool(std::string_view text);

}  // namespace limitree

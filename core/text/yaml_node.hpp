// One node of a document of YAML.

#pragma once

#include <cstddef>
#include <cstdint>

#include "text/problems.hpp"

namespace limitree {

inline constexpr std::size_t kMaxYamlDepth = 64;
inline constexpr std::size_t kMaxYamlNodes = 8'000'000;

struct YamlNode {
  enum class Kind : std::uint8_t {
    kScalar,
    kSequence,  // contains its items
    kMapping,   // contains key, value, key, value, ...; keys are scalars
    kRefused,   // a problem here was reported
  };
  Kind kind;
  bool plain;          // scalars: written without quotes
  Mark mark;           // where it begins
  std::uint32_t text;  // scalars: first byte in the document's text ...
  std::uint32_t size;  // ... and number of bytes; others: of nodes inside
  std::uint32_t end;   // the node after this one and everything inside it
};

}  // namespace limitree

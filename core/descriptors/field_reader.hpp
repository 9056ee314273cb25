// The mappings, lists and values of a file of envoyproxy/ratelimit.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/problems.hpp"
#include "text/yaml.hpp"

namespace limitree {

// The mappings of a file, as bits.
enum class KeyPlace : std::uint8_t {
  kRoot = 1,
  kDescriptor = 2,
  kRateLimit = 4,
  kReplaces = 8,  // an entry of `replaces`
};

// What is wrong with `key` in `place`; empty: nothing.
std::string wrong_key(std::string_view key, KeyPlace place);

// Reports every mistake.  A key without a value is as good as no key.
class FieldReader {
 public:
  FieldReader(const YamlDocument& document, Problems* problems)
      : document_(document), problems_(*problems) {}

  // The fields of the mapping `map` whose keys belong there.
  std::vector<YamlField> fields(std::size_t map, KeyPlace place);

  // The index of each mapping in the list after a key.
  std::vector<std::size_t> items(const YamlField& field);

  // These leave *value unchanged unless there is a valid value.  read_text()
  // returns whether there is no mistake.
  bool read_text(const YamlField& field, Value* value);
  void read_bool(const YamlField& field, bool* value);
  void read_number(const YamlField& field, std::uint32_t* value);

  // Whether the value is a mapping.
  bool is_mapping(const YamlField& field);

  const YamlDocument& document() const { return document_; }
  const YamlNode& node(std::size_t index) const { return document_[index]; }
  Problems& problems() { return problems_; }
  void add(Mark mark, std::string what) {
    problems_.add(mark, std::move(what));
  }

 private:
  bool is_good(const YamlNode& key, KeyPlace place);
  bool is_absent(const YamlNode& value) const;

  const YamlDocument& document_;
  Problems& problems_;
};

}  // namespace limitree

// The mappings, lists and values of a file of envoyproxy/ratelimit.

#ifndef LIMITREE_DESCRIPTORS_FIELD_READER_HPP
#define LIMITREE_DESCRIPTORS_FIELD_READER_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

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

// A key of a mapping, and its value as an index of the document.
struct Field {
  Value key;
  std::size_t value;
};

// Reports every mistake.  A key without a value is as good as no key.
class FieldReader {
 public:
  FieldReader(const YamlDocument& document, Problems* problems)
      : document_(document), problems_(*problems) {}

  // Calls `take` for each key of the mapping `map` that belongs there.
  using Take = std::function<void(const Field& field)>;
  void read_mapping(std::size_t map, KeyPlace place, const Take& take);

  // Calls `take` with the index of each mapping in the list after a key.
  using TakeItem = std::function<void(std::size_t item)>;
  void read_list(const Field& field, const TakeItem& take);

  // These keep what *value is unless there is a value without a mistake.
  // read_text returns whether there is no mistake.
  bool read_text(const Field& field, Value* value);
  void read_bool(const Field& field, bool* value);
  void read_number(const Field& field, std::uint32_t* value);

  // Whether the value is a mapping.
  bool is_mapping(const Field& field);

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

#endif  // LIMITREE_DESCRIPTORS_FIELD_READER_HPP

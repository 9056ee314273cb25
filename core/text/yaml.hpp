// YAML as plain data: scalars, sequences and mappings, each with its position.
//
// The only file that knows the YAML parser (libyaml, by its events).  It
// refuses everything in YAML that is more than data, or that is easily misread:
// anchors, aliases, merge keys, tags (but see YamlForm), a second document,
// duplicate keys.  The layers above know the meaning of the data.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/problems.hpp"
#include "text/yaml_node.hpp"

namespace limitree {

inline constexpr std::size_t kMaxYamlSize = std::size_t{64} << 20;  // bytes

// A scalar and its position.
struct Value {
  std::string_view text;
  Mark mark;
};

// A key of a mapping, and its value as an index of the document.
struct YamlField {
  Value key;
  std::size_t value;
};

// What may be in a document besides plain data.
enum class YamlForm : std::uint8_t {
  kData,        // nothing
  kReferences,  // anchors, aliases, merge keys and tags: yaml_references.hpp
};

// Nodes in the order of the text: node i contains the nodes i + 1 ... end - 1,
// and i + 1 is its first item.  Node 0 is the whole document.
class YamlDocument {
 public:
  // Reads `yaml`.  Mistakes go to *problems, and reading continues if possible.
  // Returns false, with at least one problem, if it could not continue; the
  // document is then not usable.  `expected` is for the message about an empty
  // text.
  bool read(std::string_view yaml, Problems* problems,
            std::string_view expected = "the key \"schema\"",
            YamlForm form = YamlForm::kData);

  // Makes this the document of one scalar, or of one mapping of scalars, for
  // rows of a table.
  struct Pair {
    std::string_view key;
    std::string_view value;
    Mark mark;
  };
  void set_scalar(std::string_view text, Mark mark);
  void set_mapping(std::span<const Pair> pairs, Mark mark);

  const YamlNode& operator[](std::size_t i) const { return nodes_[i]; }
  std::string_view text(const YamlNode& scalar) const {
    return std::string_view(text_).substr(scalar.text, scalar.size);
  }

  // The fields of the mapping `map` whose keys are names: others were refused
  // when the text was read, or are merge keys.
  std::vector<YamlField> fields(std::size_t map) const;
  bool is_name(const YamlNode& key) const;

  // Whether the node means "nothing": empty, ~ or null, not quoted.
  bool is_null(const YamlNode& node) const;

  // "empty", "a list", "a mapping" or the text in quotes, for messages that
  // name a value.
  std::string describe(const YamlNode& node) const;

 private:
  friend class YamlReader;

  void add_scalar(std::string_view text, Mark mark);

  std::vector<YamlNode> nodes_;
  std::string text_;  // of all scalars, one after the other
};

// The scalar `node`.  If it is not a scalar, reports a problem: "mode must be a
// word, is a list".
std::optional<Value> read_scalar(const YamlDocument& document,
                                 const YamlNode& node, std::string_view must,
                                 Problems* problems);

// The index of `value` in `known`.  If it is another word, reports a problem:
// "unknown mode ...".
std::optional<std::size_t> find_word(std::string_view what, const Value& value,
                                     Words known, Problems* problems);

// Whether `node` is of that kind.  If not, reports a problem, as above.
bool expect_kind(const YamlDocument& document, const YamlNode& node,
                 YamlNode::Kind kind, std::string_view must,
                 Problems* problems);

// Receives one entry of the outermost mapping at a time: node 1 is its key, a
// scalar, and node 2 its value.
using TakeEntry = std::function<void(const YamlDocument& document)>;

// Reads a document that is one mapping, of any size, without keeping it.
// `take` has to refuse duplicate keys.  Returns false as read() does.
bool read_yaml_entries(std::string_view yaml, Problems* problems,
                       const TakeEntry& take);

}  // namespace limitree

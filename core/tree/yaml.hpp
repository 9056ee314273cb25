// YAML as plain data: scalars, sequences and mappings, each with its place.
//
// The only file that knows the YAML parser (libyaml, by its events).  What
// makes YAML more than data, or reads one way and means another, is refused
// here: anchors, aliases, merge keys, tags, a second document, duplicate keys.
// What the data means is for schema.hpp.

#ifndef LIMITREE_TREE_YAML_HPP
#define LIMITREE_TREE_YAML_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tree/problems.hpp"

namespace limitree {

inline constexpr std::size_t kMaxYamlSize = std::size_t{64} << 20;  // bytes
inline constexpr std::size_t kMaxYamlDepth = 64;
inline constexpr std::size_t kMaxYamlNodes = 8'000'000;

struct YamlNode {
  enum class Kind : std::uint8_t {
    kScalar,
    kSequence,  // holds its items
    kMapping,   // holds key, value, key, value, ...; keys are scalars
    kRefused,   // a problem has been reported here already
  };
  Kind kind;
  bool plain;          // scalars: written without quotes
  Mark mark;           // where it begins
  std::uint32_t text;  // scalars: first byte in the document's text ...
  std::uint32_t size;  // ... and number of bytes; others: number of nodes held
  std::uint32_t end;   // the node after this one and all that it holds
};

// Nodes in the order of the text: node i holds the nodes i + 1 ... end - 1, of
// which the first is its first item.  Node 0 is the whole document.
class YamlDocument {
 public:
  // Reads `yaml`; what is refused goes to *problems, and parsing goes on where
  // it can.  Returns false, with at least one problem, if it could not go on:
  // the document is then not to be used.  `expected` is for the message that
  // there is nothing.
  bool read(std::string_view yaml, Problems* problems,
            std::string_view expected = "the key \"schema\"");

  // Makes this the document of one scalar, or of one mapping of scalars: for
  // rows of a table, which say what a limits.yaml says in other ways.
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

  // Whether the node stands for "nothing": empty, ~ or null, not quoted.
  bool is_null(const YamlNode& node) const;

  // "empty", "a list", "a mapping" or the text in quotes: for messages that
  // say what something is.
  std::string describe(const YamlNode& node) const;

 private:
  friend class YamlReader;

  void add_scalar(std::string_view text, Mark mark);

  std::vector<YamlNode> nodes_;
  std::string text_;  // of all scalars, one after the other
};

// Is shown one entry of the outermost mapping at a time: node 1 is its key, a
// scalar, and node 2 its value.
using TakeEntry = std::function<void(const YamlDocument& document)>;

// Reads a document that is one mapping, of any size, and keeps none of it.
// That no key is there twice is for `take` to see.  Returns false as read()
// does.
bool read_yaml_entries(std::string_view yaml, Problems* problems,
                       const TakeEntry& take);

}  // namespace limitree

#endif  // LIMITREE_TREE_YAML_HPP

// Anchors, aliases, merge keys and tags, for the files of programs that take
// them: an alias becomes a copy of what it stands for, and a mapping has the
// keys that it merges.
//
// It does what yaml.v2 does, the reader of Go.  There the keys of a mapping are
// taken one after the other, so that the last one counts, and "<<" is a key
// like others; values that are mappings are joined.

#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "text/problems.hpp"
#include "text/yaml_node.hpp"

namespace limitree {

class YamlReferences {
 public:
  // Aliases may stand for kFreeCopies nodes, and for kCopiesPerNode for each
  // node that is written, in all at most kMaxYamlNodes.  A text counts as one
  // more for each kTextPerValue bytes.
  static constexpr std::size_t kFreeCopies = 100'000;
  static constexpr std::size_t kCopiesPerNode = 32;
  static constexpr std::size_t kTextPerValue = 64;

  // `nodes` are those of a document that is being read, `text` its text.
  YamlReferences(std::vector<YamlNode>* nodes, const std::string* text,
                 Problems* problems)
      : nodes_(*nodes), text_(*text), problems_(*problems) {}

  // A node has begun, with this anchor or none.
  void begin(std::string_view anchor, std::size_t node);
  // The node is complete, and is the last one.  False, after a report, if that
  // is too much.
  bool end(std::size_t node);

  // Appends what the alias stands for, `depth` collections deep.  Reports an
  // alias that stands for nothing, and appends a node that is kRefused.
  // Returns false as end() does.
  bool append(std::string_view alias, Mark mark, std::size_t depth);

  // Whether a scalar with that tag is a text, whatever it looks like.  Reports
  // an invalid tag.
  bool makes_text(std::string_view tag, Mark mark);
  // The same for a collection, whose tags mean nothing.
  void check_collection(std::string_view tag, Mark mark);

 private:
  // A key of a mapping and its values: several, if they are joined.
  struct Item {
    std::size_t key;
    std::vector<std::size_t> values;
    bool stated;  // not merged
  };
  using Items = std::vector<Item>;

  bool is_merge(std::size_t key) const;
  bool has_merge(std::size_t mapping) const;
  void merge(std::size_t mapping);
  Items items_of(std::size_t mapping);
  void put(std::size_t key, std::size_t value, bool stated, Items* items);
  void put_merged(std::size_t value, Items* items);
  void put_all(std::size_t mapping, Items* items);
  void copy(std::size_t node, std::vector<YamlNode>* to) const;
  void copy_item(const Item& item, std::vector<YamlNode>* to) const;
  bool take_room(std::size_t count, Mark mark);

  std::vector<YamlNode>& nodes_;
  const std::string& text_;
  Problems& problems_;
  // The nodes of each anchor, numbered from 0.  Empty: the node has not ended.
  std::map<std::string, std::vector<YamlNode>, std::less<>> named_;
  std::map<std::size_t, std::string> open_;  // anchors of nodes that have begun
  std::map<std::string_view, std::size_t> found_;  // keys of Items
  std::size_t written_ = 0;
  std::size_t copied_ = 0;
};

}  // namespace limitree

// The content of a document, and how values are read from it.

#include <algorithm>
#include <optional>
#include <string>

#include "text/yaml.hpp"

namespace limitree {

namespace {

using Kind = YamlNode::Kind;

}  // namespace

void YamlDocument::add_scalar(std::string_view text, Mark mark) {
  const auto first = static_cast<std::uint32_t>(text_.size());
  const auto size = static_cast<std::uint32_t>(text.size());
  const auto end = static_cast<std::uint32_t>(nodes_.size() + 1);
  nodes_.push_back({Kind::kScalar, false, mark, first, size, end});
  text_ += text;
}

void YamlDocument::set_scalar(std::string_view text, Mark mark) {
  nodes_.clear();
  text_.clear();
  add_scalar(text, mark);
}

void YamlDocument::set_mapping(std::span<const Pair> pairs, Mark mark) {
  nodes_.clear();
  text_.clear();
  const auto size = static_cast<std::uint32_t>(2 * pairs.size());
  nodes_.push_back({Kind::kMapping, false, mark, 0, size, size + 1});
  for (const Pair& pair : pairs) {
    add_scalar(pair.key, pair.mark);
    add_scalar(pair.value, pair.mark);
  }
}

std::vector<YamlField> YamlDocument::fields(std::size_t map) const {
  std::vector<YamlField> fields;
  for (std::size_t key = map + 1; key < nodes_[map].end;) {
    const YamlNode& name = nodes_[key];
    if (is_name(name)) fields.push_back({{text(name), name.mark}, name.end});
    key = nodes_[name.end].end;
  }
  return fields;
}

bool YamlDocument::is_name(const YamlNode& key) const {
  if (key.kind != Kind::kScalar) return false;
  return !key.plain || (!text(key).empty() && text(key) != "<<");
}

bool YamlDocument::is_null(const YamlNode& node) const {
  if (node.kind != Kind::kScalar || !node.plain) return false;
  const std::string_view word = text(node);
  return word.empty() || word == "~" || word == "null" || word == "Null" ||
         word == "NULL";
}

std::string YamlDocument::describe(const YamlNode& node) const {
  if (node.kind == Kind::kSequence) return "a list";
  if (node.kind == Kind::kMapping) return "a mapping";
  return is_null(node) ? "empty" : quote(text(node));
}

std::optional<Value> read_scalar(const YamlDocument& document,
                                 const YamlNode& node, std::string_view must,
                                 Problems* problems) {
  if (node.kind == Kind::kScalar && !document.is_null(node)) {
    return Value{document.text(node), node.mark};
  }
  if (node.kind != Kind::kRefused) {
    problems->add(node.mark,
                  std::string(must) + ", is " + document.describe(node));
  }
  return std::nullopt;
}

std::optional<std::size_t> find_word(std::string_view what, const Value& value,
                                     Words known, Problems* problems) {
  const auto found = std::ranges::find(known, value.text);
  if (found != known.end()) {
    return static_cast<std::size_t>(found - known.begin());
  }
  problems->add(value.mark, unknown_word(what, value.text, known));
  return std::nullopt;
}

bool expect_kind(const YamlDocument& document, const YamlNode& node, Kind kind,
                 std::string_view must, Problems* problems) {
  if (node.kind == kind) return true;
  if (node.kind != Kind::kRefused) {
    problems->add(node.mark,
                  std::string(must) + ", is " + document.describe(node));
  }
  return false;
}

}  // namespace limitree

// Suggested limits as a limits.yaml.

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "suggest.hpp"

namespace limitree::cli {

namespace {

// A node of the tree of limits.
struct Node {
  std::string name;
  std::string limit;  // empty: none
  std::vector<Node> children;

  Node* child(const std::string& wanted) {
    const auto found =
        std::find_if(children.begin(), children.end(),
                     [&](const Node& one) { return one.name == wanted; });
    if (found != children.end()) return &*found;
    children.push_back({wanted, "", {}});
    return &children.back();
  }
};

// `name` as a key of YAML.
std::string yaml_key(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '/';
  };
  static constexpr auto kWords = std::to_array<std::string_view>(
      {"true", "false", "yes", "no", "on", "off", "null", "y", "n"});
  std::string lower(name);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  if (std::all_of(name.begin(), name.end(), is_plain) &&
      std::find(kWords.begin(), kWords.end(), lower) == kWords.end()) {
    return std::string(name);
  }
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      quoted += "\\x";
      quoted += kHex[byte >> 4];
      quoted += kHex[byte & 15];
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

void write_node(const Node& node, std::size_t depth, std::string* text) {
  const std::string indent(2 * depth, ' ');
  *text += indent + yaml_key(node.name) + ":\n";
  if (!node.limit.empty()) *text += indent + "  limits: " + node.limit + '\n';
  if (node.children.empty()) return;
  *text += indent + "  children:\n";
  for (const Node& child : node.children) write_node(child, depth + 2, text);
}

}  // namespace

std::string exact_duration_text(std::int64_t duration_ns) {
  struct Unit {
    std::int64_t size_ns;
    const char* name;
  };
  static constexpr auto kUnits = std::to_array<Unit>({{86'400 * kSecondNs, "d"},
                                                      {3600 * kSecondNs, "h"},
                                                      {60 * kSecondNs, "m"},
                                                      {kSecondNs, "s"},
                                                      {1'000'000, "ms"},
                                                      {1'000, "us"}});
  for (const Unit& unit : kUnits) {
    if (duration_ns % unit.size_ns != 0) continue;
    return std::to_string(duration_ns / unit.size_ns) + unit.name;
  }
  return std::to_string(duration_ns) + "ns";
}

std::string suggested_yaml(const SuggestResult& result) {
  Node root;
  for (const Suggestion& suggestion : result.suggestions) {
    const auto& proposal = suggestion.proposal();
    if (!proposal || suggestion.kept == 0) continue;
    Node* node = &root;
    for (const std::string& name : suggestion.patterns) {
      node = node->child(name);
    }
    const std::int64_t period_ns =
        suggestion.periods[suggestion.chosen].period_ns;
    node->limit = "{count: " + std::to_string(proposal->count) +
                  ", period: " + exact_duration_text(period_ns) +
                  ", burst: " + std::to_string(proposal->burst) + "}";
  }
  if (root.children.empty()) return {};
  std::string text = "schema:\n";
  for (const Node& child : root.children) write_node(child, 1, &text);
  return text;
}

}  // namespace limitree::cli

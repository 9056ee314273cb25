// Names and values that statistics carry besides their own names.

#ifndef LIMITREE_SERVER_STATS_TAGS_HPP
#define LIMITREE_SERVER_STATS_TAGS_HPP

#include <string>
#include <string_view>
#include <vector>

namespace limitree::server {

struct Tag {
  std::string name;
  std::string value;

  bool operator==(const Tag&) const = default;
};

// Reads "name:value,name:value", in the order of the names; nothing from an
// empty text.  Throws Failure, whose message begins with `variable`.
std::vector<Tag> parse_tags(std::string_view variable, std::string_view text);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_STATS_TAGS_HPP

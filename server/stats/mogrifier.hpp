// Names of StatsD turned into other names with tags.

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stats/settings.hpp"

namespace re2 {
class RE2;
}

namespace limitree::server {

// A tag that a statistic has besides its name.
struct Tag {
  std::string name;
  std::string value;

  bool operator==(const Tag&) const = default;
};

// Reads "name:value,name:value", in the order of the names; nothing from an
// empty text.  Throws Failure, whose message begins with `variable`.
std::vector<Tag> parse_tags(std::string_view variable, std::string_view text);

struct TaggedName {
  std::string name;
  std::vector<Tag> tags;
};

// Text that refers to what the groups of a pattern matched.
struct GroupText {
  struct Piece {
    std::string text;
    std::size_t group;  // comes after the text
  };
  std::vector<Piece> pieces;
  std::string rest;
};

// One pattern, and the result for the names that it matches.  The time for any
// pattern is proportional to the length of the name.
class Mogrifier {
 public:
  // Throws Failure, whose message names the environment variable.
  explicit Mogrifier(const MogrifierSettings& settings);
  Mogrifier(Mogrifier&&) noexcept;
  ~Mogrifier();

  // Whether the pattern occurs in result->name; then changes the name, and
  // appends tags.
  bool apply(TaggedName* result) const;

 private:
  struct GroupTag {
    std::string name;
    GroupText value;
  };

  GroupText parse(const std::string& variable, std::string_view text) const;

  std::unique_ptr<re2::RE2> pattern_;
  GroupText name_;
  std::vector<GroupTag> tags_;
};

}  // namespace limitree::server

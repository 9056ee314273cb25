#include "stats/tags.hpp"

#include <algorithm>
#include <cstddef>

#include "io/failure.hpp"

namespace limitree::server {

namespace {

Tag parse_tag(std::string_view variable, std::string_view text) {
  const std::size_t colon = text.find(':');
  const bool is_pair = colon != text.npos && colon > 0 &&
                       colon + 1 < text.size() &&
                       text.find(':', colon + 1) == text.npos;
  if (!is_pair) {
    throw Failure(std::string(variable) + ": '" + std::string(text) +
                  "' is not NAME:VALUE");
  }
  return {std::string(text.substr(0, colon)),
          std::string(text.substr(colon + 1))};
}

}  // namespace

std::vector<Tag> parse_tags(std::string_view variable, std::string_view text) {
  std::vector<Tag> tags;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    tags.push_back(parse_tag(variable, text.substr(0, comma)));
    if (comma == text.npos) break;
    text.remove_prefix(comma + 1);
  }
  std::stable_sort(tags.begin(), tags.end(),
                   [](const Tag& a, const Tag& b) { return a.name < b.name; });
  for (std::size_t i = 1; i < tags.size(); ++i) {
    if (tags[i - 1].name == tags[i].name) {
      throw Failure(std::string(variable) + ": '" + tags[i].name +
                    "' is there twice");
    }
  }
  return tags;
}

}  // namespace limitree::server

#include "entries.hpp"

#include <cstddef>

#include "failure.hpp"

namespace limitree::cli {

EntryTexts::EntryTexts(std::string_view text) : texts_(1) {
  std::string* part = &texts_.back().first;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto& [key, value] = texts_.back();
    if (text[i] == '\\' && i + 1 < text.size()) {
      part->push_back(text[++i]);
    } else if (text[i] == '=' && part == &key) {
      part = &value;
    } else if (text[i] == ',') {
      part = &texts_.emplace_back().first;
    } else {
      part->push_back(text[i]);
    }
  }
  for (const auto& [key, value] : texts_) {
    if (!key.empty()) continue;
    throw UsageError("'" + std::string(text) +
                     "' is not key=value,key=value; see --help");
  }
}

std::vector<limitree_entry> EntryTexts::entries() const {
  std::vector<limitree_entry> entries;
  entries.reserve(texts_.size());
  for (const auto& [key, value] : texts_) {
    entries.push_back({to_str(key), to_str(value)});
  }
  return entries;
}

}  // namespace limitree::cli

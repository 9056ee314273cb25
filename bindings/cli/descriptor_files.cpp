#include "descriptor_files.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "failure.hpp"
#include "limits_file.hpp"

namespace limitree::cli {

namespace fs = std::filesystem;

std::vector<std::string> files_in(const std::string& name) {
  std::error_code error;
  if (!fs::is_directory(name, error)) return {name};
  std::vector<std::string> files;
  for (fs::directory_iterator entry(name, error), end; entry != end && !error;
       entry.increment(error)) {
    std::error_code unreadable;
    const bool folder = entry->is_directory(unreadable);
    const bool hidden = entry->path().filename().string().starts_with('.');
    if (!folder && !hidden) files.push_back(entry->path().string());
  }
  if (error) throw FileError(name, error.value());
  if (files.empty()) throw FileError(name + ": no file in this folder");
  std::sort(files.begin(), files.end());
  return files;
}

void read_descriptors(const LimitsSource& source, Config* config) {
  std::vector<std::string> names = files_in(source.limits);
  for (const std::string& other : source.others) {
    const std::vector<std::string> files = files_in(other);
    names.insert(names.end(), files.begin(), files.end());
  }
  std::vector<std::string> texts;
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    texts.push_back(read_all(name));
    shown.push_back(shown_name(name));
  }
  std::vector<limitree_file> files;
  for (std::size_t i = 0; i < names.size(); ++i) {
    files.push_back({to_str(texts[i]), to_str(shown[i])});
  }
  config->add_descriptors(files, source.merge_domains);
}

std::vector<EntryText> parse_entries(std::string_view text) {
  std::vector<EntryText> entries(1);
  std::string* part = &entries.back().key;
  for (std::size_t i = 0; i < text.size(); ++i) {
    EntryText& entry = entries.back();
    if (text[i] == '\\' && i + 1 < text.size()) {
      part->push_back(text[++i]);
    } else if (text[i] == '=' && part == &entry.key) {
      part = &entry.value;
    } else if (text[i] == ',') {
      part = &entries.emplace_back().key;
    } else {
      part->push_back(text[i]);
    }
  }
  for (const EntryText& entry : entries) {
    if (!entry.key.empty()) continue;
    throw UsageError("'" + std::string(text) +
                     "' is not key=value,key=value; see --help");
  }
  return entries;
}

}  // namespace limitree::cli

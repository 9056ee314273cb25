#include "limits_file.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "failure.hpp"
#include "line_reader.hpp"
#include "terminal.hpp"

namespace limitree::cli {

namespace {

// The core refuses larger texts; reading more would only fill memory.
constexpr std::size_t kMaxLimits = 64 * 1024 * 1024;
constexpr std::size_t kBlock = 64 * 1024;

namespace fs = std::filesystem;

// The files in the folder `name`, sorted, or `name` itself if it is not a
// folder.  Folders in it, and files whose name begins with a dot, are left out.
// Throws FileError if there is no file.
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

}  // namespace

std::string read_all(const std::string& name) {
  InputFile file(name);
  std::string text;
  while (text.size() <= kMaxLimits) {
    const std::size_t size = text.size();
    text.resize(size + kBlock);
    const std::size_t got = file.read(text.data() + size, kBlock);
    text.resize(size + got);
    if (got == 0) break;
  }
  return text;
}

std::string shown_name(const std::string& name) {
  return name == "-" ? "standard input" : name;
}

void read_limits(const std::string& name, Config* config) {
  config->set_limits(read_all(name), shown_name(name));
}

std::string read_limits(const LimitsSource& source, Config* config) {
  std::string yaml = read_all(source.limits);
  if (source.format.empty()) {
    config->set_limits(yaml, shown_name(source.limits));
    return yaml;
  }
  const std::string& second = source.others.front();
  const std::string overrides = read_all(second);
  const Text text = limits_from_boulder(yaml, shown_name(source.limits),
                                        overrides, shown_name(second));
  for (const std::string& warning : text.warnings()) {
    write_error_line("warning: " + warning);
  }
  yaml = text.view();
  config->set_limits(yaml, "limits from " + shown_name(source.limits));
  return yaml;
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

}  // namespace limitree::cli

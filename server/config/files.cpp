#include "config/files.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "io/failure.hpp"
#include "io/file_state.hpp"

namespace limitree::server {

namespace {

namespace fs = std::filesystem;

// The core refuses larger texts.
constexpr std::size_t kMaxText = 64 * 1024 * 1024;
// A million descriptors, the maximum, need less.
constexpr std::size_t kMaxTexts = 256 * 1024 * 1024;

// Follows links.  A path that does not exist counts as a file, so that reading
// it reports the reason.
bool is_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  return fs::is_regular_file(status) || !fs::exists(status);
}

// Goes into the folders of a folder, but does not follow links, which may lead
// back.  Skips folders whose names begin with a dot: those of Kubernetes hold
// the same files.
void list(const fs::path& folder, bool dot_files, Listing* all) {
  all->folders.push_back(folder);
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; entry != end;
       entry.increment(error)) {
    const fs::path& path = entry->path();
    const bool has_dot = path.filename().native().starts_with('.');
    std::error_code ignored;
    if (is_file(path)) {
      if (dot_files || !has_dot) all->files.push_back(path);
    } else if (!has_dot && fs::is_directory(path, ignored) &&
               !fs::is_symlink(path, ignored)) {
      list(path, dot_files, all);
    }
  }
  if (error) throw Failure(folder, error.value());
}

}  // namespace

std::string read_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  std::string text;
  char block[64 * 1024];
  while (file.read(block, sizeof block), file.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(file.gcount()));
    if (text.size() > kMaxText) break;
  }
  // A folder can be opened but not read.
  if (file.bad() || (text.empty() && !file.eof())) throw Failure(name, errno);
  return text;
}

Listing list_descriptors(const DescriptorSettings& settings) {
  Listing all;
  for (const std::string& place : settings.places) {
    Listing here;
    std::error_code error;
    if (is_file(place)) {
      here.files = {place};
    } else if (fs::is_directory(place, error)) {
      list(place, settings.dot_files, &here);
    } else {
      if (error) throw Failure(place, error.value());
      throw Failure(place + ": neither a file nor a folder");
    }
    std::sort(here.files.begin(), here.files.end());
    all.files.insert(all.files.end(), here.files.begin(), here.files.end());
    all.folders.insert(all.folders.end(), here.folders.begin(),
                       here.folders.end());
  }
  return all;
}

std::vector<SourceFile> read_descriptors(const DescriptorSettings& settings) {
  std::vector<SourceFile> files;
  std::size_t size = 0;
  for (const std::string& name : list_descriptors(settings).files) {
    files.push_back({name, read_file(name)});
    size += files.back().text.size();
    if (size > kMaxTexts) {
      throw Failure(name + ": all files together have more than 256 MiB");
    }
  }
  return files;
}

std::string state_of(const DescriptorSettings& settings) {
  std::string state;
  try {
    for (const std::string& name : list_descriptors(settings).files) {
      state += name + '=' + file_state(name) + '\n';
    }
  } catch (const Failure& failure) {
    state += failure.what();
  }
  return state;
}

}  // namespace limitree::server

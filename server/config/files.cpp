#include "config/files.hpp"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include "net/failure.hpp"

namespace limitree::server {

namespace {

// The core refuses larger texts.
constexpr std::size_t kMaxText = 64 * 1024 * 1024;

struct FolderEnd {
  void operator()(DIR* folder) const noexcept { closedir(folder); }
};

bool is_dots(const char* name) {
  return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
}

// The entries of a folder, sorted; only files, not pipes or the like.
std::vector<std::string> files_in(const std::string& folder, bool dot_files) {
  const std::unique_ptr<DIR, FolderEnd> open(opendir(folder.c_str()));
  if (open == nullptr) throw Failure(folder, errno);
  std::vector<std::string> files;
  while (true) {
    errno = 0;
    const dirent* const entry = readdir(open.get());
    if (entry == nullptr) break;
    if (is_dots(entry->d_name) || (!dot_files && entry->d_name[0] == '.')) {
      continue;
    }
    std::string name = folder + '/' + entry->d_name;
    struct stat facts {};
    if (stat(name.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode)) continue;
    files.push_back(std::move(name));
  }
  if (errno != 0) throw Failure(folder, errno);
  std::sort(files.begin(), files.end());
  return files;
}

std::string facts_of(const std::string& name) {
  struct stat facts {};
  if (stat(name.c_str(), &facts) != 0) return name + '=' + error_text(errno);
  std::string text = name + '=';
  for (const long long number :
       {static_cast<long long>(facts.st_dev),
        static_cast<long long>(facts.st_ino),
        static_cast<long long>(facts.st_size),
        static_cast<long long>(facts.st_mtim.tv_sec),
        static_cast<long long>(facts.st_mtim.tv_nsec)}) {
    text += std::to_string(number) + ',';
  }
  return text;
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

std::vector<std::string> descriptor_files(const DescriptorSettings& settings) {
  std::vector<std::string> files;
  for (const std::string& place : settings.places) {
    struct stat facts {};
    if (stat(place.c_str(), &facts) != 0) throw Failure(place, errno);
    if (!S_ISDIR(facts.st_mode)) {
      files.push_back(place);
      continue;
    }
    const auto more = files_in(place, settings.dot_files);
    files.insert(files.end(), more.begin(), more.end());
  }
  return files;
}

std::vector<SourceFile> read_descriptors(const DescriptorSettings& settings) {
  std::vector<SourceFile> files;
  for (const std::string& name : descriptor_files(settings)) {
    files.push_back({name, read_file(name)});
  }
  return files;
}

std::string state_of(const DescriptorSettings& settings) {
  std::string state;
  try {
    for (const std::string& name : descriptor_files(settings)) {
      state += facts_of(name) + '\n';
    }
  } catch (const Failure& failure) {
    state += failure.what();
  }
  return state;
}

}  // namespace limitree::server

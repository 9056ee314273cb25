#include "config/files.hpp"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include "io/failure.hpp"
#include "io/file_state.hpp"

namespace limitree::server {

namespace {

// The core refuses larger texts.
constexpr std::size_t kMaxText = 64 * 1024 * 1024;
// A million descriptors, which is the most, need less.
constexpr std::size_t kMaxTexts = 256 * 1024 * 1024;

struct FolderEnd {
  void operator()(DIR* folder) const noexcept { closedir(folder); }
};

bool is_dots(const char* name) {
  return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
}

// What a name stands for.
enum class Kind { kFile, kFolder, kOther };

// Follows links.  What cannot be found is a file, so that reading it tells why.
Kind kind_of(const std::string& name) {
  struct stat facts {};
  if (stat(name.c_str(), &facts) != 0 || S_ISREG(facts.st_mode)) {
    return Kind::kFile;
  }
  return S_ISDIR(facts.st_mode) ? Kind::kFolder : Kind::kOther;
}

bool is_link(const std::string& name) {
  struct stat facts {};
  return lstat(name.c_str(), &facts) == 0 && S_ISLNK(facts.st_mode);
}

struct Listing {
  std::vector<std::string> files;
  std::vector<std::string> folders;
};

std::vector<std::string> entries_of(const std::string& folder) {
  const std::unique_ptr<DIR, FolderEnd> open(opendir(folder.c_str()));
  if (open == nullptr) throw Failure(folder, errno);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* const entry = readdir(open.get())) {
    if (!is_dots(entry->d_name)) names.emplace_back(entry->d_name);
    errno = 0;
  }
  if (errno != 0) throw Failure(folder, errno);
  return names;
}

// Goes into the folders of a folder, but not by links, which may lead back, and
// not if their names begin with a dot: those of Kubernetes hold the same files.
void list(const std::string& folder, bool dot_files, Listing* all) {
  all->folders.push_back(folder);
  for (const std::string& name : entries_of(folder)) {
    const bool has_dot = name.starts_with('.');
    std::string path = folder;
    path.append(1, '/').append(name);
    switch (kind_of(path)) {
      case Kind::kFile:
        if (dot_files || !has_dot) all->files.push_back(path);
        break;
      case Kind::kFolder:
        if (!has_dot && !is_link(path)) list(path, dot_files, all);
        break;
      case Kind::kOther:  // a pipe or the like
        break;
    }
  }
}

Listing list_all(const DescriptorSettings& settings) {
  Listing all;
  for (const std::string& place : settings.places) {
    Listing here;
    switch (kind_of(place)) {
      case Kind::kFile:
        here.files = {place};
        break;
      case Kind::kFolder:
        list(place, settings.dot_files, &here);
        break;
      case Kind::kOther:
        throw Failure(place + ": neither a file nor a folder");
    }
    std::sort(here.files.begin(), here.files.end());
    all.files.insert(all.files.end(), here.files.begin(), here.files.end());
    all.folders.insert(all.folders.end(), here.folders.begin(),
                       here.folders.end());
  }
  return all;
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
  return list_all(settings).files;
}

std::vector<std::string> descriptor_folders(
    const DescriptorSettings& settings) {
  return list_all(settings).folders;
}

std::vector<SourceFile> read_descriptors(const DescriptorSettings& settings) {
  std::vector<SourceFile> files;
  std::size_t size = 0;
  for (const std::string& name : descriptor_files(settings)) {
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
    for (const std::string& name : descriptor_files(settings)) {
      state += name + '=' + file_state(name) + '\n';
    }
  } catch (const Failure& failure) {
    state += failure.what();
  }
  return state;
}

}  // namespace limitree::server

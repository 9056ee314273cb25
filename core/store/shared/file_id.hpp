// Which file a descriptor leads to.  A daemon that closes all descriptors when
// it starts closes ours too, and their numbers are used again for other files.

#ifndef LIMITREE_STORE_SHARED_FILE_ID_HPP
#define LIMITREE_STORE_SHARED_FILE_ID_HPP

#include <sys/stat.h>

#include <string>

namespace limitree::shared {

class FileId {
 public:
  static FileId of(int file) {
    FileId id;
    id.known_ = fstat(file, &id.facts_) == 0;
    return id;
  }
  // Does not follow a symbolic link.
  static FileId at(const std::string& path) {
    FileId id;
    id.known_ = lstat(path.c_str(), &id.facts_) == 0;
    return id;
  }

  // False if one of them is no file.
  bool is_same_as(const FileId& other) const {
    return known_ && other.known_ && facts_.st_dev == other.facts_.st_dev &&
           facts_.st_ino == other.facts_.st_ino;
  }

 private:
  FileId() = default;

  struct stat facts_ {};
  bool known_ = false;
};

}  // namespace limitree::shared

#endif  // LIMITREE_STORE_SHARED_FILE_ID_HPP

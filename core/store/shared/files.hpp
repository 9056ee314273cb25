// Files of shm:// and the kernel: which file a descriptor leads to, the locks
// of processes that open one, and other calls to the system.

#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "base/status.hpp"

namespace limitree::shared {

// Which file a descriptor leads to.  A daemon that closes all descriptors when
// it starts closes ours too, and their numbers are used again for other files.
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

  // False if one of them was not found.
  bool is_same_as(const FileId& other) const {
    return known_ && other.known_ && facts_.st_dev == other.facts_.st_dev &&
           facts_.st_ino == other.facts_.st_ino;
  }

 private:
  FileId() = default;

  struct stat facts_ {};
  bool known_ = false;
};

// kStoreUnavailable: "/dev/shm/x: what"; with the name of `error` unless it
// is 0.
Status file_error(const std::string& path, const std::string& what,
                  int error = 0);

// A number for the time since this machine was started; 0 if there is none.
std::uint64_t this_boot();

// Gives a part of a file memory.  Returns what failed, or 0: also on a file
// system that cannot promise memory, such as NFS.
int allocate(int file, std::uint64_t offset, std::uint64_t size);

// Opens the file that is open as `file` once more, with record locks of its
// own; -1 and errno if that fails.  `path` is where it was.
int open_again(int file, const std::string& path);

// Record locks of an open file, F_OFD_SETLK.  Linux has them since 3.15.
bool has_record_locks();
// Sets a lock, or drops it: F_WRLCK, F_RDLCK or F_UNLCK.  Returns what failed,
// or 0.
int set_lock(int file, short type, std::uint64_t begin, std::uint64_t size);
// Whether that failed because another open file has a lock there.
bool is_of_another(int failed);
// Whether another open file has a lock there; true if that cannot be known.
bool is_locked(int file, std::uint64_t begin, std::uint64_t size);

// Takes the lock of processes that open or replace a file, on `file`, and waits
// for it for at most kOpeningWait.  Closing `file` would not release it if a
// child of a fork() has it open too.
inline constexpr std::chrono::seconds kOpeningWait{5};
Status lock_opening(int file, const std::string& path);
void unlock_opening(int file);

// The same for a process that wants a process slot.  Sets *alone to whether
// nobody else has one.  Otherwise it shares the lock, so that many processes
// can enter at once.  `slots` is where process slots are in the file.
Status lock_to_enter(int file, std::uint64_t slots, const std::string& path,
                     bool* alone);

}  // namespace limitree::shared

// How a file of shm:// is made and checked, before it is mapped.

#ifndef LIMITREE_STORE_SHARED_OPEN_FILE_HPP
#define LIMITREE_STORE_SHARED_OPEN_FILE_HPP

#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "store/shared/layout.hpp"
#include "store/shared/shared_url.hpp"

namespace limitree::shared {

// An open file whose header is right.  The caller closes it.
struct OpenFile {
  int file;
  Header header;  // a copy of what was checked
};

// See MappedFile::open().
Result<OpenFile> open_file(const SharedUrl& url, const Sizes& sizes);

// A number for the time since this machine was started; 0 if there is none.
std::uint64_t this_boot();

// Gives a part of a file memory.  Returns what failed, or 0: also on a file
// system that cannot promise memory, such as NFS.
int allocate(int file, std::uint64_t offset, std::uint64_t size);

// kStoreUnavailable: "/dev/shm/x: what"; with the name of `error` unless it
// is 0.
Status file_error(const std::string& path, const std::string& what,
                  int error = 0);

}  // namespace limitree::shared

#endif  // LIMITREE_STORE_SHARED_OPEN_FILE_HPP

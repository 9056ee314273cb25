// How a file of shm:// is made and checked, before it is mapped.

#ifndef LIMITREE_STORE_SHARED_OPEN_FILE_HPP
#define LIMITREE_STORE_SHARED_OPEN_FILE_HPP

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

}  // namespace limitree::shared

#endif  // LIMITREE_STORE_SHARED_OPEN_FILE_HPP

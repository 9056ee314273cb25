// The file of shm://, opened or made, and mapped.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "store/shared/bus_guard.hpp"
#include "store/shared/files.hpp"
#include "store/shared/layout.hpp"
#include "store/shared/shared_url.hpp"

namespace limitree::shared {

class MappedFile {
 public:
  // Opens the file of `url`, or makes it for `sizes` if there is none.  A file
  // that is made appears under its name complete.  Throws std::system_error if
  // the system has no random numbers.
  static Result<std::unique_ptr<MappedFile>> open(const SharedUrl& url,
                                                  const Sizes& sizes);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  int file() const { return file_; }
  std::byte* at(std::uint64_t offset) const { return begin_ + offset; }
  Header& header() const { return *reinterpret_cast<Header*>(begin_); }

  // As the header had them when they were checked; it may change later.
  const Sizes& sizes() const { return sizes_; }
  const Layout& layout() const { return layout_; }

  // Whether it was truncated, or its disk failed: its content is lost.
  bool is_lost() const { return guard_->lost(); }

  // Gives this part of the file memory, so that a full disk is noticed here and
  // not when the memory is used.  Returns false if there is none.
  bool take(std::uint64_t offset, std::uint64_t size);
  // Returns the memory of this part, which reads as zeros from then on.
  void give_back(std::uint64_t offset, std::uint64_t size);

  std::int64_t bytes_taken() const;  // of the whole file

 private:
  MappedFile(std::string path, int file, std::byte* begin, const Sizes& sizes);

  const std::string path_;
  const int file_;
  const FileId id_;
  std::byte* const begin_;
  const Sizes sizes_;
  const Layout layout_;
  std::unique_ptr<BusGuard> guard_;
};

}  // namespace limitree::shared

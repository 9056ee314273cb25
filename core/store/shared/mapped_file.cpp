#include "store/shared/mapped_file.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "store/shared/open_file.hpp"

namespace limitree::shared {

Result<std::unique_ptr<MappedFile>> MappedFile::open(const SharedUrl& url,
                                                     const Sizes& sizes) {
  Result<OpenFile> opened = open_file(url, sizes);
  if (!opened.ok()) return std::move(opened.status());
  const int file = opened.value().file;
  const Header& header = opened.value().header;
  void* const begin = mmap(nullptr, header.file_bytes, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_NORESERVE, file, 0);
  if (begin == MAP_FAILED) {
    const int error = errno;
    close(file);
    return file_error(url.path, "cannot be mapped", error);
  }
  std::unique_ptr<MappedFile> mapped(new MappedFile(
      url.path, file, static_cast<std::byte*>(begin), header.sizes));
  if (!mapped->guard_->ok()) {
    return file_error(url.path, "is the 257th of this process");
  }
  return mapped;
}

MappedFile::MappedFile(std::string path, int file, std::byte* begin,
                       const Sizes& sizes)
    : path_(std::move(path)),
      file_(file),
      id_(FileId::of(file)),
      begin_(begin),
      sizes_(sizes),
      layout_(sizes),
      guard_(std::make_unique<BusGuard>(begin, layout_.file_bytes, file)) {}

MappedFile::~MappedFile() {
  guard_.reset();
  munmap(begin_, layout_.file_bytes);
  close(file_);
}

bool MappedFile::take(std::uint64_t offset, std::uint64_t size) {
  return !is_lost() && FileId::of(file_).is_same_as(id_) &&
         allocate(file_, offset, size) == 0 && !is_lost();
}

void MappedFile::give_back(std::uint64_t offset, std::uint64_t size) {
#ifdef MADV_REMOVE
  // Not by the descriptor, and it fails if the mapping is lost: then other
  // processes may still use the file.
  if (madvise(at(offset), size, MADV_REMOVE) == 0) return;
#endif
  std::memset(at(offset), 0, size);
}

std::int64_t MappedFile::bytes_taken() const {
  struct stat facts {};
  return fstat(file_, &facts) == 0 ? facts.st_blocks * std::int64_t{512} : 0;
}

}  // namespace limitree::shared

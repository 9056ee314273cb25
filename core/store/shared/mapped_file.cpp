#include "store/shared/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "store/entropy.hpp"

namespace limitree::shared {

namespace {

// What is wrong with a file, and whether ?reset=1 makes it anew.
struct Wrong {
  std::string what;
  bool may_reset = false;
};

class Descriptor {
 public:
  explicit Descriptor(int file) : file_(file) {}
  Descriptor(Descriptor&& other) noexcept
      : file_(std::exchange(other.file_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (file_ >= 0) close(file_);
  }
  int get() const { return file_; }
  int release() { return std::exchange(file_, -1); }

 private:
  int file_;
};

Wrong is_another(const std::string& what) {
  return {what + "; reset=1 in the URL makes it anew", true};
}

bool is_member_of(gid_t group) {
  if (group == getegid()) return true;
  std::vector<gid_t> groups(
      static_cast<std::size_t>(std::max(getgroups(0, nullptr), 0)));
  const int count = getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<std::size_t>(std::max(count, 0)));
  return std::ranges::find(groups, group) != groups.end();
}

// Another user can make a file of theirs admit anything.  Owners who share a
// file with a group set its mode accordingly.
Wrong wrong_with_owner(const struct stat& facts, const SharedUrl& url) {
  if (!S_ISREG(facts.st_mode)) return {"is not a regular file"};
  if (facts.st_uid == geteuid()) return {};
  const std::uint32_t bits = facts.st_mode & 0777;
  if ((url.mode & 0066) == 0) {
    return {"belongs to user " + std::to_string(facts.st_uid) +
            ", not to user " + std::to_string(geteuid()) +
            "; mode=0660 in the URL shares it with a group"};
  }
  if ((bits & ~url.mode) != 0) {
    return {"belongs to user " + std::to_string(facts.st_uid) +
            ", and others than the mode in the URL says may write to it"};
  }
  if ((url.mode & 0006) == 0 && !is_member_of(facts.st_gid)) {
    return {"belongs to user " + std::to_string(facts.st_uid) + " and group " +
            std::to_string(facts.st_gid) +
            ", of which this process is no member"};
  }
  return {};
}

Wrong wrong_with_header(const Header& header, const struct stat& facts) {
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) {
    return is_another("is not a file of limitree");
  }
  if (header.byte_order != kByteOrder) {
    return is_another("was made on a machine with another byte order");
  }
  if (header.version != kVersion) {
    return is_another("has format version " + std::to_string(header.version) +
                      ", this limitree knows " + std::to_string(kVersion));
  }
  const Sizes& sizes = header.sizes;
  if (header.check_sum != check_sum_of(header)) {
    return is_another("has a damaged header");
  }
  const Sizes expected =
      sizes_for(static_cast<std::int64_t>(
                    std::min(sizes.max_buckets, std::uint64_t{1} << 30)),
                static_cast<std::int64_t>(
                    std::min(sizes.max_bytes, std::uint64_t{1} << 50)));
  if (std::memcmp(&sizes, &expected, sizeof sizes) != 0 ||
      sizes.max_buckets == 0 ||
      header.file_bytes != Layout(expected).file_bytes) {
    return is_another("has sizes that do not go together");
  }
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  if (size != header.file_bytes) {
    return is_another("has " + std::to_string(size) + " bytes instead of " +
                      std::to_string(header.file_bytes));
  }
  return {};
}

// Reads and checks the header.
Wrong check(int file, const SharedUrl& url, Header* header) {
  struct stat facts {};
  if (fstat(file, &facts) != 0) return {std::strerror(errno)};
  Wrong wrong = wrong_with_owner(facts, url);
  if (!wrong.what.empty()) return wrong;
  const ssize_t size = pread(file, header, sizeof *header, 0);
  if (size < 0) return {std::strerror(errno)};
  if (static_cast<std::size_t>(size) < sizeof *header) {
    return is_another("is too short to be a file of limitree");
  }
  wrong = wrong_with_header(*header, facts);
  if (!wrong.what.empty()) return wrong;
  if (lets_only_lock(facts.st_mode)) {
    return {
        "lets users read it who may not write to it, or the other way round, "
        "and they can lock it; chmod 600 mends that"};
  }
  const auto made_for = static_cast<std::int64_t>(header->sizes.max_buckets);
  if (url.max_buckets != 0 && url.max_buckets != made_for) {
    return is_another("was made for " + std::to_string(made_for) +
                      " buckets, not " + std::to_string(url.max_buckets));
  }
  return {};
}

void fill(const Sizes& sizes, Header* header) {
  *header = {};
  std::memcpy(header->magic, kMagic, sizeof kMagic);
  header->version = kVersion;
  header->byte_order = kByteOrder;
  header->sizes = sizes;
  header->file_bytes = Layout(sizes).file_bytes;
  header->key[0] = random_word();
  header->key[1] = random_word();
  header->owner = geteuid();
  header->check_sum = check_sum_of(*header);
  header->boot = this_boot();
}

// Whether this process may make so large a file.  Trying would end it: SIGXFSZ.
bool may_make(std::uint64_t bytes) {
  struct rlimit most {};
  return getrlimit(RLIMIT_FSIZE, &most) != 0 || bytes <= most.rlim_cur;
}

// Gives an empty file its size and its header.  Returns what failed, or 0.
int write_empty(int file, const Header& header) {
  if (!may_make(header.file_bytes)) return EFBIG;
  if (ftruncate(file, static_cast<off_t>(header.file_bytes)) != 0) return errno;
  // Everything before the tables gets its memory here, the rest when it is
  // needed.
  const int failed = allocate(file, 0, Layout(header.sizes).tables);
  if (failed != 0) return failed;
  const ssize_t written = pwrite(file, &header, sizeof header, 0);
  if (written < 0) return errno;
  return written == static_cast<ssize_t>(sizeof header) ? 0 : ENOSPC;
}

// Makes a complete file beside `url.path`, under a name that nobody knows.
// Sets *name to it, also on failure, unless nothing was made.
Status make_beside(const SharedUrl& url, const Sizes& sizes,
                   std::string* name) {
  const std::size_t folder = url.path.rfind('/') + 1;
  const std::string beside = url.path.substr(0, folder) + "." +
                             url.path.substr(folder) + "." +
                             std::to_string(random_word());
  const Descriptor file(open(beside.c_str(),
                             O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                             0600));
  if (file.get() < 0) {
    return file_error(url.path, "cannot be made", errno);
  }
  *name = beside;
  Header header;
  fill(sizes, &header);
  int failed = write_empty(file.get(), header);
  // Not by open(), whose mode the process's mask changes.
  if (failed == 0 && fchmod(file.get(), url.mode) != 0) failed = errno;
  if (failed != 0) return file_error(url.path, "cannot be made", failed);
  return {};
}

// Gives a new file its name: `replace`s what is there, or leaves that alone.
Status make(const SharedUrl& url, const Sizes& sizes, bool replace) {
  std::string beside;
  Status status = make_beside(url, sizes, &beside);
  if (status.ok()) {
    const int failed = replace ? rename(beside.c_str(), url.path.c_str())
                               : link(beside.c_str(), url.path.c_str());
    // Another process may have been faster; then its file is the file.
    if (failed != 0 && errno != EEXIST) {
      status = file_error(url.path, "cannot be made", errno);
    }
  }
  if (!beside.empty()) unlink(beside.c_str());
  return status;
}

// Puts a new file in place of `file`, once, however many processes want to.
Status make_anew(int file, const SharedUrl& url, const Sizes& sizes) {
  Status status = lock_opening(file, url.path);
  if (!status.ok()) return status;
  if (FileId::of(file).is_same_as(FileId::at(url.path))) {
    status = make(url, sizes, true);
  }
  unlock_opening(file);
  return status;
}

// An open file whose header is right.  The caller closes it.
struct OpenFile {
  int file;
  Header header;  // a copy of what was checked
};

Result<OpenFile> open_file(const SharedUrl& url, const Sizes& sizes) {
  // Others may make, replace or remove the file meanwhile, but not forever.
  for (int round = 0; round < 100; ++round) {
    Descriptor file(
        open(url.path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0 && errno == ENOENT && url.make) {
      Status status = make(url, sizes, false);
      if (!status.ok()) return status;
      continue;
    }
    if (file.get() < 0) {
      if (errno == ELOOP) {
        return file_error(url.path,
                          "is a symbolic link, which is not followed");
      }
      return file_error(url.path, "cannot be opened", errno);
    }
    OpenFile opened{};
    const Wrong wrong = check(file.get(), url, &opened.header);
    if (wrong.what.empty()) {
      opened.file = file.release();
      return opened;
    }
    if (!wrong.may_reset || !url.reset) {
      return file_error(url.path, wrong.what);
    }
    Status status = make_anew(file.get(), url, sizes);
    if (!status.ok()) return status;
  }
  return file_error(url.path, "is replaced again and again");
}

}  // namespace

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
  // This does not use the descriptor, and it fails if the mapping is lost: then
  // other processes may still use the file.
  if (madvise(at(offset), size, MADV_REMOVE) == 0) return;
#endif
  std::memset(at(offset), 0, size);
}

std::int64_t MappedFile::bytes_taken() const {
  struct stat facts {};
  return fstat(file_, &facts) == 0 ? facts.st_blocks * std::int64_t{512} : 0;
}

}  // namespace limitree::shared

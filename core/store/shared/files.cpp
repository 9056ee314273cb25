#include "store/shared/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

#include "store/shared/layout.hpp"

namespace limitree::shared {

Status file_error(const std::string& path, const std::string& what, int error) {
  std::string text = path + ": " + what;
  if (error != 0) text += ": " + std::generic_category().message(error);
  return Status(Error{Code::kStoreUnavailable, {std::move(text)}, "shm_open"});
}

std::uint64_t this_boot() {
  const int file =
      open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char uuid[64];
  const ssize_t size = read(file, uuid, sizeof uuid);
  close(file);
  std::uint64_t boot = 0;
  for (ssize_t index = 0; index < size; ++index) {
    const char digit = uuid[index];
    if (std::isxdigit(static_cast<unsigned char>(digit)) == 0) continue;
    const int value = digit <= '9' ? digit - '0' : digit - 'a' + 10;
    boot = boot << 4 | static_cast<std::uint64_t>(value);
  }
  return boot;
}

int allocate(int file, std::uint64_t offset, std::uint64_t size) {
#ifdef __linux__
  int failed = 0;
  do {
    failed = fallocate(file, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                       static_cast<off_t>(size));
  } while (failed != 0 && errno == EINTR);
  return failed == 0 || errno == EOPNOTSUPP ? 0 : errno;
#else
  return ENOSYS;
#endif
}

int open_again(int file, const std::string& path) {
  constexpr int kFlags = O_RDWR | O_CLOEXEC;
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  int again = open(link.c_str(), kFlags);
  if (again >= 0) return again;
  // Without /proc: by its name, if that still names the same file.
  again = open(path.c_str(), kFlags | O_NOFOLLOW | O_NONBLOCK);
  if (again < 0) return again;
  if (FileId::of(again).is_same_as(FileId::of(file))) return again;
  close(again);
  errno = ENOENT;
  return -1;
}

#ifdef F_OFD_SETLK

namespace {

struct flock range(short type, std::uint64_t begin, std::uint64_t size) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(begin);
  range.l_len = static_cast<off_t>(size);
  return range;
}

}  // namespace

int set_lock(int file, short type, std::uint64_t begin, std::uint64_t size) {
  struct flock whole = range(type, begin, size);
  while (fcntl(file, F_OFD_SETLK, &whole) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

bool is_locked(int file, std::uint64_t begin, std::uint64_t size) {
  struct flock whole = range(F_WRLCK, begin, size);
  return fcntl(file, F_OFD_GETLK, &whole) != 0 || whole.l_type != F_UNLCK;
}

bool has_record_locks() { return true; }

#else

int set_lock(int, short, std::uint64_t, std::uint64_t) { return ENOSYS; }
bool is_locked(int, std::uint64_t, std::uint64_t) { return true; }

bool has_record_locks() { return false; }

#endif

bool is_of_another(int failed) { return failed == EAGAIN || failed == EACCES; }

namespace {

constexpr std::uint64_t kOpening = 0;  // the first byte of the header

// `try_lock` returns what failed, or 0.
template <typename Try>
Status wait_to_open(const std::string& path, Try try_lock) {
  constexpr auto kLongest = std::chrono::milliseconds(16);
  const auto end = std::chrono::steady_clock::now() + kOpeningWait;
  auto rest = std::chrono::milliseconds(1);
  for (;;) {
    const int failed = try_lock();
    if (failed == 0) return {};
    if (!is_of_another(failed)) {
      return file_error(path, "cannot be locked", failed);
    }
    if (std::chrono::steady_clock::now() > end) {
      return file_error(path, "is being opened by a process that is stopped");
    }
    std::this_thread::sleep_for(rest);
    rest = std::min(2 * rest, kLongest);
  }
}

}  // namespace

Status lock_opening(int file, const std::string& path) {
  return wait_to_open(path,
                      [file] { return set_lock(file, F_WRLCK, kOpening, 1); });
}

Status lock_to_enter(int file, std::uint64_t slots, const std::string& path,
                     bool* alone) {
  return wait_to_open(path, [&] {
    int failed = set_lock(file, F_RDLCK, kOpening, 1);
    if (failed != 0) return failed;
    *alone = !is_locked(file, slots, kProcessSlots * sizeof(ProcessSlot));
    if (!*alone) return 0;
    failed = set_lock(file, F_WRLCK, kOpening, 1);
    if (failed != 0) unlock_opening(file);  // others look, too
    return failed;
  });
}

void unlock_opening(int file) { set_lock(file, F_UNLCK, kOpening, 1); }

}  // namespace limitree::shared

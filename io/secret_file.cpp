#include "io/secret_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "io/failure.hpp"
#include "io/fd.hpp"

namespace limitree {

namespace {

bool is_not_in_a_line(char c) {
  return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 0x7f;
}

}  // namespace

std::string read_secret(const std::string& file) {
  const Fd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat facts {};
  if (!fd || fstat(fd.get(), &facts) != 0) throw Failure(file, errno);
  if (!S_ISREG(facts.st_mode)) throw Failure(file + ": not a regular file");
  // It may grow meanwhile; a line end of two bytes does not count.
  std::string text(kMaxSecret + 3, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = read(fd.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Failure(file, errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  if (text.empty()) throw Failure(file + ": is empty");
  if (text.size() > kMaxSecret) {
    throw Failure(file + ": has more than " + std::to_string(kMaxSecret) +
                  " bytes");
  }
  if (std::ranges::any_of(text, is_not_in_a_line)) {
    throw Failure(file + ": must be one line, without control characters");
  }
  return text;
}

}  // namespace limitree

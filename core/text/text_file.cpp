#include "text/text_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/bytes.hpp"
#include "base/utf8.hpp"

namespace limitree {

namespace {

// The system's message for errno, as part of a sentence.
Status refused_by_system() {
  std::string why = std::generic_category().message(errno);
  if (why[0] >= 'A' && why[0] <= 'Z') why[0] = static_cast<char>(why[0] | 0x20);
  return invalid_config(std::move(why));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// Whether the 8 bytes at `at` are printable ASCII, as almost all are.
bool is_plain_word(const char* at) {
  constexpr std::uint64_t kHigh = 0x8080808080808080;
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  const std::uint64_t word = load<std::uint64_t>(at);
  // A byte below 0x20 causes a borrow; adding one finds 0x7f.
  const std::uint64_t below = word - kOnes * 0x20;
  const std::uint64_t above = word + kOnes;
  return ((word | below | above) & kHigh) == 0;
}

bool is_control(unsigned char byte) {
  return (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') ||
         byte == 0x7f;
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t most) {
  if (path.find('\0') != path.npos) return invalid_config("has a zero byte");
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return refused_by_system();
  struct stat facts {};
  if (fstat(file.get(), &facts) != 0) return refused_by_system();
  if (!S_ISREG(facts.st_mode)) return invalid_config("not a regular file");
  const auto size = static_cast<std::size_t>(facts.st_size);
  if (size > most) {
    return invalid_config("has " + std::to_string(size) + " bytes, more than " +
                          std::to_string(most));
  }
  std::string text(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = read(file.get(), text.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refused_by_system();
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

std::string beside(std::string_view origin, std::string_view name) {
  const std::size_t slash = origin.rfind('/');
  if (name.starts_with('/') || slash == origin.npos) return std::string(name);
  return std::string(origin.substr(0, slash + 1)) + std::string(name);
}

bool check_text(std::string_view text, Problems* problems) {
  Mark mark;
  for (std::size_t i = 0; i < text.size();) {
    if (i + 8 <= text.size() && is_plain_word(text.data() + i)) {
      mark.column += 8;
      i += 8;
      continue;
    }
    const std::size_t size = utf8_size(text.substr(i));
    const auto byte = static_cast<unsigned char>(text[i]);
    if (size == 0 || is_control(byte)) {
      std::string what = size == 0 ? "invalid UTF-8: byte 0x"
                                   : "control characters are not allowed: 0x";
      append_hex(byte, &what);
      problems->add(mark, std::move(what));
      return false;
    }
    const bool crlf = byte == '\r' && text.substr(i + 1).starts_with('\n');
    ++mark.column;
    if (byte == '\n' || (byte == '\r' && !crlf)) mark = {mark.line + 1, 1};
    i += size;
  }
  return true;
}

std::string_view without_mark(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return text;
}

}  // namespace limitree

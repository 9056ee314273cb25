#include "line_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "failure.hpp"

namespace limitree::cli {

namespace {

constexpr std::size_t kHead = 64 * 1024;

bool is_gzip(const char* bytes, std::size_t size) {
  return size >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

int open_for_reading(const std::string& name) {
  if (name == "-") return STDIN_FILENO;
  const int descriptor = open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw FileError(name, errno);
  return descriptor;
}

}  // namespace

// Unpacks the data of an InputFile.
class InputFile::Gzip {
 public:
  explicit Gzip(InputFile* file)
      : file_(file), packed_(std::make_unique<char[]>(kPacked)) {
    constexpr int kGzipOnly = 16;
    if (inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~Gzip() { inflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  std::size_t read(char* to, std::size_t size) {
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(size);
    while (stream_.avail_out == size && !ended_) step();
    return size - stream_.avail_out;
  }

 private:
  static constexpr std::size_t kPacked = 64 * 1024;

  void step() {
    if (stream_.avail_in == 0 && !fill()) {
      if (within_member_) fail("the compressed data ends too early");
      ended_ = true;
      return;
    }
    if (!within_member_ && !begin_member()) return;
    switch (inflate(&stream_, Z_NO_FLUSH)) {
      case Z_OK:
      case Z_BUF_ERROR:  // needs more input
        break;
      case Z_STREAM_END:
        within_member_ = false;
        break;
      case Z_MEM_ERROR:
        throw std::bad_alloc();
      default:
        fail("the compressed data is damaged");
    }
  }

  // Data after a member that is not another member is padding. gunzip ignores
  // it, too.
  bool begin_member() {
    if (stream_.avail_in == 1) {
      // The second byte of the magic number may still be missing.
      packed_[0] = static_cast<char>(*stream_.next_in);
      stream_.next_in = reinterpret_cast<Bytef*>(packed_.get());
      stream_.avail_in +=
          static_cast<uInt>(file_->read_file(packed_.get() + 1, kPacked - 1));
    }
    if (!is_gzip(reinterpret_cast<const char*>(stream_.next_in),
                 stream_.avail_in)) {
      ended_ = true;
      return false;
    }
    within_member_ = true;
    return inflateReset(&stream_) == Z_OK;
  }

  bool fill() {
    stream_.next_in = reinterpret_cast<Bytef*>(packed_.get());
    stream_.avail_in =
        static_cast<uInt>(file_->read_file(packed_.get(), kPacked));
    return stream_.avail_in != 0;
  }

  [[noreturn]] void fail(const char* reason) {
    throw FileError(file_->name_ + ": " + reason);
  }

  InputFile* file_;
  std::unique_ptr<char[]> packed_;
  z_stream stream_{};
  bool within_member_ = false;
  bool ended_ = false;
};

InputFile::InputFile(const std::string& name)
    : name_(name == "-" ? "standard input" : name),
      descriptor_(open_for_reading(name)),
      head_(std::make_unique<char[]>(kHead)) {
  try {
    while (head_end_ < 2) {
      const std::size_t got =
          read_descriptor(head_.get() + head_end_, kHead - head_end_);
      if (got == 0) break;
      head_end_ += got;
    }
    if (is_gzip(head_.get(), head_end_)) gzip_ = std::make_unique<Gzip>(this);
  } catch (...) {
    if (descriptor_ != STDIN_FILENO) close(descriptor_);
    throw;
  }
}

InputFile::~InputFile() {
  if (descriptor_ != STDIN_FILENO) close(descriptor_);
}

std::size_t InputFile::read(char* to, std::size_t size) {
  return gzip_ != nullptr ? gzip_->read(to, size) : read_file(to, size);
}

std::size_t InputFile::read_file(char* to, std::size_t size) {
  if (head_begin_ == head_end_) return read_descriptor(to, size);
  const std::size_t count = std::min(size, head_end_ - head_begin_);
  std::memcpy(to, head_.get() + head_begin_, count);
  head_begin_ += count;
  return count;
}

std::size_t InputFile::read_descriptor(char* to, std::size_t size) {
  for (;;) {
    const ssize_t got = ::read(descriptor_, to, size);
    if (got >= 0) {
      bytes_read_ += got;
      return static_cast<std::size_t>(got);
    }
    if (errno != EINTR) throw FileError(name_, errno);
  }
}

LineReader::LineReader(InputFile* file)
    : file_(file),
      buffer_(std::make_unique<char[]>(kMaxLine + kBlock)),
      begin_(buffer_.get()),
      end_(begin_) {}

LineReader::Found LineReader::next(std::string_view* line) {
  for (;;) {
    const auto left = static_cast<std::size_t>(end_ - begin_);
    const auto* newline =
        static_cast<const char*>(std::memchr(begin_, '\n', left));
    if (newline == nullptr && !at_end_) {
      refill();
      continue;
    }
    if (newline == nullptr && left == 0) {
      return std::exchange(too_long_, false) ? Found::kTooLong : Found::kEnd;
    }
    // The last line may lack its newline.
    const char* const line_end = newline != nullptr ? newline : end_;
    *line = {begin_, static_cast<std::size_t>(line_end - begin_)};
    begin_ = newline != nullptr ? newline + 1 : end_;
    if (std::exchange(too_long_, false) || line->size() > kMaxLine) {
      return Found::kTooLong;
    }
    if (line->ends_with('\r')) line->remove_suffix(1);
    return Found::kLine;
  }
}

void LineReader::refill() {
  auto left = static_cast<std::size_t>(end_ - begin_);
  if (left > kMaxLine) {
    too_long_ = true;
    left = 0;
  }
  if (left != 0) std::memmove(buffer_.get(), end_ - left, left);
  const std::size_t got = file_->read(buffer_.get() + left, kBlock);
  at_end_ = got == 0;
  begin_ = buffer_.get();
  end_ = begin_ + left + got;
}

}  // namespace limitree::cli

#include "line_reader.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "failure.hpp"

namespace limitree::cli {

namespace {

constexpr unsigned kPacked = 64 * 1024;  // bytes of a gzip file, at a time

// The caller has to close it.
int descriptor_of(const std::string& name) {
  const int descriptor = name == "-" ? dup(STDIN_FILENO)
                                     : open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw FileError(name, errno);
  return descriptor;
}

}  // namespace

void InputFile::Close::operator()(gzFile_s* file) const { gzclose_r(file); }

InputFile::InputFile(const std::string& name)
    : name_(name == "-" ? "standard input" : name) {
  const int descriptor = descriptor_of(name);
  file_.reset(gzdopen(descriptor, "rb"));
  if (file_ == nullptr) {
    close(descriptor);
    throw std::bad_alloc();
  }
  gzbuffer(file_.get(), kPacked);
}

std::size_t InputFile::read(char* to, std::size_t size) {
  errno = 0;
  const int got = gzread(file_.get(), to, static_cast<unsigned>(size));
  if (got > 0) return static_cast<std::size_t>(got);
  int error = Z_OK;
  gzerror(file_.get(), &error);
  switch (error) {
    case Z_OK:
    case Z_STREAM_END:
      return 0;
    case Z_ERRNO:
      throw FileError(name_, errno);
    case Z_MEM_ERROR:
      throw std::bad_alloc();
    case Z_BUF_ERROR:
      throw FileError(name_ + ": the compressed data ends too early");
    default:
      throw FileError(name_ + ": the compressed data is damaged");
  }
}

std::int64_t InputFile::bytes_read() const { return gzoffset(file_.get()); }

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

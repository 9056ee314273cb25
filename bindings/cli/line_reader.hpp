// The lines of a file, in constant memory.
//
// Files are read in large blocks.  A gzip file is recognized by its first
// bytes, not by its name, and may have several members, as appended logs do.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct gzFile_s;  // of zlib

namespace limitree::cli {

// The bytes of a file, unpacked if it is a gzip file.
class InputFile {
 public:
  // Opens the file `name`; "-" is standard input.  Throws FileError.
  explicit InputFile(const std::string& name);

  // Reads `size` bytes, or less at the end; 0 after it.  Throws FileError if
  // the file cannot be read or unpacked, after all bytes that were unpacked by
  // earlier calls.
  std::size_t read(char* to, std::size_t size);

  std::int64_t bytes_read() const;  // as on disk; -1 for a pipe

 private:
  struct Close {
    void operator()(gzFile_s* file) const;
  };

  std::string name_;
  std::unique_ptr<gzFile_s, Close> file_;
};

class LineReader {
 public:
  static constexpr std::size_t kMaxLine = 64 * 1024;

  enum class Found {
    kLine,
    kTooLong,  // a line of more than kMaxLine bytes was skipped
    kEnd,
  };

  // `file` must outlive the reader.
  explicit LineReader(InputFile* file);

  // Sets *line to the next line, without its line feed and the carriage return
  // before it.  *line is valid until the next call.  Throws as InputFile::read
  // does.
  Found next(std::string_view* line);

 private:
  static constexpr std::size_t kBlock = 256 * 1024;

  void refill();

  InputFile* file_;
  std::unique_ptr<char[]> buffer_;
  const char* begin_;      // what is left of the block ...
  const char* end_;        // ... ends here
  bool at_end_ = false;    // of the file
  bool too_long_ = false;  // inside a line that is skipped
};

}  // namespace limitree::cli

// The lines of a file, in constant memory.
//
// Files are read in large blocks.  A gzip file is recognized by its first
// bytes, not by its name, and may have several members, as appended logs do.

#ifndef LIMITREE_CLI_LINE_READER_HPP
#define LIMITREE_CLI_LINE_READER_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace limitree::cli {

// The bytes of a file, unpacked if it is a gzip file.
class InputFile {
 public:
  // Opens the file `name`; "-" is standard input.  Blocks until the first bytes
  // are available.  Throws FileError.
  explicit InputFile(const std::string& name);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // Reads at least one and up to `size` bytes; 0 at the end.  Throws FileError
  // if the file cannot be read or unpacked, after all bytes before that.
  std::size_t read(char* to, std::size_t size);

  std::int64_t bytes_read() const { return bytes_read_; }  // as on disk

 private:
  class Gzip;

  // The same for the bytes on disk: first the head, then the descriptor.
  std::size_t read_file(char* to, std::size_t size);
  std::size_t read_descriptor(char* to, std::size_t size);

  std::string name_;
  int descriptor_;
  std::int64_t bytes_read_ = 0;
  std::unique_ptr<char[]> head_;  // the first bytes, read to recognize gzip
  std::size_t head_begin_ = 0;
  std::size_t head_end_ = 0;
  std::unique_ptr<Gzip> gzip_;  // null: a plain file
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

  // Sets *line to the next line without its "
  // " or "\r
  // "; it is valid until the next call.  Throws as InputFile::read does.
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

#endif  // LIMITREE_CLI_LINE_READER_HPP

// Standard output and standard error: what they are, and writing to them.

#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace limitree::cli {

enum class Colour { kNone, kBold, kDim, kRed, kGreen, kYellow };

// What a descriptor can show.
struct Terminal {
  bool connected = false;  // else a file or a pipe
  bool colour = false;
  bool utf8 = false;
  std::size_t width = 80;

  // Depends on isatty(), TERM, NO_COLOR and the locale.
  static Terminal of(int descriptor);

  // `text` in `colour`, or unchanged if there are no colors.
  std::string paint(Colour colour, std::string_view text) const;
};

// Writes to standard output.  A reader that has ended, such as `head`, is not
// an error; a full disk throws FileError.
void print(std::string_view text);

// Writes a picture or a report to the file `name`, or to standard output if
// that is "-": then returns false, because nothing else may follow.  Throws
// FileError.
bool keep_picture(const std::string& picture, const std::string& name);

// Writes a line to standard error.
void write_error_line(std::string_view line);

// Writes the line "limitree: <message>" to standard error.
void complain(std::string_view message);

// A bar on standard error, if that is a terminal, until it is destroyed.
class ProgressBar {
 public:
  // `total` of 0: unknown.
  explicit ProgressBar(std::int64_t total);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Cheap enough to call once per thousand lines.
  void update(std::int64_t done, std::int64_t lines);

  // Removes the bar.  Call it before any other output.
  void clear();

 private:
  std::string bar(std::int64_t done) const;

  Terminal terminal_;
  std::int64_t total_;
  std::chrono::steady_clock::time_point next_;  // not to draw before
  bool drawn_ = false;
};

}  // namespace limitree::cli

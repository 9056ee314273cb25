// Reads the requests of access logs, one after the other, and counts what they
// cannot use.  Memory does not grow with the number of lines.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "command.hpp"
#include "format.hpp"
#include "log_request.hpp"
#include "terminal.hpp"

namespace limitree::cli {

// A line that was left out.
struct LineNote {
  std::string file;
  std::int64_t line;  // the first one is 1
  std::string reason;
};

struct LogSummary {
  // How many notes about lines of one kind are kept.
  static constexpr std::size_t kMaxNotes = 5;

  std::int64_t lines = 0;
  std::int64_t bytes = 0;         // unpacked, without line ends
  std::int64_t bad = 0;           // not a line of an access log
  std::int64_t out_of_order = 0;  // earlier than a line before
  std::vector<LineNote> bad_notes;

  // The times of the first and last request, in the zone of the first.
  CivilTime first{};
  CivilTime last{};
};

// Throws UsageError if standard input would be read more than once; `others`
// other files are standard input, too.
void refuse_double_input(const std::vector<std::string>& logs, int others = 0);

// "6 lines, 2026-03-02 10:00:00 +0000 to 2026-03-02 10:00:04 +0000 (4s)"
std::string summary_text(const LogSummary& summary);

// A title and notes, of `count` lines; nothing if there are no notes.
std::string notes_text(std::string_view title, std::int64_t count,
                       const std::vector<LineNote>& notes,
                       const Terminal& terminal);

// How long that took, such as "replayed in 1.5s, 20,000 lines/s"; nothing
// without lines.
std::string speed_text(const char* done, std::int64_t lines, double seconds,
                       const Terminal& terminal);
std::int64_t lines_per_second(std::int64_t lines, double seconds);

class LogReader {
 public:
  // Throws UsageError.
  explicit LogReader(const LogOptions& options);

  // The fields that requests have.
  const LogFields& fields() const { return fields_; }

  // Calls `take` for each request, with the clock at its time: the latest time
  // so far, because a server logs a request when it ends, so that the lines are
  // not quite in order.  Throws FileError if a log is missing, before reading
  // any of them.  If one becomes unreadable, complains and returns
  // kExitBadInput; the lines before have been read.  Else returns kExitOk.
  int read(const std::function<void(const LogRequest&)>& take);

  // In Unix nanoseconds.
  std::int64_t* clock() { return &now_ns_; }

  // Of the current line; the first one is 1.
  const std::string& file() const { return file_; }
  std::int64_t line() const { return file_lines_; }

  const LogSummary& summary() const { return summary_; }
  double seconds() const { return seconds_; }  // that read() took

  // Adds a note about the current line, if there is room for one.
  void note(const std::string& reason, std::vector<LineNote>* notes) const;

 private:
  void read_file(const std::string& name, ProgressBar* progress,
                 const std::function<void(const LogRequest&)>& take);
  void read_line(std::string_view line,
                 const std::function<void(const LogRequest&)>& take);
  void advance_clock(const LogRequest& request);

  std::vector<std::string> logs_;
  LogFields fields_;
  std::unique_ptr<LogFormat> format_;
  std::int64_t now_ns_ = 0;
  bool started_ = false;         // the clock shows the time of the log
  std::string file_;             // current file
  std::int64_t file_lines_ = 0;  // its lines so far
  std::int64_t done_bytes_ = 0;  // bytes of earlier files
  LogSummary summary_;
  double seconds_ = 0;
};

}  // namespace limitree::cli

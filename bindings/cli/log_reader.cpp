#include "log_reader.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "failure.hpp"
#include "line_reader.hpp"
#include "table.hpp"

namespace limitree::cli {

namespace {

constexpr std::int64_t kLinesPerUpdate = 1024;

// The bytes of all logs on disk; 0 if one of them is not a regular file.
std::int64_t total_size(const std::vector<std::string>& names) {
  std::int64_t total = 0;
  bool known = true;
  for (const std::string& name : names) {
    struct stat status {};
    const int failed = name == "-" ? fstat(STDIN_FILENO, &status)
                                   : stat(name.c_str(), &status);
    if (failed != 0) throw FileError(name, errno);
    if (S_ISDIR(status.st_mode)) throw FileError(name, EISDIR);
    known = known && S_ISREG(status.st_mode);
    total += status.st_size;
  }
  return known ? total : 0;
}

}  // namespace

void refuse_double_input(const std::vector<std::string>& logs, int others) {
  const auto from_stdin =
      std::count(logs.begin(), logs.end(), std::string("-")) + others;
  if (from_stdin > 1) {
    throw UsageError("standard input can be read only once; name the logs");
  }
}

std::string summary_text(const LogSummary& summary) {
  std::string text = count_text(summary.lines) + " lines";
  if (summary.lines == summary.bad) return text;
  const std::int64_t span_s = summary.last.unix_s - summary.first.unix_s;
  return text + ", " + date_time_text(summary.first) + " to " +
         date_time_text(summary.last) + " (" +
         duration_text(span_s * kSecondNs) + ")";
}

std::string notes_text(std::string_view title, std::int64_t count,
                       const std::vector<LineNote>& notes,
                       const Terminal& terminal) {
  if (notes.empty()) return {};
  std::string text = heading(title, terminal);
  for (const LineNote& note : notes) {
    const std::string file = note.file == "-" ? "standard input" : note.file;
    text += "  " + printable(file, terminal.utf8) + ':' +
            std::to_string(note.line) + ": " +
            printable(note.reason, terminal.utf8) + '\n';
  }
  return text +
         indented(more_text(count - static_cast<std::int64_t>(notes.size())));
}

std::int64_t lines_per_second(std::int64_t lines, double seconds) {
  return static_cast<std::int64_t>(static_cast<double>(lines) /
                                   std::max(seconds, 1e-9));
}

std::string speed_text(const char* done, std::int64_t lines, double seconds,
                       const Terminal& terminal) {
  if (lines == 0) return {};
  // Microseconds would suggest a precision that nobody needs.
  const auto took_ns = static_cast<std::int64_t>(seconds * 1e3) * 1'000'000;
  return '\n' +
         terminal.paint(
             Colour::kDim,
             std::string(done) + " in " + duration_text(took_ns) + ", " +
                 count_text(lines_per_second(lines, seconds)) + " lines/s") +
         '\n';
}

LogReader::LogReader(const LogOptions& options)
    : logs_(options.logs),
      format_(make_log_format(options.format, options.keys, &fields_)) {}

int LogReader::read(const std::function<void(const LogRequest&)>& take) {
  ProgressBar progress(total_size(logs_));
  int exit_code = kExitOk;
  const auto start = std::chrono::steady_clock::now();
  try {
    for (const std::string& name : logs_) read_file(name, &progress, take);
  } catch (const FileError& error) {
    progress.clear();
    complain(error.what());
    exit_code = kExitBadInput;
  }
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - start;
  seconds_ = took.count();
  progress.clear();
  return exit_code;
}

void LogReader::read_file(const std::string& name, ProgressBar* progress,
                          const std::function<void(const LogRequest&)>& take) {
  InputFile file(name);
  LineReader reader(&file);
  file_ = name;
  file_lines_ = 0;
  std::string_view line;
  for (;;) {
    const LineReader::Found found = reader.next(&line);
    if (found == LineReader::Found::kEnd) break;
    ++file_lines_;
    ++summary_.lines;
    if (found == LineReader::Found::kLine) {
      read_line(line, take);
    } else {
      ++summary_.bad;
      note("the line is longer than 64 KiB", &summary_.bad_notes);
    }
    if (file_lines_ % kLinesPerUpdate == 0) {
      progress->update(done_bytes_ + file.bytes_read(), summary_.lines);
    }
  }
  done_bytes_ += file.bytes_read();
}

void LogReader::read_line(std::string_view line,
                          const std::function<void(const LogRequest&)>& take) {
  summary_.bytes += static_cast<std::int64_t>(line.size());
  LogRequest request;
  if (const auto mistake = format_->parse(line, &request)) {
    ++summary_.bad;
    if (summary_.bad_notes.size() < LogSummary::kMaxNotes) {
      note(mistake->text(), &summary_.bad_notes);
    }
    return;
  }
  advance_clock(request);
  take(request);
}

void LogReader::advance_clock(const LogRequest& request) {
  // Years beyond 2262 do not fit into nanoseconds, and no log is that old.
  const std::int64_t unix_s =
      std::clamp(request.unix_s, std::int64_t{0}, INT64_MAX / kSecondNs - 1);
  const std::int64_t unix_ns = unix_s * kSecondNs + request.nanos;
  if (!std::exchange(started_, true)) {
    summary_.first = {unix_s, request.utc_offset_s};
    summary_.last = summary_.first;
    now_ns_ = unix_ns;
  } else if (unix_ns < now_ns_) {
    ++summary_.out_of_order;
  } else {
    summary_.last.unix_s = unix_s;
    now_ns_ = unix_ns;
  }
}

void LogReader::note(const std::string& reason,
                     std::vector<LineNote>* notes) const {
  if (notes->size() == LogSummary::kMaxNotes) return;
  notes->push_back({file_, file_lines_, reason});
}

}  // namespace limitree::cli

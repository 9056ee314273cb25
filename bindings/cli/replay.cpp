// `limitree replay`: what would these limits have done to that traffic?
//
// The clock is the latest time seen in a line so far: a server logs a request
// when it ends, so the lines are not quite in order.  Memory does not grow with
// the number of lines or callers, and a line needs no allocation.

#include "replay.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "access_log.hpp"
#include "command.hpp"
#include "failure.hpp"
#include "limits_file.hpp"
#include "line_reader.hpp"
#include "path_template.hpp"

namespace limitree::cli {

namespace {

constexpr std::int64_t kLinesPerUpdate = 1024;

void note(std::vector<LineNote>* notes, LineNote line) {
  if (notes->size() < ReplayResult::kMaxNotes) {
    notes->push_back(std::move(line));
  }
}

Config config_of(const ReplayOptions& options, std::int64_t* clock) {
  Config config;
  read_limits(options.limits, &config);
  config.set_clock(read_clock, clock);
  if (options.max_buckets) {
    config.set("max_buckets", std::to_string(*options.max_buckets));
  }
  return config;
}

class Replay {
 public:
  explicit Replay(const ReplayOptions& options)
      : limiter_(config_of(options, &now_ns_)) {
    for (const std::string& text : options.templates) {
      templates_.emplace_back(text);
    }
    for (const PathTemplate& path_template : templates_) {
      // A root that the tree does not have would fail for every line.
      if (const auto root = path_template.root()) {
        const limitree_str segment = to_str(*root);
        const limitree_path path = {&segment, 1, 0, LIMITREE_PART_CHARGE};
        Decision decision;
        ErrorHandle error;
        const limitree_status status = limiter_.try_decide(
            LIMITREE_PEEK, {&path, 1}, {}, &decision, &error);
        if (status == LIMITREE_UNKNOWN_ROOT)
          throw Error::from(status, error.get());
      }
    }
    paths_.resize(templates_.size());
    blamed_.resize(templates_.size());
  }

  // Throws FileError if a log becomes unreadable; result() then covers
  // everything before.
  void play(const std::string& name, ProgressBar* progress) {
    InputFile file(name);
    LineReader reader(&file);
    file_ = name;
    file_lines_ = 0;
    std::string_view line;
    for (;;) {
      const LineReader::Found found = reader.next(&line);
      if (found == LineReader::Found::kEnd) break;
      ++file_lines_;
      ++result_.lines;
      if (found == LineReader::Found::kLine) {
        play_line(line);
      } else {
        ++result_.bad;
        note(&result_.bad_notes,
             {file_, file_lines_, "the line is longer than 64 KiB"});
      }
      if (file_lines_ % kLinesPerUpdate == 0) {
        progress->update(done_bytes_ + file.bytes_read(), result_.lines);
      }
    }
    done_bytes_ += file.bytes_read();
  }

  // Ends the replay.
  const ReplayResult& result(double seconds) {
    result_.limits = counters(limiter_.get(), LIMITREE_SCOPE_LIMITS);
    result_.store = totals(limiter_.get(), LIMITREE_SCOPE_STORE);
    result_.seconds = seconds;
    return result_;
  }

 private:
  void play_line(std::string_view line) {
    result_.bytes += static_cast<std::int64_t>(line.size());
    LogRequest request;
    if (const char* const reason = log_.parse(line, &request)) {
      ++result_.bad;
      note(&result_.bad_notes, {file_, file_lines_, reason});
      return;
    }
    advance_clock(request);
    for (std::size_t i = 0; i < templates_.size(); ++i) {
      templates_[i].fill(request);
      const std::vector<limitree_str>& path = templates_[i].path();
      paths_[i] = {path.data(), path.size(), 1, LIMITREE_PART_CHARGE};
    }
    decide();
  }

  void advance_clock(const LogRequest& request) {
    // Years beyond 2262 do not fit into nanoseconds.
    const std::int64_t unix_s = std::min(request.unix_s, INT64_MAX / kSecondNs);
    if (!std::exchange(started_, true)) {
      result_.first = {unix_s, request.utc_offset_s};
      result_.last = result_.first;
      result_.histogram.align(request.utc_offset_s);
      now_ns_ = unix_s * kSecondNs;
    } else if (unix_s < result_.last.unix_s) {
      ++result_.out_of_order;
    } else {
      result_.last.unix_s = unix_s;
      now_ns_ = unix_s * kSecondNs;
    }
  }

  void decide() {
    Decision decision;
    ErrorHandle error;
    const limitree_status status = limiter_.try_decide(
        LIMITREE_AUTHORIZE, paths_, levels_, &decision, &error);
    if (status < 0) {
      skip(status, error);
    } else {
      count(decision);
    }
  }

  void count(const Decision& decision) {
    ++result_.requests;
    if (decision.has(LIMITREE_UNLIMITED)) ++result_.unlimited;
    if (decision.limited != 0) {
      ++result_.limited;
      blame(decision);
    } else if (decision.has(LIMITREE_SHADOWED)) {
      ++result_.shadowed;
    }
    result_.histogram.add(result_.last.unix_s, decision.limited != 0);
  }

  // Counts a denial for every path that a level denied.  A level on several
  // paths counts for the first of them.
  void blame(const Decision& decision) {
    const std::size_t count = std::min(
        static_cast<std::size_t>(decision.level_count), levels_.size());
    std::fill(blamed_.begin(), blamed_.end(), false);
    for (std::size_t i = 0; i < count; ++i) {
      const limitree_level& level = levels_[i];
      if (level.limited == 0 || level.mode == LIMITREE_SHADOW) continue;
      const auto path = static_cast<std::size_t>(level.path);
      if (blamed_[path]) continue;
      blamed_[path] = true;
      caller_.clear();
      templates_[path].append_text(&caller_);
      result_.callers.add(caller_);
    }
  }

  // If the limits refuse a path, such as a host name below `key: ip`, the line
  // is bad.  Other errors end the replay.
  void skip(limitree_status status, const ErrorHandle& error) {
    if (status != LIMITREE_INVALID_ARGUMENT &&
        status != LIMITREE_UNKNOWN_ROOT) {
      throw Error::from(status, error.get());
    }
    ++result_.skipped;
    if (result_.skipped_notes.size() < ReplayResult::kMaxNotes) {
      note(&result_.skipped_notes,
           {file_, file_lines_, Error::from(status, error.get()).what()});
    }
  }

  std::int64_t now_ns_ = 0;
  bool started_ = false;  // the clock shows the time of the log
  Limiter limiter_;
  std::vector<PathTemplate> templates_;
  std::vector<limitree_path> paths_;
  std::array<limitree_level, 64>
      levels_;                // levels to blame are among the first
  std::vector<bool> blamed_;  // by path
  AccessLog log_;
  std::string file_;             // current file
  std::int64_t file_lines_ = 0;  // its lines so far
  std::int64_t done_bytes_ = 0;  // bytes of earlier files
  std::string caller_;           // buffer for blame()
  ReplayResult result_;
};

// The bytes of all logs on disk; 0 if one of them is not a regular file.
// Throws FileError if one is missing, before reading any of them.
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

void refuse_double_input(const ReplayOptions& options) {
  const auto from_stdin =
      std::count(options.logs.begin(), options.logs.end(), std::string("-")) +
      (options.limits == "-" ? 1 : 0);
  if (from_stdin > 1) {
    throw UsageError("standard input can be read only once; name the logs");
  }
}

}  // namespace

int run(const ReplayOptions& options) {
  refuse_double_input(options);
  Replay replay(options);
  ProgressBar progress(total_size(options.logs));
  int exit_code = kExitOk;
  const auto start = std::chrono::steady_clock::now();
  try {
    for (const std::string& name : options.logs) replay.play(name, &progress);
  } catch (const FileError& error) {
    progress.clear();
    complain(error.what());
    exit_code = kExitBadInput;
  }
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - start;
  progress.clear();
  const ReplayResult& result = replay.result(took.count());
  print(options.json
            ? replay_json(result, options.top)
            : replay_text(result, options.top, Terminal::of(STDOUT_FILENO)));
  return exit_code;
}

}  // namespace limitree::cli

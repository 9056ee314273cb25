// `limitree replay`: what would these limits have done to that traffic?
//
// The clock is the latest time seen in a line so far: a server logs a request
// when it ends, so the lines are not quite in order.  Memory does not grow with
// the number of lines or callers, and a line needs no allocation.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>

#include "access_log.hpp"
#include "command.hpp"
#include "failure.hpp"
#include "findings.hpp"
#include "line_reader.hpp"
#include "path_template.hpp"
#include "simulate.hpp"
#include "tree_replay.hpp"

namespace limitree::cli {

namespace {

constexpr std::int64_t kLinesPerUpdate = 1024;

void note(std::vector<LineNote>* notes, LineNote line) {
  if (notes->size() < ReplayResult::kMaxNotes) {
    notes->push_back(std::move(line));
  }
}

class Replay {
 public:
  explicit Replay(const ReplayOptions& options) {
    for (const std::string& text : options.templates) {
      templates_.emplace_back(text);
    }
    paths_.resize(templates_.size());
    add_tree(options.limits, options);
    if (!options.compare.empty()) add_tree(options.compare, options);
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
      ++log_.lines;
      if (found == LineReader::Found::kLine) {
        play_line(line);
      } else {
        ++log_.bad;
        note(&log_.bad_notes,
             {file_, file_lines_, "the line is longer than 64 KiB"});
      }
      if (file_lines_ % kLinesPerUpdate == 0) {
        progress->update(done_bytes_ + file.bytes_read(), log_.lines);
      }
    }
    done_bytes_ += file.bytes_read();
  }

  // Ends the replay.  What it returns lives as long as this.
  Findings finish(double seconds, const ReplayOptions& options) {
    Findings found;
    found.logs = options.logs;
    for (const auto& tree : trees_) {
      tree->finish();
      ReplayResult* const result = tree->result();
      static_cast<LogSummary&>(*result) = log_;
      result->seconds = seconds;
      found.names.push_back(tree->name());
      found.trees.push_back(result);
    }
    if (trees_.size() > 1) found.flips = &flips_;
    return found;
  }

 private:
  void add_tree(const std::string& limits, const ReplayOptions& options) {
    trees_.push_back(
        std::make_unique<TreeReplay>(limits, options, templates_, &now_ns_));
  }

  void play_line(std::string_view line) {
    log_.bytes += static_cast<std::int64_t>(line.size());
    LogRequest request;
    if (const char* const reason = format_.parse(line, &request)) {
      ++log_.bad;
      note(&log_.bad_notes, {file_, file_lines_, reason});
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
      log_.first = {unix_s, request.utc_offset_s};
      log_.last = log_.first;
      for (const auto& tree : trees_) tree->align(request.utc_offset_s);
      now_ns_ = unix_s * kSecondNs;
    } else if (unix_s < log_.last.unix_s) {
      ++log_.out_of_order;
    } else {
      log_.last.unix_s = unix_s;
      now_ns_ = unix_s * kSecondNs;
    }
  }

  void decide() {
    const Verdict& before = decide(trees_.front().get());
    if (trees_.size() == 1) return;
    const Verdict& after = decide(trees_.back().get());
    if (before.outcome != after.outcome) add_flip(before, after);
  }

  const Verdict& decide(TreeReplay* tree) {
    const Verdict& verdict = tree->decide(paths_);
    if (verdict.outcome == Outcome::kRefused) {
      note(&tree->result()->skipped_notes,
           {file_, file_lines_, verdict.refusal});
    }
    return verdict;
  }

  // The limit is that which denies in one of the trees.
  void add_flip(const Verdict& before, const Verdict& after) {
    const Verdict& decides = after.limit.empty() ? before : after;
    Flip flip{file_,
              file_lines_,
              log_.last,
              before.outcome,
              after.outcome,
              std::string(decides.limit),
              {}};
    templates_[decides.path].append_text(&flip.path);
    flips_.add(std::move(flip));
  }

  std::int64_t now_ns_ = 0;
  bool started_ = false;  // the clock shows the time of the log
  std::vector<PathTemplate> templates_;
  std::vector<limitree_path> paths_;
  std::vector<std::unique_ptr<TreeReplay>> trees_;  // one or two
  AccessLog format_;
  std::string file_;             // current file
  std::int64_t file_lines_ = 0;  // its lines so far
  std::int64_t done_bytes_ = 0;  // bytes of earlier files
  LogSummary log_;
  Flips flips_;
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
      (options.limits == "-" ? 1 : 0) + (options.compare == "-" ? 1 : 0);
  if (from_stdin > 1) {
    throw UsageError("standard input can be read only once; name the logs");
  }
}

void print_findings(const Findings& found, const ReplayOptions& options) {
  if (options.json) {
    print(replay_json(found, options.top));
    return;
  }
  const Terminal terminal = Terminal::of(STDOUT_FILENO);
  print(found.flips == nullptr
            ? replay_text(*found.trees.front(), options.top, terminal)
            : compare_text(found, options.top, terminal));
  if (!options.html.empty()) print("\nreport: " + options.html + '\n');
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
  const Findings found = replay.finish(took.count(), options);
  if (options.html.empty() || keep_picture(replay_html(found), options.html)) {
    print_findings(found, options);
  }
  if (found.flips != nullptr && options.max_flips &&
      found.flips->total() > *options.max_flips) {
    complain(count_text(found.flips->total()) + " decisions flip, more than " +
             "--max-flips " + std::to_string(*options.max_flips));
    return kExitBadInput;
  }
  return exit_code;
}

}  // namespace limitree::cli

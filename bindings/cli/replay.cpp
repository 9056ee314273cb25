// `limitree replay`: what would these limits have done to that traffic?
//
// The clock is the latest time seen in a line so far: a server logs a request
// when it ends, so the lines are not quite in order.  Memory does not grow with
// the number of lines or callers, and a line needs no allocation.

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "command.hpp"
#include "failure.hpp"
#include "findings.hpp"
#include "log_reader.hpp"
#include "path_template.hpp"
#include "tree_replay.hpp"

namespace limitree::cli {

namespace {

class Replay {
 public:
  explicit Replay(const ReplayOptions& options) : log_(options.log) {
    for (const std::string& text : options.templates) {
      templates_.emplace_back(text, log_.fields());
    }
    paths_.resize(templates_.size());
    add_tree(options.limits, options);
    if (!options.compare.empty()) add_tree(options.compare, options);
    check_roots();
  }

  // Returns an exit code, as LogReader::read() does.
  int play() {
    return log_.read([this](const LogRequest& request) { play(request); });
  }

  // Ends the replay.  What it returns lives as long as this.
  Findings finish(const ReplayOptions& options) {
    Findings found;
    found.logs = options.log.logs;
    for (const auto& tree : trees_) {
      tree->finish();
      ReplayResult* const result = tree->result();
      static_cast<LogSummary&>(*result) = log_.summary();
      result->seconds = log_.seconds();
      found.names.push_back(tree->name());
      found.trees.push_back(result);
    }
    if (trees_.size() > 1) found.flips = &flips_;
    return found;
  }

 private:
  void add_tree(const std::string& limits, const ReplayOptions& options) {
    trees_.push_back(std::make_unique<TreeReplay>(limits, options, templates_,
                                                  log_.clock()));
  }

  // A root that no tree has would fail for every line.  One that only one of
  // them has is a name that a change adds or takes away, unless nothing would
  // be left to decide by the other.
  void check_roots() const {
    for (const auto& unknown : trees_.front()->unknown_roots()) {
      if (trees_.back()->unknown_roots().contains(unknown.first)) {
        throw Error(unknown.second);
      }
    }
    for (const auto& tree : trees_) {
      if (tree->unknown_roots().size() == templates_.size()) {
        const Error& error = tree->unknown_roots().begin()->second;
        throw Error(error.status(), {tree->name() + ": " + error.what()});
      }
    }
  }

  void play(const LogRequest& request) {
    if (!std::exchange(started_, true)) {
      for (const auto& tree : trees_) tree->align(request.utc_offset_s);
    }
    for (std::size_t i = 0; i < templates_.size(); ++i) {
      templates_[i].fill(request);
      const std::vector<limitree_str>& path = templates_[i].path();
      paths_[i] = {path.data(), path.size(), 1, LIMITREE_PART_CHARGE};
    }
    decide();
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
      log_.note(verdict.refusal, &tree->result()->skipped_notes);
    }
    return verdict;
  }

  // The limit is that which denies in one of the trees; without one, the path
  // is that which is refused.
  void add_flip(const Verdict& before, const Verdict& after) {
    const bool by_after =
        !after.limit.empty() ||
        (before.limit.empty() && after.outcome == Outcome::kRefused);
    const Verdict& decides = by_after ? after : before;
    Flip flip{log_.file(),
              log_.line(),
              log_.summary().last,
              before.outcome,
              after.outcome,
              std::string(decides.limit),
              {}};
    templates_[decides.path].append_text(&flip.path);
    flips_.add(std::move(flip));
  }

  LogReader log_;
  bool started_ = false;  // there was a request
  std::vector<PathTemplate> templates_;
  std::vector<limitree_path> paths_;
  std::vector<std::unique_ptr<TreeReplay>> trees_;  // one or two
  Flips flips_;
};

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

// Whether decisions differ as --max-flips allows.  Complains if they do not, or
// if there are none: limits would pass on a log that nobody could read.
bool is_within_flips(const Findings& found, std::int64_t max_flips) {
  const ReplayResult& result = *found.trees.front();
  if (result.requests + result.skipped == 0) {
    complain("no line is a request, so --max-flips has nothing to check");
    return false;
  }
  if (found.flips->total() <= max_flips) return true;
  complain(flips_text(found.flips->total()) + ", more than --max-flips " +
           std::to_string(max_flips));
  return false;
}

}  // namespace

int run(const ReplayOptions& options) {
  refuse_double_input(options.log.logs, (options.limits == "-" ? 1 : 0) +
                                            (options.compare == "-" ? 1 : 0));
  Replay replay(options);
  const int exit_code = replay.play();
  const Findings found = replay.finish(options);
  if (options.html.empty() || keep_picture(replay_html(found), options.html)) {
    print_findings(found, options);
  }
  if (found.flips != nullptr && options.max_flips &&
      !is_within_flips(found, *options.max_flips)) {
    return kExitBadInput;
  }
  return exit_code;
}

}  // namespace limitree::cli

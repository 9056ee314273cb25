// `limitree suggest`: which limits would suit that traffic?

#include "suggest.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "failure.hpp"
#include "path_template.hpp"

namespace limitree::cli {

namespace {

constexpr std::int64_t kMinuteNs = 60 * kSecondNs;
// Each takes memory of each caller, and a line in the picture.
constexpr std::size_t kMaxPeriods = 5;
constexpr std::int64_t kDayNs = 86'400 * kSecondNs;

std::vector<std::int64_t> periods_of(const SuggestOptions& options) {
  if (options.periods_ns.empty()) {
    return {kSecondNs, kMinuteNs, 60 * kMinuteNs, kDayNs};
  }
  if (options.periods_ns.size() > kMaxPeriods) {
    throw UsageError("--period may come at most " +
                     std::to_string(kMaxPeriods) + " times");
  }
  std::vector<std::int64_t> seen;
  for (const std::int64_t period_ns : options.periods_ns) {
    if (period_ns < 1'000'000 || period_ns > 365 * kDayNs) {
      throw UsageError("--period must be from 1ms to 365d");
    }
    if (std::find(seen.begin(), seen.end(), period_ns) != seen.end()) {
      throw UsageError("--period " + duration_text(period_ns) + " comes twice");
    }
    seen.push_back(period_ns);
  }
  return seen;
}

// The callers of one template.
struct Group {
  Group(const std::string& text, const LogFields& fields,
        const Candidates* candidates, std::size_t max_callers)
      : path(text, fields), callers(candidates, max_callers) {}

  PathTemplate path;
  CallerTable callers;
};

class Suggest {
 public:
  explicit Suggest(const SuggestOptions& options)
      : options_(options), log_(options.log), candidates_(periods_of(options)) {
    std::map<std::vector<std::string>, std::string> limits;
    for (const std::string& text : options.templates) {
      groups_.emplace_back(text, log_.fields(), &candidates_,
                           options.max_callers);
      const PathTemplate& path = groups_.back().path;
      if (path.patterns().front().find('*') != std::string::npos) {
        throw UsageError("--path '" + text +
                         "': must begin with a name, such as ip");
      }
      const auto [at, is_new] = limits.emplace(path.patterns(), text);
      if (!is_new) {
        throw UsageError("--path '" + text + "' and '" + at->second +
                         "' would be one limit; begin them with two names");
      }
    }
  }

  // Returns an exit code, as LogReader::read() does.
  int read() {
    return log_.read([this](const LogRequest& request) { add(request); });
  }

  SuggestResult result() const {
    SuggestResult made{log_.summary(), 0, options_.limited_share, {}};
    const auto minute = std::find(candidates_.periods_ns.begin(),
                                  candidates_.periods_ns.end(), kMinuteNs);
    const std::size_t chosen =
        options_.periods_ns.empty()
            ? static_cast<std::size_t>(minute - candidates_.periods_ns.begin())
            : 0;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      made.suggestions.push_back(
          make_suggestion(groups_[i].callers, candidates_, options_, chosen));
      made.suggestions.back().path = options_.templates[i];
      made.suggestions.back().patterns = groups_[i].path.patterns();
    }
    return made;
  }

 private:
  void add(const LogRequest& request) {
    const std::int64_t now_ns = *log_.clock();
    // Periods begin with those of the clock, in UTC.
    if (begin_ns_ < 0) begin_ns_ = now_ns - now_ns % kDayNs;
    const std::int64_t since_ns =
        std::min(now_ns - begin_ns_, UseMeter::kMaxDebtNs);
    for (Group& group : groups_) {
      group.path.fill(request);
      caller_.clear();
      group.path.append_text(&caller_);
      group.callers.add(caller_, since_ns);
    }
  }

  const SuggestOptions& options_;
  LogReader log_;
  Candidates candidates_;
  std::vector<Group> groups_;
  std::int64_t begin_ns_ = -1;
  std::string caller_;  // buffer for add()
};

}  // namespace

int run(const SuggestOptions& options) {
  refuse_double_input(options.log.logs);
  const auto start = std::chrono::steady_clock::now();
  Suggest suggest(options);
  const int exit_code = suggest.read();
  SuggestResult result = suggest.result();
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - start;
  result.seconds = took.count();
  if (!options.svg.empty() && !keep_picture(suggest_svg(result), options.svg)) {
    return exit_code;
  }
  print(options.json ? suggest_json(result)
                     : suggest_text(result, Terminal::of(STDOUT_FILENO)));
  return exit_code;
}

}  // namespace limitree::cli

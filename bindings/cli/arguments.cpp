#include "arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <utility>

#include "failure.hpp"
#include "format.hpp"
#include "limitree.hpp"
#include "terminal.hpp"

namespace limitree::cli {

namespace {

constexpr const char* kFooter =
    "limits.yaml and logs may be \"-\" for standard input.\n"
    "Exit codes: 0 fine; 1 a file, or the limits in it, is bad; 2 usage.";

constexpr const char* kCheckFooter =
    "Example:\n  limitree check examples/limits.yaml";

constexpr const char* kExplainFooter =
    "Example:\n  limitree explain examples/limits.yaml user alex trade";

constexpr const char* kTryFooter =
    "After --then comes another path with its own options; all steps share "
    "their\nbuckets and their clock, which nothing but --every and --after "
    "moves.\n\n"
    "response  limited (0 or 1), limit, remaining, retry after, reset after "
    "of the\n          whole decision, in whole seconds; -1: no need to wait, "
    "or no use\nleft      tokens left of the tokens in a full bucket\n"
    "retry     until the same attempt would fit; \"-\": it does\n"
    "reset     until the bucket is full again\n\n"
    "Example:\n"
    "  limitree try examples/limits.yaml user alex trade --times 8 \\\n"
    "    --then user alex withdrawal --times 2";

constexpr const char* kReplayFooter =
    "Logs are in the common or combined format, plain or gzip; without any, "
    "standard\ninput is read.  The limits see the log's own time.\n\n"
    "A template is a path with a comma between its segments.  In braces, "
    "fields of\nthe line: remote_addr, remote_user, method, path, query, "
    "target, protocol,\nstatus, bytes, referer, user_agent.  A backslash "
    "takes the comma, brace or\nbackslash after it literally.\n\n"
    "Example:\n"
    "  limitree replay examples/web/limits.yaml examples/access.log.gz \\\n"
    "    --path 'ip,{remote_addr}' --path 'route,{method},{path}'";

void add_limits(CLI::App* app, std::string* limits) {
  app->add_option("limits", *limits, "a limits.yaml, or -")
      ->required()
      ->type_name("FILE");
}

// Sets *duration_ns to what the option says.
CLI::Option* add_duration(CLI::App* app, const std::string& name,
                          std::int64_t* duration_ns, const std::string& help) {
  const auto set = [duration_ns](const std::string& text) {
    const std::optional<std::int64_t> parsed = parse_duration_ns(text);
    if (!parsed) {
      throw CLI::ValidationError("'" + text +
                                 "' is no duration like 100ms, 1.5s or 2m");
    }
    *duration_ns = *parsed;
  };
  return app->add_option_function<std::string>(name, set, help)
      ->type_name("DURATION");
}

void add_path(CLI::App* app, std::vector<std::string>* path) {
  app->add_option("path", *path, "the segments of a path, e.g. user alex trade")
      ->required()
      ->type_name("SEGMENT");
}

void add_step(CLI::App* app, TryStep* step) {
  add_path(app, &step->path);
  app->add_option("--times", step->times, "how many attempts (1)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000}))
      ->type_name("N");
  app->add_option("--cost", step->cost, "tokens asked for each time (1)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  add_duration(app, "--every", &step->every_ns,
               "time between two attempts (0s)");
  add_duration(app, "--after", &step->after_ns,
               "time before the first attempt (0s)");
}

CLI::App* add_check(CLI::App* app, CheckOptions* options) {
  CLI::App* const check =
      app->add_subcommand("check", "Validate limits and print their tree");
  add_limits(check, &options->limits);
  check->add_flag("-q,--quiet", options->quiet, "print mistakes only");
  check->footer(kCheckFooter);
  return check;
}

CLI::App* add_explain(CLI::App* app, ExplainOptions* options) {
  CLI::App* const explain = app->add_subcommand(
      "explain", "Show the limits that a path meets, and why");
  add_limits(explain, &options->limits);
  add_path(explain, &options->path);
  explain->footer(kExplainFooter);
  return explain;
}

CLI::App* add_try(CLI::App* app, TryOptions* options) {
  CLI::App* const attempt =
      app->add_subcommand("try", "Show the responses to a series of attempts");
  add_limits(attempt, &options->limits);
  add_step(attempt, &options->steps.front());
  attempt->footer(kTryFooter);
  return attempt;
}

CLI::App* add_replay(CLI::App* app, ReplayOptions* options) {
  CLI::App* const replay =
      app->add_subcommand("replay", "Feed access logs through the limits");
  add_limits(replay, &options->limits);
  replay->add_option("logs", options->logs, "access logs, or -")
      ->type_name("FILE");
  replay
      ->add_option("-p,--path", options->templates,
                   "template of a path to charge for each line; repeatable")
      ->required()
      ->allow_extra_args(false)
      ->type_name("TEMPLATE");
  replay->add_option("--top", options->top, "callers to show (10)")
      ->check(CLI::Range(std::size_t{0}, std::size_t{1000}))
      ->type_name("N");
  replay
      ->add_option("--max-buckets", options->max_buckets,
                   "callers to remember at a time (1000000)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  replay->add_flag("--json", options->json, "print one JSON object");
  replay->footer(kReplayFooter);
  return replay;
}

// CLI11 takes words from the back.
void parse(CLI::App* app, std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());
  try {
    app->parse(std::move(words));
  } catch (const CLI::Success&) {
    throw;
  } catch (const CLI::ParseError& error) {
    std::string message = error.what();
    if (message.starts_with("The ")) message[0] = 't';
    throw UsageError(message);
  }
}

// Cuts `words` into those before the first "--then", returned, and the steps
// after it.  Behind "--" every word is a segment.
std::vector<std::string> cut_steps(
    std::vector<std::string> words,
    std::vector<std::vector<std::string>>* steps) {
  std::vector<std::string> first;
  bool literal = false;
  for (std::string& word : words) {
    literal = literal || word == "--";
    if (word == "--then" && !literal) {
      steps->emplace_back();
    } else {
      (steps->empty() ? first : steps->back()).push_back(std::move(word));
    }
  }
  return first;
}

TryStep parse_step(const std::vector<std::string>& words) {
  TryStep step;
  CLI::App app("", "try ... --then");
  app.set_help_flag();
  add_step(&app, &step);
  parse(&app, words);
  return step;
}

}  // namespace

std::optional<Command> parse_arguments(std::vector<std::string> words) {
  CheckOptions check_options;
  ExplainOptions explain_options;
  TryOptions try_options{.limits = {}, .steps = {TryStep()}};
  ReplayOptions replay_options;

  CLI::App app("Rate limiting by trees of limits", "limitree");
  app.set_version_flag("--version",
                       std::string("limitree ") + limitree_version());
  app.footer(kFooter);
  // With a maximum of one, a segment called "check" is no second command.
  app.require_subcommand(1);
  const CLI::App* const check = add_check(&app, &check_options);
  const CLI::App* const explain = add_explain(&app, &explain_options);
  const CLI::App* const attempt = add_try(&app, &try_options);
  add_replay(&app, &replay_options);

  std::vector<std::vector<std::string>> steps;
  if (!words.empty() && words.front() == "try") {
    words = cut_steps(std::move(words), &steps);
  }
  try {
    parse(&app, std::move(words));
  } catch (const CLI::CallForVersion& version) {
    print(std::string(version.what()) + '\n');
    return std::nullopt;
  } catch (const CLI::Success&) {
    print(app.help());
    return std::nullopt;
  }
  if (check->parsed()) return check_options;
  if (explain->parsed()) return explain_options;
  if (attempt->parsed()) {
    for (const std::vector<std::string>& step : steps) {
      try_options.steps.push_back(parse_step(step));
    }
    return try_options;
  }
  if (replay_options.logs.empty()) replay_options.logs.emplace_back("-");
  return replay_options;
}

}  // namespace limitree::cli

#include "arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

#include "duration_option.hpp"
#include "failure.hpp"
#include "limitree.hpp"
#include "simulate_arguments.hpp"
#include "source_arguments.hpp"
#include "terminal.hpp"

namespace limitree::cli {

namespace {

constexpr const char* kFooter =
    "limits.yaml and logs may be \"-\" for standard input.\n"
    "Exit codes: 0 fine; 1 a file, the limits in it, or the store, is bad; "
    "2 usage.";

constexpr const char* kCheckFooter =
    "With --from boulder there are two files, Boulder's defaults and its "
    "overrides;\n--yaml then prints them as one limits.yaml.  With --from "
    "envoy there are\nconfiguration files of envoyproxy/ratelimit, or folders "
    "of them.\n\n"
    "Example:\n  limitree check examples/limits.yaml";

constexpr const char* kConvertFooter =
    "With --from boulder there are two files, Boulder's defaults and its "
    "overrides.\nWith --from envoy there are configuration files of "
    "envoyproxy/ratelimit, or\nfolders of them.  Rules without an equivalent "
    "are named on standard error; the\nexit code is then 1.\n\n"
    "Example:\n  limitree convert examples/descriptors --from envoy";

constexpr const char* kExplainFooter =
    "With --from envoy the path is a domain, and the entries of a descriptor "
    "as\nkey=value,key=value.  A backslash takes the character after it "
    "literally.\n\n"
    "Examples:\n  limitree explain examples/limits.yaml user alex trade\n"
    "  limitree explain --from envoy examples/descriptors apis "
    "path=/search,user=7";

constexpr const char* kTryFooter =
    "After --then comes another path with its own options; all steps share "
    "their\nbuckets and their clock.  Only --every and --after move the "
    "clock.\n\n"
    "With --store the attempts are real: they charge buckets that others see, "
    "and\n--every and --after are refused.\n\n"
    "response  limited (0 or 1), limit, remaining, retry after, reset after "
    "of the\n          whole decision, in whole seconds; -1: no wait is "
    "needed, or helps\nleft      tokens left of the tokens in a full bucket\n"
    "retry     until the same attempt would fit; \"-\": it does\n"
    "reset     until the bucket is full again\n\n"
    "Example:\n"
    "  limitree try examples/limits.yaml user alex trade --times 8 \\\n"
    "    --then user alex withdrawal --times 2";

constexpr const char* kStoreFooter =
    "The store is a URL such as redis://localhost:6379/0, rediss://host,\n"
    "redis+unix:///path, redis+sentinel://h1,h2/service or "
    "redis+cluster://h1,h2,\nor a file that processes of this machine share: "
    "shm://name or shm:///path.\nOther users of this machine can see command "
    "lines: put a URL with a password\ninto the environment as "
    "LIMITREE_STORE.\n\n"
    "--set names an option of the library, such as timeout or tls_ca_file.  "
    "The\ntimeout is 2s if it is not set.\n\n";

constexpr const char* kPingExample =
    "Example:\n  limitree ping --store redis://localhost:6379";

constexpr const char* kShowExample =
    "Example:\n"
    "  limitree show examples/limits.yaml user alex trade \\\n"
    "    --store redis://localhost:6379";

constexpr const char* kResetExample =
    "Example:\n"
    "  limitree reset examples/limits.yaml user alex trade --leaf \\\n"
    "    --store redis://localhost:6379";

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

struct Range {
  std::int64_t least;
  std::int64_t most;
};

// Sets *count from the option, a number in `range`.
template <typename Count>
void add_count(CLI::App* app, const std::string& name, Range range,
               Count* count, const std::string& help) {
  const auto set = [name, range, count](const std::string& text) {
    std::int64_t parsed = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, parsed);
    if (error != std::errc() || rest != end || parsed < range.least ||
        parsed > range.most) {
      throw CLI::ValidationError(name, "'" + text + "' is no number from " +
                                           std::to_string(range.least) +
                                           " to " + std::to_string(range.most));
    }
    *count = static_cast<Count>(parsed);
  };
  app->add_option_function<std::string>(name, set, help)->type_name("N");
}

void add_path(CLI::App* app, std::vector<std::string>* path) {
  app->add_option("path", *path, "the segments of a path, e.g. user alex trade")
      ->required()
      ->type_name("SEGMENT");
}

void add_remote(CLI::App* app, Remote* remote) {
  app->add_option("-u,--store", remote->store,
                  "where the buckets are (LIMITREE_STORE)")
      ->type_name("URL");
  app->add_option("--set", remote->settings,
                  "an option of the library; repeatable")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
}

void add_step(CLI::App* app, TryStep* step) {
  add_path(app, &step->path);
  add_count(app, "--times", {1, 100'000}, &step->times,
            "how many attempts (1)");
  add_count(app, "--cost", {0, INT64_MAX}, &step->cost,
            "tokens asked for each time (1)");
  add_duration(app, "--every", &step->every_ns,
               "time between two attempts (0s)");
  add_duration(app, "--after", &step->after_ns,
               "time before the first attempt (0s)");
}

CLI::App* add_check(CLI::App* app, CheckOptions* options) {
  CLI::App* const check =
      app->add_subcommand("check", "Validate limits and print their tree");
  add_any_source(check, &options->source);
  add_other_files(check, &options->source);
  check->add_flag("-q,--quiet", options->quiet, "print mistakes only");
  check->add_flag("--yaml", options->yaml, "print them as a limits.yaml");
  check->footer(kCheckFooter);
  return check;
}

CLI::App* add_convert(CLI::App* app, ConvertOptions* options) {
  CLI::App* const convert = app->add_subcommand(
      "convert", "Print limits of another program as a limits.yaml");
  add_any_source(convert, &options->source);
  add_other_files(convert, &options->source);
  convert->footer(kConvertFooter);
  return convert;
}

CLI::App* add_explain(CLI::App* app, ExplainOptions* options) {
  CLI::App* const explain = app->add_subcommand(
      "explain", "Show the limits that a path meets, and why");
  add_any_source(explain, &options->source);
  add_path(explain, &options->path);
  explain->footer(kExplainFooter);
  return explain;
}

CLI::App* add_try(CLI::App* app, TryOptions* options) {
  CLI::App* const attempt =
      app->add_subcommand("try", "Show the responses to a series of attempts");
  add_source(attempt, {"boulder"}, &options->source);
  add_step(attempt, &options->steps.front());
  attempt
      ->add_option("-u,--store", options->remote.store,
                   "decide there, and now; \"env\": LIMITREE_STORE")
      ->type_name("URL");
  attempt
      ->add_option("--set", options->remote.settings,
                   "an option of the library; repeatable")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  attempt->footer(kTryFooter);
  return attempt;
}

CLI::App* add_ping(CLI::App* app, PingOptions* options) {
  CLI::App* const ping =
      app->add_subcommand("ping", "Check that a store answers");
  add_remote(ping, &options->remote);
  ping->footer(std::string(kStoreFooter) + kPingExample);
  return ping;
}

CLI::App* add_show(CLI::App* app, ShowOptions* options) {
  CLI::App* const show = app->add_subcommand(
      "show", "Show what is left in the buckets of a caller");
  add_limits(show, &options->limits);
  add_path(show, &options->path);
  add_remote(show, &options->remote);
  show->footer(std::string(kStoreFooter) + kShowExample);
  return show;
}

CLI::App* add_reset(CLI::App* app, ResetOptions* options) {
  CLI::App* const reset =
      app->add_subcommand("reset", "Forget the buckets of a caller");
  add_limits(reset, &options->limits);
  add_path(reset, &options->path);
  reset->add_flag("--leaf", options->leaf,
                  "only those of the deepest node that has limits");
  add_remote(reset, &options->remote);
  reset->footer(std::string(kStoreFooter) + kResetExample);
  return reset;
}

CLI::App* add_replay(CLI::App* app, ReplayOptions* options) {
  CLI::App* const replay =
      app->add_subcommand("replay", "Feed access logs through the limits");
  add_limits(replay, &options->limits);
  replay->add_option("logs", options->logs, "access logs, or -")
      ->type_name("FILE");
  replay
      ->add_option("-p,--path", options->templates,
                   "path to charge for each line; repeatable")
      ->required()
      ->allow_extra_args(false)
      ->type_name("TEMPLATE");
  add_count(replay, "--top", {0, 1000}, &options->top,
            "limits and callers to show (10)");
  add_count(replay, "--max-buckets", {1, INT64_MAX}, &options->max_buckets,
            "buckets to keep at a time (1000000)");
  replay->add_flag("--json", options->json, "print one JSON object");
  replay->footer(kReplayFooter);
  return replay;
}

bool is_command(const CLI::App& app, const std::string& name) {
  const auto commands = app.get_subcommands(nullptr);
  return std::any_of(
      commands.begin(), commands.end(),
      [&](const CLI::App* command) { return command->get_name() == name; });
}

// CLI11 would report a misspelled command as a missing one.
void check_command(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) throw UsageError("a command is required; see --help");
  const std::string& name = words.front();
  if (!name.starts_with('-') && !is_command(app, name)) {
    throw UsageError("no command is called '" + name + "'; see --help");
  }
}

// CLI11 takes words from the end.
void parse(CLI::App* app, std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());
  try {
    app->parse(std::move(words));
  } catch (const CLI::Success&) {
    throw;
  } catch (const CLI::ParseError& error) {
    std::string message = error.what();
    if (message.starts_with("The ") || message.starts_with("A ")) {
      message[0] = static_cast<char>(message[0] - 'A' + 'a');
    }
    throw UsageError(message + "; see --help");
  }
}

// Splits `words` into the words before the first "--then", returned, and the
// steps after it.  After "--" every word is a segment.
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
  ConvertOptions convert_options;
  ExplainOptions explain_options;
  TryOptions try_options{.source = {}, .steps = {TryStep()}};
  ReplayOptions replay_options;
  SimulateOptions simulate_options;
  PingOptions ping_options;
  ShowOptions show_options;
  ResetOptions reset_options;

  CLI::App app("Rate limiting by trees of limits", "limitree");
  app.set_version_flag("--version",
                       std::string("limitree ") + limitree_version());
  app.footer(kFooter);
  // With a maximum of one, a segment called "check" is not a second command.
  app.require_subcommand(1);
  const CLI::App* const check = add_check(&app, &check_options);
  const CLI::App* const convert = add_convert(&app, &convert_options);
  const CLI::App* const explain = add_explain(&app, &explain_options);
  const CLI::App* const attempt = add_try(&app, &try_options);
  add_replay(&app, &replay_options);
  const CLI::App* const simulate = add_simulate(&app, &simulate_options);
  const CLI::App* const ping = add_ping(&app, &ping_options);
  const CLI::App* const show = add_show(&app, &show_options);
  const CLI::App* const reset = add_reset(&app, &reset_options);
  const CLI::App* const serve = add_serve(&app);

  check_command(app, words);
  const std::vector<std::string> serve_words(words.begin() + 1, words.end());
  std::vector<std::vector<std::string>> steps;
  if (words.front() == "try") words = cut_steps(std::move(words), &steps);
  try {
    parse(&app, std::move(words));
  } catch (const CLI::CallForVersion& version) {
    print(std::string(version.what()) + '\n');
    return std::nullopt;
  } catch (const CLI::Success&) {
    print(app.help());
    return std::nullopt;
  }
  if (check->parsed()) {
    check_files(check_options);
    return check_options;
  }
  if (convert->parsed()) {
    check_files(convert_options);
    return convert_options;
  }
  if (explain->parsed()) {
    take_overrides(&explain_options.source, &explain_options.path);
    return explain_options;
  }
  if (attempt->parsed()) {
    take_overrides(&try_options.source, &try_options.steps.front().path);
    for (const std::vector<std::string>& step : steps) {
      try_options.steps.push_back(parse_step(step));
    }
    return try_options;
  }
  if (simulate->parsed()) return simulate_options;
  if (ping->parsed()) return ping_options;
  if (show->parsed()) return show_options;
  if (reset->parsed()) return reset_options;
  if (serve->parsed()) return ServeOptions{serve_words};
  if (replay_options.logs.empty()) replay_options.logs.emplace_back("-");
  return replay_options;
}

}  // namespace limitree::cli

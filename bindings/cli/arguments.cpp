#include "arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "failure.hpp"
#include "footers.hpp"
#include "limitree.hpp"
#include "options.hpp"
#include "terminal.hpp"

namespace limitree::cli {

namespace {

void add_step(CLI::App* app, TryStep* step) {
  add_path(app, &step->path);
  add_count(app, "--times", 1, 100'000, &step->times, "how many attempts (1)");
  add_cost(app, step);
  add_duration(app, "--every", &step->every_ns,
               "time between two attempts (0s)");
  add_duration(app, "--after", &step->after_ns,
               "time before the first attempt (0s)");
  app->add_flag("--reserve", step->reserves,
                "hold what limits can hold; nobody settles it");
  add_duration(app, "--hold", &step->hold_ns,
               "for how long (as each limit says)");
  app->get_option("--hold")->needs("--reserve");
}

// The commands, and the exit code of the one that has run.
class Commands {
 public:
  explicit Commands(CLI::App* app) : app_(app) {}

  int exit_code() const { return exit_code_; }

  // Adds a command.  If it is given, `check` may refuse its options, and run()
  // gets them.
  template <typename Options>
  std::pair<CLI::App*, Options*> add(
      const char* name, const char* help, const std::string& footer,
      const std::function<void(Options*)>& check = [](Options*) {}) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command = app_->add_subcommand(name, help);
    command->footer(footer);
    command->callback([this, options, check] {
      check(options.get());
      exit_code_ = run(*options);
    });
    return {command, options.get()};
  }

 private:
  CLI::App* const app_;
  int exit_code_ = kExitOk;
};

void add_check(Commands* commands) {
  const auto [check, options] = commands->add<CheckOptions>(
      "check", "Validate limits and print their tree", kCheckFooter,
      [](CheckOptions* given) { check_files(*given); });
  add_source(check, {"boulder", "envoy"}, &options->source);
  add_other_files(check, &options->source);
  check->add_flag("-q,--quiet", options->quiet, "print mistakes only");
  check->add_flag("--yaml", options->yaml, "print them as a limits.yaml");
}

void add_convert(Commands* commands) {
  const auto [convert, options] = commands->add<ConvertOptions>(
      "convert", "Print limits of another program as a limits.yaml",
      kConvertFooter, [](ConvertOptions* given) { check_files(*given); });
  add_source(convert, {"boulder", "envoy"}, &options->source);
  add_other_files(convert, &options->source);
}

void add_explain(Commands* commands) {
  const auto [explain, options] = commands->add<ExplainOptions>(
      "explain", "Show the limits that a path meets, and why", kExplainFooter,
      [](ExplainOptions* given) {
        take_overrides(&given->source, &given->path);
      });
  add_source(explain, {"boulder", "envoy"}, &options->source);
  add_path(explain, &options->path);
}

// `file` is the value of the option `name`.
void refuse_two_outputs(bool json, const std::string& name,
                        const std::string& file) {
  if (!json || file != "-") return;
  throw UsageError("--json and " + name + " - would both print; see --help");
}

void add_replay(Commands* commands) {
  const auto [replay, options] = commands->add<ReplayOptions>(
      "replay", "Feed access logs through the limits",
      std::string(kLogHelp) + kReplayFooter, [](ReplayOptions* given) {
        if (given->log.logs.empty()) given->log.logs.emplace_back("-");
        refuse_two_outputs(given->json, "--html", given->html);
      });
  add_limits(replay, &options->limits);
  add_logs(replay, &options->log);
  add_templates(replay, "path to charge for each line", &options->templates);
  add_count(replay, "--top", 0, 1000, &options->top,
            "limits and callers to show (10)");
  add_count(replay, "--max-buckets", 1, INT64_MAX, &options->max_buckets,
            "buckets to keep at a time (1000000)");
  replay->add_flag("--json", options->json, "print one JSON object");
  add_file(replay, "--html", &options->html,
           "write a report into this file, or -");
  add_file(replay, "--compare", &options->compare,
           "other limits, on the same log");
  add_count(replay, "--max-flips", 0, INT64_MAX, &options->max_flips,
            "fail if more decisions differ");
  replay->get_option("--max-flips")->needs("--compare");
}

void add_suggest(Commands* commands) {
  const auto [suggest, options] = commands->add<SuggestOptions>(
      "suggest", "Suggest limits from access logs",
      std::string(kLogHelp) + kSuggestFooter, [](SuggestOptions* given) {
        if (given->log.logs.empty()) given->log.logs.emplace_back("-");
        refuse_two_outputs(given->json, "--svg", given->svg);
      });
  add_logs(suggest, &options->log);
  add_templates(suggest, "path of a caller", &options->templates);
  add_durations(suggest, "--period", &options->periods_ns,
                "of limits (1s, 1m, 1h, 1d); repeatable");
  add_share(suggest, "--limited-callers", &options->limited_share,
            "callers that limits may ever meet (0.1%)");
  add_count(suggest, "--max-callers", 1, 1'000'000'000, &options->max_callers,
            "callers to keep; of more, a sample (1000000)");
  add_count(suggest, "--top", 0, 1000, &options->top,
            "callers that stand out to show (10)");
  suggest->add_flag("--json", options->json, "print one JSON object");
  add_file(suggest, "--svg", &options->svg,
           "draw a picture into this file, or -");
}

void add_simulate(Commands* commands) {
  const auto [simulate, options] = commands->add<SimulateOptions>(
      "simulate", "Compare what algorithms admit of the same traffic",
      kSimulateFooter);
  const auto algorithms =
      simulate
          ->add_option("-a,--algorithms", options->algorithms,
                       "all of them, or one (all)")
          ->type_name("NAME");
  add_count(simulate, "--count", 1, 5000, &options->count,
            "requests allowed per period (100)");
  add_duration(simulate, "--period", &options->period_ns, "the period (10s)");
  add_duration(simulate, "--lease", &options->lease_ns,
               "show what leases of that time save");
  simulate->add_flag("--ahead", options->ahead,
                     "processes deny ahead: `ahead: true`");
  add_count(simulate, "--processes", 1, 64, &options->processes,
            "that share the limit (8)");
  add_count(simulate, "--load", 1, 10'000, &options->load,
            "requests, in percent of the limit (90)");
  simulate->get_option("--lease")->excludes(algorithms);
  for (const char* const name : {"--ahead", "--processes", "--load"}) {
    simulate->get_option(name)->needs("--lease");
  }
  add_file(simulate, "--svg", &options->svg,
           "draw a picture into this file, or -");
}

constexpr const char* kStoreHelp = "where the buckets are (LIMITREE_STORE)";

void add_ping(Commands* commands) {
  const auto [ping, options] =
      commands->add<PingOptions>("ping", "Check that a store answers",
                                 std::string(kStoreFooter) + kPingExample);
  add_remote(ping, kStoreHelp, &options->remote);
}

void add_show(Commands* commands) {
  const auto [show, options] = commands->add<ShowOptions>(
      "show", "Show what is left in the buckets of a caller",
      std::string(kCallerFooter) + kStoreFooter + kShowExample,
      [](ShowOptions* given) { check_caller(*given); });
  add_source(show, {"envoy"}, &options->source);
  add_path(show, &options->path);
  add_remote(show, kStoreHelp, &options->remote);
}

void add_reset(Commands* commands) {
  const auto [reset, options] = commands->add<ResetOptions>(
      "reset", "Forget the buckets of a caller",
      std::string(kCallerFooter) + kStoreFooter + kResetExample,
      [](ResetOptions* given) {
        check_caller(*given);
        if (!given->leaf || !given->source.is_envoy()) return;
        throw UsageError("--leaf is for paths, not for envoy; see --help");
      });
  add_source(reset, {"envoy"}, &options->source);
  add_path(reset, &options->path);
  reset->add_flag("--leaf", options->leaf,
                  "only those of the deepest node that has limits");
  add_remote(reset, kStoreHelp, &options->remote);
}

void add_top(Commands* commands) {
  const auto [top, options] = commands->add<TopOptions>(
      "top", "Show which limits and callers matter now", kTopFooter,
      [](TopOptions* given) {
        if (!given->limits.empty() || !given->server.empty()) return;
        throw UsageError(
            "top needs a limits.yaml, for a store, or --server; see --help");
      });
  top->add_option("limits", options->limits, "a limits.yaml")
      ->type_name("FILE");
  add_remote(top, kStoreHelp, &options->remote);
  top->add_option("--server", options->server,
                  "the admin port of a service, http://HOST:PORT")
      ->type_name("URL");
  add_count(top, "--top", 1, 1000, &options->top,
            "limits and callers to show (20)");
  add_duration(top, "--every", &options->every_ns,
               "time between two refreshes (2s)");
  top->add_flag("--once", options->once, "print one time");
  top->add_flag("--json", options->json, "print one JSON object");
}

// CLI11 would report a misspelled command as a missing one.
void check_command(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) throw UsageError("a command is required; see --help");
  const std::string& name = words.front();
  if (name.starts_with('-')) return;
  std::string known;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (command->get_name() == name) return;
    known += (known.empty() ? " " : ", ") + command->get_name();
  }
  throw UsageError("no command is called '" + name + "', there are" + known +
                   "; see --help");
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

// `steps` are the words of the steps after the first one.
void add_try(Commands* commands,
             const std::vector<std::vector<std::string>>& steps) {
  const auto [attempt, options] = commands->add<TryOptions>(
      "try", "Show the responses to a series of attempts", kTryFooter,
      [&steps](TryOptions* given) {
        take_overrides(&given->source, &given->steps.front().path);
        for (const std::vector<std::string>& step : steps) {
          given->steps.push_back(parse_step(step));
        }
      });
  add_source(attempt, {"boulder"}, &options->source);
  add_step(attempt, &options->steps.emplace_back());
  add_remote(attempt, "decide there, and now; \"env\": LIMITREE_STORE",
             &options->remote);
}

}  // namespace

int run_command_line(std::vector<std::string> words) {
  CLI::App app("Rate limiting by trees of limits", "limitree");
  app.set_version_flag("--version",
                       std::string("limitree ") + limitree_version());
  app.footer(kFooter);
  // With a maximum of one, a segment called "check" is not a second command.
  app.require_subcommand(1);
  Commands commands(&app);
  std::vector<std::vector<std::string>> steps;
  add_check(&commands);
  add_convert(&commands);
  add_explain(&commands);
  add_try(&commands, steps);
  add_replay(&commands);
  add_suggest(&commands);
  add_simulate(&commands);
  add_ping(&commands);
  add_show(&commands);
  add_reset(&commands);
  add_top(&commands);
  add_serve(&app);

  check_command(app, words);
  if (words.front() == "try") words = cut_steps(std::move(words), &steps);
  try {
    parse(&app, std::move(words));
  } catch (const CLI::CallForVersion& version) {
    print(std::string(version.what()) + '\n');
    return kExitOk;
  } catch (const CLI::Success&) {
    print(app.help());
    return kExitOk;
  }
  return commands.exit_code();
}

}  // namespace limitree::cli

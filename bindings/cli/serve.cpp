// `limitree serve`: the limits as a service.  The server does the work, and has
// the table of its options.

#include "serve.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "failure.hpp"
#include "terminal.hpp"

namespace limitree::cli {

namespace {

constexpr const char* kServeFooter =
    "In parentheses: the default.  Options with \"...\" may be repeated.\n\n"
    "What it answers:\n"
    "  gRPC    Envoy's rate limit service, limitree.v1.Limiter, health, "
    "reflection\n"
    "  HTTP    POST /v1/authorize, and a path for each other call; /json, "
    "which is\n          Envoy's service, too; GET /healthcheck\n"
    "  admin   GET /, which lists /ui, /limits, /rlconfig, /stats and "
    "/metrics\n"
    "If no address is given: gRPC on :8081, HTTP on :8080, admin on "
    "127.0.0.1:6070.\n\n"
    "Signals:\n"
    "  SIGHUP   read limits and descriptors again.  Descriptors and "
    "certificates are\n           also read again when their files change\n"
    "  SIGTERM  end: health says NOT_SERVING, open calls are answered\n\n"
    "An option of the command line counts first, then the settings file, then "
    "the\nenvironment.  A settings file has a line for each option: workers = "
    "4,\nlisten = [\":8081\"].  The environment has LIMITREE_WORKERS=4, "
    "LIMITREE_LISTEN,\nand the variables of envoyproxy/ratelimit, such as "
    "GRPC_PORT and RUNTIME_ROOT.\nWithout --store, LIMITREE_STORE and "
    "REDIS_URL, "
    "buckets are in memory.\n\n"
    "Examples:\n"
    "  limitree serve examples/limits.yaml --listen 127.0.0.1:8081\n"
    "  limitree serve --descriptors examples/descriptors";

using OptionValues = std::map<std::string, server::OptionValue>;

// A check that is not part of the help.
CLI::Validator silent(CLI::Validator check) { return check.description(""); }

void add(CLI::App* serve, const server::Option& option) {
  const std::string help = server::help_of(option);
  const server::ValueKind& kind = option.kind;
  if (*kind.value == '\0') {
    serve->add_flag(option.names, help)->group(option.group);
    return;
  }
  CLI::Option* const made = serve->add_option(option.names, help);
  made->type_name(kind.value);
  if (*option.group != '\0') made->group(option.group);
  if (kind.repeats) {
    made->expected(1, CLI::detail::expected_max_vector_size)
        ->allow_extra_args(false);
  }
  if (*kind.words != '\0') {
    made->check(silent(CLI::IsMember(server::split(kind.words, ' '))));
  }
}

void add_options(CLI::App* serve) {
  const std::string file = "a settings file";
  serve->add_option("-c,--config", file)->type_name("FILE");
  const std::string ignore = "ignore the variables of envoyproxy/ratelimit";
  serve->add_flag("--ignore-environment", ignore);
  server::ServeSettings defaults;
  for (const auto& one : server::options_of(&defaults)) add(serve, one);
  serve->footer(kServeFooter);
}

// The value of an option that is not in the table.
std::string value_of(const CLI::App& serve, const char* name) {
  const CLI::Option& option = *serve.get_option(name);
  return option.count() == 0 ? "" : option.results().back();
}

// Adds what `serve` has parsed.  `place` stands before the names of options in
// messages: "--", or "serve.toml: --".
void add_given(const CLI::App& serve, const std::string& place,
               OptionValues* given) {
  server::ServeSettings unused;
  for (const server::Option& one : server::options_of(&unused)) {
    const std::string key = server::key_of(one);
    const CLI::Option& option = *serve.get_option("--" + key);
    if (option.count() == 0) continue;
    std::vector<std::string> values = option.results();
    if (*one.kind.value == '\0') {
      values = {option.as<bool>() ? "true" : "false"};
    }
    (*given)[key] = {place + key, std::move(values)};
  }
}

void read_settings(const std::string& name, OptionValues* given,
                   bool* ignores) {
  std::ifstream file(name);
  // A folder can be opened but not read.
  if (!file || (file.peek(), file.bad())) throw FileError(name, errno);
  CLI::App serve("", "serve");
  add_options(&serve);
  // The words of a command line that mean the same.
  std::vector<std::string> words;
  try {
    for (const CLI::ConfigItem& item : CLI::ConfigTOML().from_config(file)) {
      if (item.inputs.empty()) continue;  // where a section begins or ends
      if (!item.parents.empty() || item.name == "config" ||
          item.name == "help" ||
          serve.get_option_no_throw("--" + item.name) == nullptr) {
        throw UsageError(name + ": no setting is called '" + item.fullname() +
                         "'; see serve --help");
      }
      for (const std::string& value : item.inputs) {
        words.push_back("--" + item.name + '=' + value);
      }
    }
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the end
    serve.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    throw UsageError(name + ": " + error.what());
  }
  add_given(serve, name + ": --", given);
  *ignores = *ignores || value_of(serve, "--ignore-environment") == "true";
}

void read_variables(bool original, server::ServeSettings* settings) {
  const server::EnvironmentReport report = server::read_environment(
      [](const char* name) { return std::getenv(name); }, settings, original);
  for (const std::string& warning : report.warnings) {
    complain("warning: " + warning);
  }
  if (report.errors.empty()) return;
  for (std::size_t i = 0; i + 1 < report.errors.size(); ++i) {
    complain(report.errors[i]);
  }
  throw UsageError(report.errors.back());
}

// `line` has parsed the command line.
void run(const CLI::App& line) {
  bool ignores = value_of(line, "--ignore-environment") == "true";
  OptionValues given;
  if (const std::string file = value_of(line, "--config"); !file.empty()) {
    read_settings(file, &given, &ignores);
  }
  add_given(line, "--", &given);
  server::ServeSettings settings = server::default_settings();
  read_variables(!ignores, &settings);
  try {
    server::set_options(given, &settings);
  } catch (const limitree::Failure& failure) {
    throw UsageError(failure.what());
  }
  server::keep_plain_http_local(&settings);
  server::serve(settings);
}

}  // namespace

std::vector<std::string> words_of_original(
    const std::vector<std::string>& words) {
  // Kubernetes asks a program to end before it has told everyone to go
  // elsewhere.  Who deploys the original cannot know this variable.
  setenv("LIMITREE_DRAIN_DELAY", "5s", 0);
  CLI::App serve("", "serve");
  add_options(&serve);
  std::vector<std::string> known = {"serve"};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    const CLI::Option* const option =
        name.starts_with("--") ? serve.get_option_no_throw(name) : nullptr;
    if (option == nullptr) {
      complain("warning: the argument '" + words[i] + "' has no effect");
      continue;
    }
    known.push_back(words[i]);
    const bool has_value = option->get_items_expected_max() > 0;
    if (has_value && name == words[i] && i + 1 < words.size()) {
      known.push_back(words[++i]);
    }
  }
  return known;
}

void add_serve(CLI::App* app) {
  CLI::App* const serve = app->add_subcommand(
      "serve", "Be the service that Envoy and other programs ask");
  add_options(serve);
  serve->callback([serve] { run(*serve); });
}

}  // namespace limitree::cli

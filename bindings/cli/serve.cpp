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
#include "command.hpp"
#include "failure.hpp"
#include "terminal.hpp"

namespace limitree::cli {

namespace {

constexpr const char* kServeFooter =
    "In parentheses: the default.  Options with \"...\" may be repeated.\n\n"
    "What it answers:\n"
    "  gRPC    Envoy's rate limit service, limitree.v1.Limiter, health, "
    "reflection\n"
    "  HTTP    POST /v1/authorize, peek, spend, refund and reset; /json, which "
    "is\n          Envoy's service, too; GET /healthcheck\n"
    "  admin   GET /, which lists /limits, /rlconfig, /stats and /metrics\n"
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

// The options in some words.  `file` names the file that they come from, or is
// empty.
class Words {
 public:
  explicit Words(std::string file) : file_(std::move(file)) {
    add_options(&serve_);
  }

  // CLI11 takes words from the end.
  void parse(std::vector<std::string> words) {
    std::reverse(words.begin(), words.end());
    serve_.parse(std::move(words));
  }

  // The value of an option that is not in the table.
  std::string value(const char* name) const {
    const CLI::Option& option = *serve_.get_option(name);
    return option.count() == 0 ? "" : option.results().back();
  }

  void add_to(OptionValues* given) const {
    server::ServeSettings unused;
    for (const server::Option& one : server::options_of(&unused)) {
      const std::string key = server::key_of(one);
      const CLI::Option& option = *serve_.get_option("--" + key);
      if (option.count() == 0) continue;
      std::vector<std::string> values = option.results();
      if (*one.kind.value == '\0') {
        values = {option.as<bool>() ? "true" : "false"};
      }
      (*given)[key] = {file_ + "--" + key, std::move(values)};
    }
  }

  // Returns the word of a command line that means the same as a setting.
  std::string word_of(const CLI::ConfigItem& item,
                      const std::string& value) const {
    if (!item.parents.empty() || item.name == "config" || item.name == "help" ||
        serve_.get_option_no_throw("--" + item.name) == nullptr) {
      throw UsageError(file_ + "no setting is called '" + item.fullname() +
                       "'; see serve --help");
    }
    return "--" + item.name + '=' + value;
  }

 private:
  std::string file_;  // "serve.toml: "
  CLI::App serve_{"", "serve"};
};

void read_settings(const std::string& name, OptionValues* given,
                   bool* ignores) {
  std::ifstream file(name);
  // A folder can be opened but not read.
  if (!file || (file.peek(), file.bad())) throw FileError(name, errno);
  Words settings(name + ": ");
  try {
    std::vector<std::string> words;
    for (const CLI::ConfigItem& item : CLI::ConfigTOML().from_config(file)) {
      for (const std::string& value : item.inputs) {
        words.push_back(settings.word_of(item, value));
      }
    }
    settings.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    throw UsageError(name + ": " + error.what());
  }
  settings.add_to(given);
  *ignores = *ignores || settings.value("--ignore-environment") == "true";
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

}  // namespace

std::vector<std::string> words_of_original(
    const std::vector<std::string>& words) {
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

CLI::App* add_serve(CLI::App* app) {
  CLI::App* const serve = app->add_subcommand(
      "serve", "Be the service that Envoy and other programs ask");
  add_options(serve);
  return serve;
}

int run(const ServeOptions& options) {
  Words line("");
  line.parse(options.words);
  bool ignores = line.value("--ignore-environment") == "true";
  OptionValues given;
  if (const std::string file = line.value("--config"); !file.empty()) {
    read_settings(file, &given, &ignores);
  }
  line.add_to(&given);
  server::ServeSettings settings = server::default_settings();
  read_variables(!ignores, &settings);
  try {
    server::set_options(given, &settings);
  } catch (const limitree::Failure& failure) {
    throw UsageError(failure.what());
  }
  server::keep_plain_http_local(&settings);
  server::serve(settings);
  return kExitOk;
}

}  // namespace limitree::cli

#include "options.hpp"

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "failure.hpp"
#include "limitree.hpp"

namespace limitree::cli {

namespace {

constexpr std::int64_t kHundredYears = 36'525ll * 86'400 * 1'000'000'000;

std::int64_t duration_of(const std::string& name, const std::string& text) {
  std::int64_t duration_ns = 0;
  try {
    duration_ns = parse_duration(text);
  } catch (const Error& error) {
    throw CLI::ValidationError(name, error.what());
  }
  if (duration_ns <= kHundredYears) return duration_ns;
  throw CLI::ValidationError(name, "must be at most 100 years");
}

// Takes "3", or "tokens=812".
void set_cost(const std::string& text, TryStep* step) {
  const std::string name = "--cost";
  const std::size_t equals = text.find('=');
  const bool is_plain = equals == text.npos;
  const std::int64_t units =
      count_of(name, is_plain ? text : text.substr(equals + 1), 0, INT64_MAX);
  const std::string unit = is_plain ? kRequestUnit : text.substr(0, equals);
  if (!step->costs.emplace(unit, units).second) {
    throw CLI::ValidationError(name, "comes twice for " + unit);
  }
}

// Takes "0.1%", in parts of kWholeShare.
std::int64_t share_of(const std::string& name, const std::string& text) {
  const char* const begin = text.c_str();
  char* end = nullptr;
  const double percent = std::strtod(begin, &end);
  if (text.find_first_not_of("0123456789.") + 1 == text.size() &&
      end != begin && *end == '%' && percent <= 100) {
    // Cut, not rounded: "at most".  A product may be a little less than whole.
    constexpr double kOnePercent = 1e6;
    static_assert(kWholeShare == 100'000'000);
    return static_cast<std::int64_t>(percent * kOnePercent + 1e-6);
  }
  throw CLI::ValidationError(
      name, "'" + text + "' is not a share from 0% to 100%, such as 0.1%");
}

void check_merge(const LimitsSource& source) {
  if (!source.merge_domains || source.is_envoy()) return;
  throw UsageError("--merge-domains needs --from envoy; see --help");
}

void check_count(const LimitsSource& source) {
  check_merge(source);
  if (source.is_envoy()) return;
  const std::size_t files = source.format.empty() ? 0 : 1;
  if (source.others.size() == files) return;
  throw UsageError(files == 0 ? "a second file needs --from; see --help"
                              : "--from boulder needs two files; see --help");
}

}  // namespace

std::int64_t count_of(const std::string& name, const std::string& text,
                      std::int64_t least, std::int64_t most) {
  std::int64_t parsed = 0;  // CLI11 would take 010 for 8
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, parsed);
  if (error == std::errc() && rest == end && parsed >= least &&
      parsed <= most) {
    return parsed;
  }
  throw CLI::ValidationError(name, "'" + text + "' is not a number from " +
                                       std::to_string(least) + " to " +
                                       std::to_string(most));
}

void add_cost(CLI::App* app, TryStep* step) {
  const auto set = [step](const std::vector<std::string>& texts) {
    step->costs.clear();
    for (const std::string& text : texts) set_cost(text, step);
    step->costs.emplace(kRequestUnit, 1);
  };
  app->add_option_function<std::vector<std::string>>(
         "--cost", set, "tokens asked for each time (1), or UNIT=N")
      ->allow_extra_args(false)
      ->type_name("N");
}

void add_file(CLI::App* app, const std::string& name, std::string* file,
              const std::string& help) {
  const auto set = [=](const std::string& text) {
    if (text.empty()) throw CLI::ValidationError(name, "must name a file");
    *file = text;
  };
  app->add_option_function<std::string>(name, set, help)->type_name("FILE");
}

void add_duration(CLI::App* app, const std::string& name,
                  std::int64_t* duration_ns, const std::string& help) {
  const auto set = [name, duration_ns](const std::string& text) {
    *duration_ns = duration_of(name, text);
  };
  app->add_option_function<std::string>(name, set, help)->type_name("DURATION");
}

void add_durations(CLI::App* app, const std::string& name,
                   std::vector<std::int64_t>* durations_ns,
                   const std::string& help) {
  const auto set = [=](const std::vector<std::string>& texts) {
    durations_ns->clear();
    for (const std::string& text : texts) {
      durations_ns->push_back(duration_of(name, text));
    }
  };
  app->add_option_function<std::vector<std::string>>(name, set, help)
      ->allow_extra_args(false)
      ->type_name("DURATION");
}

void add_share(CLI::App* app, const std::string& name, std::int64_t* share,
               const std::string& help) {
  const auto set = [=](const std::string& text) {
    *share = share_of(name, text);
  };
  app->add_option_function<std::string>(name, set, help)->type_name("PERCENT");
}

void add_path(CLI::App* app, std::vector<std::string>* path) {
  app->add_option("path", *path, "the segments of a path, e.g. user alex trade")
      ->required()
      ->type_name("SEGMENT");
}

void add_remote(CLI::App* app, const std::string& store_help, Remote* remote) {
  app->add_option("-u,--store", remote->store, store_help)->type_name("URL");
  app->add_option("--set", remote->settings,
                  "an option of the library; repeatable")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
}

void add_logs(CLI::App* app, LogOptions* log) {
  app->add_option("logs", log->logs, "access logs, or -")->type_name("FILE");
  app->add_option("--format", log->format, "of the lines (combined): see below")
      ->type_name("FORMAT");
  app->add_option("--field", log->keys, "where JSON has a field; repeatable")
      ->allow_extra_args(false)
      ->type_name("NAME=KEY");
}

void add_templates(CLI::App* app, const std::string& help,
                   std::vector<std::string>* templates) {
  app->add_option("-p,--path", *templates, help + "; repeatable")
      ->required()
      ->allow_extra_args(false)
      ->type_name("TEMPLATE");
}

void add_limits(CLI::App* app, std::string* limits) {
  app->add_option("limits", *limits, "a limits.yaml, or -")
      ->required()
      ->type_name("FILE");
}

void add_source(CLI::App* app, const std::vector<std::string>& formats,
                LimitsSource* source) {
  add_limits(app, &source->limits);
  std::string help = "limits of another program: ";
  for (const std::string& format : formats) {
    if (&format != &formats.front()) help += " or ";
    help += format;
  }
  app->add_option("--from", source->format, help)
      ->check(CLI::IsMember(formats))
      ->type_name("FORMAT");
  if (formats.back() != "envoy") return;
  app->add_flag("--merge-domains", source->merge_domains,
                "of envoy: several files may have the same domain");
}

void add_other_files(CLI::App* app, LimitsSource* source) {
  app->add_option("others", source->others, "the other files of --from")
      ->type_name("FILE");
}

void check_files(const CheckOptions& options) {
  check_count(options.source);
  if (!options.yaml || !options.source.is_envoy()) return;
  throw UsageError("--yaml cannot print descriptors; see convert --help");
}

void check_files(const ConvertOptions& options) {
  check_count(options.source);
  if (!options.source.format.empty()) return;
  throw UsageError("convert needs --from; see --help");
}

void take_overrides(LimitsSource* source, std::vector<std::string>* words) {
  check_merge(*source);
  if (source->format.empty()) return;
  if (source->is_envoy()) {
    if (words->size() == 2) return;
    throw UsageError(
        "--from envoy needs a folder or file, a domain and entries; see "
        "--help");
  }
  if (words->size() < 2) {
    throw UsageError("--from boulder needs two files and a path; see --help");
  }
  source->others = {std::move(words->front())};
  words->erase(words->begin());
}

void check_caller(const CallerOptions& options) {
  check_merge(options.source);
  if (!options.source.is_envoy() || options.path.size() > 1) return;
  throw UsageError(
      "--from envoy needs a folder or file, a domain and entries; see --help");
}

}  // namespace limitree::cli

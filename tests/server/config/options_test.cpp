#include "config/options.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

#include "io/failure.hpp"

namespace limitree::server {
namespace {

using Variables = std::map<std::string, std::string>;

EnvironmentReport read(const Variables& all, ServeSettings* settings) {
  return read_environment(
      [&](const char* name) -> const char* {
        const auto found = all.find(name);
        return found == all.end() ? nullptr : found->second.c_str();
      },
      settings);
}

// The table for reading it.
std::vector<Option> all_options() {
  static ServeSettings defaults;
  return options_of(&defaults);
}

// A value that is not the default.
std::string value_of(const Option& option) {
  const std::string value = option.kind.value;
  if (value.empty()) return "true";
  if (value == "DURATION") return "7s";
  if (value == "SHARE") return "0.25";
  if (value == "N") return "77";
  if (value == "NAME:VALUE") return "x-a:1";
  if (value == "NAME=VALUE") return "near_limit=0.7";
  if (value == "URL") {
    const std::string key = key_of(option);
    if (key.starts_with("otlp")) return "http://stats:99";
    return key == "store" ? "shm://x" : "udp://stats:99";
  }
  if (value == "LEVEL") return "error";
  if (value == "FORMAT") return "json";
  if (value == "WHEN") return "on";
  if (value == "STYLE") return "draft-7";
  if (value == "RULE") return "^a b c:$1";
  if (value == "NAME") return "x-a";
  return "/x:1";  // a path, an address
}

// Everything that options can change, as a text.
std::string shown(const ServeSettings& settings) {
  std::ostringstream text;
  const auto list = [&](const auto& values) {
    for (const std::string& value : values) text << value << ',';
    text << '\n';
  };
  const auto pairs = [&](const Pairs& values) {
    for (const auto& [name, value] : values) text << name << '=' << value;
    text << '\n';
  };
  for (const ListenPlace& place : settings.places) {
    text << place_text(place.purpose, place.address) << '\n';
  }
  list(settings.descriptors.places);
  list(settings.http_hosts);
  list(settings.tls.client_names);
  pairs(settings.options);
  pairs(settings.store.options);
  pairs(settings.xds.node_metadata);
  pairs(settings.xds.headers);
  for (const MogrifierSettings& one : settings.stats.mogrifiers) {
    text << one.pattern << ' ' << one.new_name << ' ' << one.tags << '\n';
  }
  text << settings.store.url << '\n'
       << settings.xds.server << '\n'
       << settings.metrics_path << '\n'
       << settings.answers.limit_header << '\n'
       << settings.answers.remaining_header << '\n'
       << settings.answers.reset_header << '\n'
       << settings.header_style << '\n'
       << settings.stats.host << settings.stats.port << '\n'
       << settings.stats.flush_interval.count() << '\n'
       << settings.metrics.interval.count() << '\n'
       << settings.connection.keepalive_time.count() << '\n'
       << settings.connection.keepalive_timeout.count() << '\n'
       << settings.connection.max_idle.count() << '\n'
       << settings.connection.max_age.count() << '\n'
       << settings.connection.max_age_grace.count() << '\n'
       << static_cast<int>(settings.log.level) << settings.log.json << '\n'
       << static_cast<int>(settings.low_latency) << '\n';
  const auto signal = [&](const OtlpSettings& one) {
    text << one.endpoint << one.enabled << one.headers << one.headers_file
         << one.timeout.count() << one.ca_file << one.cert_file << one.key_file
         << '\n';
  };
  signal(settings.trace);
  signal(settings.metrics);
  ServeSettings copy = settings;
  for (const Option& option : options_of(&copy)) {
    text << option.names << ' ' << shown_value(option.to);
    if (auto* const on = std::get_if<bool*>(&option.to)) text << **on;
    text << '\n';
  }
  return text.str();
}

// What the value of an option changes, by each way in which it can be given.
TEST(Options, CanEachBeSetByOptionFileAndVariable) {
  std::set<std::string> keys;
  for (const Option& option : all_options()) {
    const std::string key = key_of(option);
    SCOPED_TRACE(key);
    EXPECT_TRUE(keys.insert(key).second);
    const std::string value = value_of(option);
    ServeSettings before = default_settings();
    before.limits = "limits.yaml";  // or there is nothing to serve
    ServeSettings by_option = before;
    set_options({{key, {"--" + key, {value}}}}, &by_option);
    EXPECT_NE(shown(by_option), shown(before));
    ServeSettings by_variable = before;
    const EnvironmentReport report =
        read({{variable_of(option), value}}, &by_variable);
    EXPECT_EQ(report.errors, std::vector<std::string>());
    EXPECT_EQ(shown(by_variable), shown(by_option));
  }
}

TEST(Options, HaveVariablesWithTheirNames) {
  std::set<std::string> names;
  for (const Option& option : all_options()) {
    names.insert(variable_of(option));
  }
  for (const char* name : {"LIMITREE_STORE", "LIMITREE_LIMITS",
                           "LIMITREE_XDS_MAX_WAIT", "LIMITREE_LISTEN"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(Options, NameThePlaceOfAMistake) {
  for (const Option& option : all_options()) {
    const std::string value = option.kind.value;
    if (value != "N" && value != "DURATION" && value != "SHARE") continue;
    ServeSettings settings;
    const std::string variable = variable_of(option);
    const EnvironmentReport report = read({{variable, "many"}}, &settings);
    ASSERT_EQ(report.errors.size(), 1u) << variable;
    EXPECT_TRUE(report.errors[0].starts_with(variable + ": must be "))
        << report.errors[0];
    try {
      set_options({{key_of(option), {"x.toml: --y", {"many"}}}}, &settings);
      ADD_FAILURE() << variable;
    } catch (const Failure& failure) {
      EXPECT_TRUE(std::string(failure.what()).starts_with("x.toml: --y: must"));
    }
  }
}

// Of two forms, the one that is meant for limitree counts.
TEST(Options, CountBeforeVariablesOfTheOriginal) {
  ServeSettings settings = default_settings();
  EXPECT_TRUE(read({{"LIMITREE_MERGE_DOMAINS", "false"},
                    {"MERGE_DOMAIN_CONFIG", "true"},
                    {"LIMITREE_LISTEN", "127.0.0.1:1,unix:/x"},
                    {"GRPC_PORT", "2"},
                    {"LIMITREE_MAX_CONNECTION_AGE", "1d"}},
                   &settings)
                  .errors.empty());
  EXPECT_FALSE(settings.descriptors.merge_domains);
  EXPECT_EQ(settings.connection.max_age, 24 * 3600 * kOneSecond);
  std::vector<std::string> addresses;
  for (const ListenPlace& place : settings.places) {
    addresses.push_back(place.address);
  }
  EXPECT_EQ(addresses, (std::vector<std::string>{"127.0.0.1:1", "unix:/x"}));
  settings.limits = "x";
  settings.descriptors.merge_domains = true;
  set_options({{"merge-domains", {"--merge-domains", {"false"}}}}, &settings);
  EXPECT_FALSE(settings.descriptors.merge_domains);
}

TEST(Options, SayWhetherWorkersPoll) {
  ServeSettings settings = default_settings();
  settings.limits = "limits.yaml";
  EXPECT_EQ(settings.low_latency, LowLatency::kOff);
  set_options({{"low-latency", {"--low-latency", {"auto"}}}}, &settings);
  EXPECT_EQ(settings.low_latency, LowLatency::kAuto);
  set_options({{"low-latency", {"--low-latency", {"on"}}}}, &settings);
  EXPECT_EQ(settings.low_latency, LowLatency::kOn);
}

TEST(Options, OfTheOriginalCanBeIgnored) {
  ServeSettings settings = default_settings();
  const EnvironmentReport report = read_environment(
      [](const char* name) {
        return std::string_view(name) == "LIMITREE_WORKERS" ? "3" : "nonsense";
      },
      &settings, false);
  EXPECT_EQ(settings.workers, 3u);
}

std::string page() {
  std::ifstream file(LIMITREE_TEST_DATA "/../../docs/service.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string code(const std::string& text) { return '`' + text + '`'; }

// The table of options in Markdown.
std::string markdown() {
  std::string text =
      "| option | variables of envoyproxy/ratelimit | meaning |\n|---|---|---|"
      "\n";
  for (const Option& option : all_options()) {
    std::string names;
    for (const std::string& name : split(option.names, ',')) {
      names += (names.empty() ? "" : ", ") + name;
    }
    if (*option.kind.value != '\0')
      names += std::string(" ") + option.kind.value;
    if (option.kind.repeats) names += " ...";
    text += "| " + code(names) + " |";
    const std::string variables = option.variables;
    if (!variables.empty()) {
      std::string all;
      for (const std::string& name : split(variables, ' ')) {
        all += (all.empty() ? " " : ", ") + code(name);
      }
      text += all;
    }
    text += " | " + help_of(option) + " |\n";
  }
  return text;
}

TEST(Options, AreWhatTheDocsShow) {
  EXPECT_NE(page().find(markdown()), std::string::npos)
      << "docs/service.md should contain:\n"
      << markdown();
}

// Each variable of the original, and how it is understood.
TEST(Options, HaveTheVariablesThatTheDocsCompare) {
  const std::vector<std::string> unused = variables_without_effect();
  std::set<std::string> read(unused.begin(), unused.end());
  read.insert("GRPC_SERVER_USE_TLS");  // it decides whether others count
  for (const Option& option : all_options()) {
    if (option.variables.empty()) continue;
    for (std::string& name : split(option.variables, ' ')) {
      read.insert(std::move(name));
    }
  }
  std::set<std::string> told;
  const std::string all = page();
  const std::size_t begin = all.find("| variable | here | |");
  ASSERT_NE(begin, all.npos);
  std::istringstream table(all.substr(begin, all.find("\n\n", begin) - begin));
  const std::regex name("`([A-Z][A-Z_<>]+[A-Z])");
  for (std::string row; std::getline(table, row);) {
    const std::string cell = row.substr(0, row.find('|', 1));
    for (std::sregex_iterator i(cell.begin(), cell.end(), name), end; i != end;
         ++i) {
      told.insert((*i)[1]);
    }
  }
  EXPECT_EQ(told, read);
}

}  // namespace
}  // namespace limitree::server

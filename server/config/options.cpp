#include "config/options.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "config/environment.hpp"
#include "io/failure.hpp"

namespace limitree::server {

namespace {

void set(const Option& option, const Given& given, ServeSettings* settings) {
  if (const auto* const field = std::get_if<0>(&option.to)) {
    set_target(given, option.kind, (*field)(settings));
  } else {
    std::get<1>(option.to)(given, settings);
  }
}

void read_original(const Option& option, EnvironmentReader* reader,
                   ServeSettings* settings) {
  if (option.needs != nullptr && !reader->is_on(option.needs)) return;
  if (option.read != nullptr) return option.read(reader, settings);
  for (const std::string& name : split(option.variables, ' ')) {
    reader->read(name,
                 [&](const Given& given) { set(option, given, settings); });
  }
}

void read_own(const Option& option, EnvironmentReader* reader,
              ServeSettings* settings) {
  reader->read(variable_of(option), [&](Given given) {
    given.form = Form::kOption;
    if (option.kind.repeats) given.values = split(given.values[0], ',');
    set(option, given, settings);
  });
}

// What one variable needs another for, and what has no effect.
void check_variables(EnvironmentReader* reader) {
  for (const char* needed : {"GRPC_SERVER_TLS_CERT", "GRPC_SERVER_TLS_KEY"}) {
    if (reader->is_on("GRPC_SERVER_USE_TLS") && !reader->has(needed)) {
      reader->fail(needed, "is needed, because GRPC_SERVER_USE_TLS is true");
    }
  }
  std::string names;
  for (const std::string& name : variables_without_effect()) {
    if (reader->has(name)) names += (names.empty() ? "" : ", ") + name;
  }
  if (!names.empty()) reader->warn("no effect: " + names);
}

}  // namespace

std::string key_of(const Option& option) {
  const std::string names = option.names;
  return names.substr(names.find("--") + 2);
}

std::string variable_of(const Option& option) {
  std::string name = "LIMITREE_" + key_of(option);
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    if (c == '-') return '_';
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return name;
}

std::string help_of(const Option& option) {
  std::string help = option.help;
  const auto* const field = std::get_if<0>(&option.to);
  if (field == nullptr || help.ends_with(')')) return help;
  ServeSettings settings;
  const std::string value = shown_value((*field)(&settings));
  return value.empty() ? help : help + " (" + value + ')';
}

ServeSettings default_settings() {
  ServeSettings settings;
  settings.places = default_places();
  settings.workers = std::max(1u, std::thread::hardware_concurrency());
  return settings;
}

EnvironmentReport read_environment(const Lookup& lookup,
                                   ServeSettings* settings, bool original) {
  EnvironmentReader reader(lookup);
  if (original) {
    for (const Option& one : all_options())
      read_original(one, &reader, settings);
    check_variables(&reader);
  }
  for (const Option& one : all_options()) read_own(one, &reader, settings);
  return {std::move(reader.warnings()), std::move(reader.errors())};
}

void set_options(const std::map<std::string, Given>& given,
                 ServeSettings* settings) {
  if (given.contains("descriptors") && given.contains("xds")) {
    throw Failure("descriptors come from --descriptors or --xds, not both");
  }
  for (const Option& option : all_options()) {
    const auto found = given.find(key_of(option));
    if (found != given.end()) set(option, found->second, settings);
  }
  if (!settings->limits.empty() || !settings->descriptors.places.empty() ||
      !settings->xds.server.empty()) {
    return;
  }
  std::error_code error;
  if (!std::filesystem::is_directory(default_descriptors(), error)) {
    throw Failure(
        "serve needs a limits.yaml, --descriptors or --xds; see --help");
  }
  settings->descriptors.places = {default_descriptors()};
}

}  // namespace limitree::server

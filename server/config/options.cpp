#include "config/options.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include "io/failure.hpp"
#include "net/text.hpp"

namespace limitree::server {

namespace {

// The admin pages show which callers are limited, so only this machine may read
// them.
std::vector<ListenPlace> default_places() {
  return {{ListenFor::kGrpc, ":8081", true},
          {ListenFor::kHttp, ":8080", true},
          {ListenFor::kAdmin, "127.0.0.1:6070", true}};
}

void read_original(const Option& option, EnvironmentReader* reader,
                   ServeSettings* settings) {
  if (option.counts != nullptr && !option.counts->holds(reader)) return;
  if (option.read != nullptr) return option.read(reader, settings);
  for (const std::string& name : split(option.variables, ' ')) {
    reader->set(name, option.to, option.kind);
  }
}

void read_own(const Option& option, EnvironmentReader* reader) {
  reader->set(variable_of(option), [&](OptionValue value) {
    value.is_original = false;
    if (option.kind.repeats) value.values = split(value.text(), ',');
    set_target(value, option.kind, option.to);
  });
}

// Warns about variables that need what is not there.
void check_conditions(const std::vector<Option>& all,
                      EnvironmentReader* reader) {
  std::map<std::string, std::string> unused;  // by what they need
  for (const Option& one : all) {
    if (one.counts == nullptr || one.counts->holds(reader)) continue;
    const std::string needs = one.counts->needs;
    for (const std::string& name : split(one.variables, ' ')) {
      if (!needs.starts_with(name)) unused[needs] += name + ' ';
    }
  }
  for (const auto& [needs, names] : unused) {
    reader->warn_unused(names, "without " + needs);
  }
}

// Reports variables that need another one, and variables without effect.
void check_variables(const std::vector<Option>& all,
                     EnvironmentReader* reader) {
  for (const Option& one : all) {
    if (one.file == nullptr) continue;
    for (const std::string& name : split(one.variables, ' ')) {
      (void)reader->file_of(name);
    }
  }
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

std::vector<Option> options_of(ServeSettings* settings) {
  std::vector<Option> all;
  for (const auto part :
       {address_options, descriptor_options, store_options, connection_options,
        report_options, otlp_options, process_options}) {
    for (Option& one : part(settings)) {
      all.push_back(std::move(one));
      if (all.back().file != nullptr) all.push_back(file_option(all.back()));
    }
  }
  return all;
}

Option file_option(const Option& secret) {
  std::string variables;
  for (const std::string& name : split(secret.variables, ' ')) {
    variables += (variables.empty() ? "" : " ") + name + "_FILE";
  }
  return {secret.group,
          secret.names + "-file",
          kFile,
          std::move(variables),
          "the same in a file, which is read each time",
          secret.file,
          nullptr,
          secret.counts};
}

std::string key_of(const Option& option) {
  return option.names.substr(option.names.find("--") + 2);
}

std::string variable_of(const Option& option) {
  std::string name = "LIMITREE_" + upper(key_of(option));
  std::ranges::replace(name, '-', '_');
  return name;
}

std::string help_of(const Option& option) {
  std::string help = option.help;
  const std::string value = shown_value(option.to);
  if (value.empty() || help.ends_with(')')) return help;
  return help + " (" + value + ')';
}

ServeSettings default_settings() {
  ServeSettings settings;
  settings.places = default_places();
  settings.workers = std::max(1u, std::thread::hardware_concurrency());
  return settings;
}

std::vector<std::string> variables_without_effect() {
  return split(
      "EXPIRATION_JITTER_MAX_SECONDS MEMCACHE_MAX_IDLE_CONNS "
      "OTEL_EXPORTER_OTLP_COMPRESSION "
      "OTEL_EXPORTER_OTLP_INSECURE OTEL_EXPORTER_OTLP_TRACES_COMPRESSION "
      "OTEL_EXPORTER_OTLP_TRACES_INSECURE "
      "PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS "
      "REDIS_CLUSTER_PIPELINE_PARALLELISM "
      "REDIS_PERSECOND_CLUSTER_PIPELINE_PARALLELISM "
      "REDIS_PERSECOND_PIPELINE_LIMIT REDIS_PERSECOND_PIPELINE_WINDOW "
      "REDIS_PERSECOND_POOL_ON_EMPTY_BEHAVIOR REDIS_PERSECOND_POOL_SIZE "
      "REDIS_PIPELINE_LIMIT REDIS_PIPELINE_WINDOW "
      "REDIS_POOL_ON_EMPTY_BEHAVIOR REDIS_POOL_SIZE "
      "REDIS_STARTUP_INITIAL_INTERVAL REDIS_STARTUP_MAX_ELAPSED_TIME "
      "REDIS_STARTUP_MAX_INTERVAL",
      ' ');
}

EnvironmentReport read_environment(const Lookup& lookup,
                                   ServeSettings* settings, bool original) {
  EnvironmentReader reader(lookup);
  const std::vector<Option> all = options_of(settings);
  if (original) {
    for (const Option& one : all) read_original(one, &reader, settings);
    check_conditions(all, &reader);
    check_variables(all, &reader);
  }
  for (const Option& one : all) read_own(one, &reader);
  return reader.report();
}

void set_options(const std::map<std::string, OptionValue>& given,
                 ServeSettings* settings) {
  if (given.contains("descriptors") && given.contains("xds")) {
    throw Failure("descriptors come from --descriptors or --xds, not both");
  }
  for (const Option& option : options_of(settings)) {
    const auto found = given.find(key_of(option));
    if (found == given.end()) continue;
    set_target(found->second, option.kind, option.to);
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

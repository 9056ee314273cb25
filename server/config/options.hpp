// Every option of `limitree serve`, in one table.
//
// A row is an option of the command line, a key of the settings file, a
// variable LIMITREE_..., and the variables of envoyproxy/ratelimit with the
// same effect.  docs/service.md shows this table, and a test compares the two.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/environment.hpp"
#include "config/option_values.hpp"
#include "config/settings.hpp"

namespace limitree::server {

// What variables of envoyproxy/ratelimit need, to count.
struct Condition {
  const char* needs;  // "GRPC_SERVER_USE_TLS"
  bool (*holds)(EnvironmentReader* reader);
};

struct Option {
  const char* group;  // its heading in the help
  std::string names;  // "-w,--workers"; a name without dashes needs none
  ValueKind kind;
  std::string variables;  // of envoyproxy/ratelimit, separated by blanks
  std::string help;
  Target to;  // in the settings that the table was made for
  // Reads the variables, if their values need more than a conversion.
  void (*read)(EnvironmentReader* reader, ServeSettings* settings) = nullptr;
  // When the variables count; null: always.
  const Condition* counts = nullptr;
  // Of a secret: its file, if it has one, which is read whenever the secret is
  // needed.  The option has a row of its own: see file_option().
  std::string* file = nullptr;
};

// The option for the file of a secret: "--otlp-headers-file", and NAME_FILE for
// each variable NAME.
Option file_option(const Option& secret);

// Kinds of values.
inline constexpr ValueKind kSwitch;
inline constexpr ValueKind kFile{"FILE"};
inline constexpr ValueKind kDuration{"DURATION"};
inline constexpr ValueKind kShare{"SHARE"};
constexpr ValueKind text_kind(const char* value) { return {value}; }
constexpr ValueKind list_kind(const char* value) { return {value, true}; }
constexpr ValueKind secret(ValueKind kind) {
  kind.secret = true;
  return kind;
}
constexpr ValueKind number_kind(std::int64_t most, std::int64_t least = 1) {
  return {"N", false, least, most};
}

// The table, whose targets are in *settings.
std::vector<Option> options_of(ServeSettings* settings);

// Its parts, in their order.
std::vector<Option> address_options(ServeSettings* settings);
std::vector<Option> descriptor_options(ServeSettings* settings);
std::vector<Option> store_options(ServeSettings* settings);
std::vector<Option> connection_options(ServeSettings* settings);
std::vector<Option> report_options(ServeSettings* settings);
std::vector<Option> otlp_options(ServeSettings* settings);
std::vector<Option> process_options(ServeSettings* settings);

// "workers": the key in a settings file.
std::string key_of(const Option& option);
// "LIMITREE_WORKERS".
std::string variable_of(const Option& option);
// The help, with the current value of the setting, which should be the default.
std::string help_of(const Option& option);

// The settings without any options.
ServeSettings default_settings();
// The folder of descriptors if nothing names any: where envoyproxy/ratelimit
// looks for them.
std::string default_descriptors();

// The variables of envoyproxy/ratelimit that are known but have no effect.
std::vector<std::string> variables_without_effect();

// Changes the settings that variables of the environment name, those of
// envoyproxy/ratelimit only if `original`; the others keep their values.
EnvironmentReport read_environment(const Lookup& lookup,
                                   ServeSettings* settings,
                                   bool original = true);

// Changes the settings whose keys are given.  Throws Failure, which says where
// the mistake is.
void set_options(const std::map<std::string, OptionValue>& given,
                 ServeSettings* settings);

// An address as the log shows it: "127.0.0.1:8081", "https://127.0.0.1:8080".
std::string place_text(ListenFor purpose, const std::string& address);

// If clients need certificates, HTTP without TLS is for this machine alone:
// its default address becomes one of the loopback device.  Throws Failure if
// another address is not.
void keep_plain_http_local(ServeSettings* settings);

}  // namespace limitree::server

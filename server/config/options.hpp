// Every option of `limitree serve`, in one table.
//
// A row is an option of the command line, a key of the settings file, a
// variable LIMITREE_..., and the variables of envoyproxy/ratelimit that set the
// same.  docs/service.md shows this table, and a test compares the two.

#ifndef LIMITREE_SERVER_CONFIG_OPTIONS_HPP
#define LIMITREE_SERVER_CONFIG_OPTIONS_HPP

#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "config/environment_reader.hpp"
#include "config/option_values.hpp"
#include "config/settings.hpp"

namespace limitree::server {

struct Option {
  const char* group;  // its heading in the help
  const char* names;  // "-w,--workers"; a name without dashes needs none
  ValueKind kind;
  const char* variables;  // of envoyproxy/ratelimit, with blanks between
  const char* help;
  // Its field, or a function that sets more than one.
  std::variant<Target (*)(ServeSettings* settings),
               void (*)(const Given& given, ServeSettings* settings)>
      to;
  // Reads the variables, if they are more than the value as it is.
  void (*read)(EnvironmentReader* reader, ServeSettings* settings) = nullptr;
  // A variable that must be "true" for the others to count.
  const char* needs = nullptr;
};

std::span<const Option> all_options();
// "workers": the key in a settings file.
std::string key_of(const Option& option);
// "LIMITREE_WORKERS".
std::string variable_of(const Option& option);
// With the default.
std::string help_of(const Option& option);

// The settings if nothing else is said.
ServeSettings default_settings();

// What people should know about their environment, one line for each.
struct EnvironmentReport {
  std::vector<std::string> warnings;
  // Variables that make no sense: the service must not start.
  std::vector<std::string> errors;
};

// Changes the settings that variables of the environment name, those of
// envoyproxy/ratelimit only if `original`; the others keep their values.
EnvironmentReport read_environment(const Lookup& lookup,
                                   ServeSettings* settings,
                                   bool original = true);

// Changes the settings whose keys are given.  Throws Failure, which says where
// the mistake is.
void set_options(const std::map<std::string, Given>& given,
                 ServeSettings* settings);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_CONFIG_OPTIONS_HPP

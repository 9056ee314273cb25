// The environment of envoyproxy/ratelimit as settings.

#ifndef LIMITREE_SERVER_CONFIG_ENVIRONMENT_HPP
#define LIMITREE_SERVER_CONFIG_ENVIRONMENT_HPP

#include <string>
#include <vector>

#include "config/environment_reader.hpp"
#include "config/settings.hpp"

namespace limitree::server {

// What people should know about their environment, one line for each.
struct EnvironmentReport {
  std::vector<std::string> warnings;
  // Variables that make no sense: the service must not start.
  std::vector<std::string> errors;
};

// Changes the settings that variables of the environment name; the others keep
// their values.
EnvironmentReport read_environment(const Lookup& lookup,
                                   ServeSettings* settings);

// The variables that are known but have no effect.
const std::vector<const char*>& variables_without_effect();

// The folder of descriptors if nothing names any: where envoyproxy/ratelimit
// looks for them.
std::string default_descriptors();

// Parts of read_environment().
void read_store(EnvironmentReader* reader, ServeSettings* settings);
void read_reporting(EnvironmentReader* reader, ServeSettings* settings);
void read_xds(EnvironmentReader* reader, ServeSettings* settings);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_CONFIG_ENVIRONMENT_HPP

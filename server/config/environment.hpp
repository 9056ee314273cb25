// Settings that are more than one value: options that set several fields, and
// variables of envoyproxy/ratelimit that belong together.

#ifndef LIMITREE_SERVER_CONFIG_ENVIRONMENT_HPP
#define LIMITREE_SERVER_CONFIG_ENVIRONMENT_HPP

#include <string>
#include <vector>

#include "config/environment_reader.hpp"
#include "config/settings.hpp"

namespace limitree::server {

// The variables that are known but have no effect.
std::vector<std::string> variables_without_effect();

// The folder of descriptors if nothing names any: where envoyproxy/ratelimit
// looks for them.
std::string default_descriptors();

// For options.cpp.  Those of options throw Failure.
void set_places(ListenFor purpose, const Given& given, ServeSettings* settings);
void set_metrics_path(const Given& given, ServeSettings* settings);
void set_descriptors(const Given& given, ServeSettings* settings);
void set_xds(const Given& given, ServeSettings* settings);
void set_store(const Given& given, ServeSettings* settings);
void set_library_options(const Given& given, ServeSettings* settings);
void set_log_level(const Given& given, ServeSettings* settings);
void set_log_format(const Given& given, ServeSettings* settings);
void set_statsd(const Given& given, ServeSettings* settings);
void set_mogrifiers(const Given& given, ServeSettings* settings);
void set_otlp(const Given& given, ServeSettings* settings);

void read_grpc_place(EnvironmentReader* reader, ServeSettings* settings);
void read_http_place(EnvironmentReader* reader, ServeSettings* settings);
void read_admin_place(EnvironmentReader* reader, ServeSettings* settings);
void read_metrics_place(EnvironmentReader* reader, ServeSettings* settings);
void read_folder(EnvironmentReader* reader, ServeSettings* settings);
void read_xds(EnvironmentReader* reader, ServeSettings* settings);
void read_store(EnvironmentReader* reader, ServeSettings* settings);
void read_library_options(EnvironmentReader* reader, ServeSettings* settings);
void read_statsd(EnvironmentReader* reader, ServeSettings* settings);
void read_mogrifiers(EnvironmentReader* reader, ServeSettings* settings);
void read_otlp(EnvironmentReader* reader, ServeSettings* settings);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_CONFIG_ENVIRONMENT_HPP

// A configuration of xDS as the text of a file.

#ifndef LIMITREE_SERVER_CONFIG_XDS_RESOURCE_HPP
#define LIMITREE_SERVER_CONFIG_XDS_RESOURCE_HPP

#include <string_view>

#include "config/files.hpp"

namespace limitree::server {

// Reads a ratelimit.config.ratelimit.v3.RateLimitConfig.  The text has the same
// keys as a file, in flow style and with a line for each descriptor, so that
// one loader reads both.  Throws protozero::exception if `message` is
// malformed, and Failure if it is too deep.
SourceFile file_of(std::string_view message);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_CONFIG_XDS_RESOURCE_HPP

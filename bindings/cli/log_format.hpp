// The formats of access logs by name, as --format takes them.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "log_request.hpp"

namespace limitree::cli {

// Makes the format `name`, or one for a log_format of nginx, which has a '$'.
// `keys` are "remote_addr=client.ip", for JSON.  Sets *fields to the fields
// that lines have.  Throws UsageError.
std::unique_ptr<LogFormat> make_log_format(const std::string& name,
                                           const std::vector<std::string>& keys,
                                           LogFields* fields);

}  // namespace limitree::cli

// Messages for the people who run the service.

#ifndef LIMITREE_SERVER_LOG_HPP
#define LIMITREE_SERVER_LOG_HPP

#include <string>

#include "config/settings.hpp"

namespace limitree::server {

// Before other threads write.
void set_log(const LogSettings& settings);

// One line on standard error.  From any thread.
void log_line(const std::string& message);
void log_line(LogLevel level, const std::string& message);
// As the first one, but also for those who see warnings.
void announce(const std::string& message);
// Logs what has gone wrong, once a minute: there may be some trouble for each
// request, and the others are only counted.  From any thread.
void log_trouble(const std::string& what);

// The line of a message, for `seconds` since 1970.
std::string json_line(LogLevel level, const std::string& message,
                      long long seconds);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_LOG_HPP

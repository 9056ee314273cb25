// Messages for the people who run the service.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/settings.hpp"
#include "limitree.h"

namespace limitree::server {

// Call this before other threads write.
void set_log(const LogSettings& settings);

// For messages: "1 file", "2 files".
std::string counted(std::size_t count, const std::string& noun);

// One line on standard error.  From any thread.
void log_line(const std::string& message);
void log_line(LogLevel level, const std::string& message);
// As the first one, but also shown if only warnings are logged.
void announce(const std::string& message);
// Logs what has gone wrong, at most once a minute.  Every request may fail, so
// further messages are only counted.  From any thread, and without new memory
// for a message of usual length.
void log_trouble(std::string_view what, std::string_view why);

// The limitree_log_fn of the service.
void log_event(std::int32_t event, limitree_str text, void* user_data) noexcept;

}  // namespace limitree::server

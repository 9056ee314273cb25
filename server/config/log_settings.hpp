// Which messages are written, and how.

#ifndef LIMITREE_SERVER_CONFIG_LOG_SETTINGS_HPP
#define LIMITREE_SERVER_CONFIG_LOG_SETTINGS_HPP

namespace limitree::server {

enum class LogLevel { kError, kWarning, kInfo };

struct LogSettings {
  LogLevel level = LogLevel::kInfo;  // what is less important is not written
  bool json = false;                 // one object for each message
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_CONFIG_LOG_SETTINGS_HPP

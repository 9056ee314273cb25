// Messages for the people who run the service.

#ifndef LIMITREE_SERVER_LOG_HPP
#define LIMITREE_SERVER_LOG_HPP

#include <string>

namespace limitree::server {

// One line on standard error.  From any thread.
void log_line(const std::string& message);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_LOG_HPP

#include "log.hpp"

#include <unistd.h>

namespace limitree::server {

void log_line(const std::string& message) {
  std::string line = "limitree serve: " + message + '\n';
  // One call, so that lines of several threads do not mix.  If nobody reads
  // them, the service goes on.
  [[maybe_unused]] const auto written =
      write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace limitree::server

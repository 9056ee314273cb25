// `limitree ping`: does the store answer, and how fast?

#include <string>

#include "command.hpp"
#include "format.hpp"
#include "remote.hpp"
#include "terminal.hpp"

namespace limitree::cli {

int run(const PingOptions& options) {
  const std::string url = url_of(options.remote);
  Config config;
  set_store(options.remote, url, &config);
  Limiter limiter = limiter_of(config);
  const std::int64_t first_ns = limiter.ping_ns();  // connects first
  const std::int64_t second_ns = limiter.ping_ns();
  print(printable(shown_url(url), false) + " answered in " +
        duration_text(second_ns) + "; connecting included, in " +
        duration_text(first_ns) + '\n');
  return kExitOk;
}

}  // namespace limitree::cli

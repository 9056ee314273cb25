// `limitree ping`: does the store answer, and how fast?

#include <string>

#include "command.hpp"
#include "format.hpp"
#include "remote.hpp"
#include "terminal.hpp"

namespace limitree::cli {

namespace {

std::string about_file(const Limiter& limiter) {
  const limitree_store_file file = limiter.store_file();
  const Counters store = totals(limiter.get(), LIMITREE_SCOPE_STORE);
  const std::string path(file.path.data, file.path.size);
  return "file:      " + printable(path, false) + ", format " +
         std::to_string(file.version) + "\n" +  //
         "bytes:     " + count_text(store["store_bytes"]) + " in memory of " +
         count_text(file.bytes) + "\n" +  //
         "buckets:   " + count_text(store["buckets"]) + " of " +
         count_text(store["max_buckets"]) + "\n" +  //
         "processes: " + count_text(file.processes - 1) + "\n";
}

}  // namespace

int run(const PingOptions& options) {
  const std::string url = url_of(options.remote);
  Config config;
  set_store(options.remote, existing(url), &config);
  Limiter limiter = limiter_of(config);
  const std::int64_t first_ns = limiter.ping_ns();  // connects first
  const std::int64_t second_ns = limiter.ping_ns();
  print(printable(shown_url(url), false) + " answered in " +
        duration_text(second_ns) + "; connecting included, in " +
        duration_text(first_ns) + '\n');
  if (is_file(url)) print(about_file(limiter));
  return kExitOk;
}

}  // namespace limitree::cli

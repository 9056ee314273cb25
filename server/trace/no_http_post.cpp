// Builds without libcurl send no spans.

#include "io/failure.hpp"
#include "trace/http_post.hpp"

namespace limitree::server {

HttpPost make_http_post(const TraceSettings& /*settings*/) {
  throw Failure("TRACING_ENABLED: this limitree was built without libcurl");
}

}  // namespace limitree::server

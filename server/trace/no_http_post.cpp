// Builds without libcurl send no spans.

#include "io/failure.hpp"
#include "trace/http_post.hpp"

namespace limitree::server {

class HttpPost::Client {};

HttpPost::HttpPost(const TraceSettings& /*settings*/) {
  throw Failure("TRACING_ENABLED: this limitree was built without libcurl");
}

HttpPost::~HttpPost() = default;

PostResult HttpPost::send(std::string_view /*message*/) { return {}; }

}  // namespace limitree::server

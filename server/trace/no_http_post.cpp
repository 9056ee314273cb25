// Builds without libcurl send nothing to collectors.

#include "io/failure.hpp"
#include "trace/http_post.hpp"

namespace limitree::server {

HttpPost make_http_post(const OtlpSettings& /*settings*/) {
  throw Failure("--otlp: this limitree was built without libcurl");
}

}  // namespace limitree::server

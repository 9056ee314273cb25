// envoy.service.ratelimit.v3.RateLimitRequest, as limitree.h takes it.

#ifndef LIMITREE_SERVER_SERVICES_ENVOY_REQUEST_HPP
#define LIMITREE_SERVER_SERVICES_ENVOY_REQUEST_HPP

#include <string_view>
#include <vector>

#include "limitree.h"

namespace limitree::server {

// Reads one request after the other into the same memory.  What it gives
// refers to the bytes of the request.
class EnvoyRequest {
 public:
  // Throws protozero::exception if `message` is malformed.
  void read(std::string_view message);

  // Without flags.
  const limitree_envoy_request& get() const { return request_; }
  // Whether there are more descriptors or entries than any caller needs: then
  // some are missing.
  bool is_too_large() const { return is_too_large_; }

 private:
  void read_descriptor(std::string_view message);
  void read_entry(std::string_view message);

  std::vector<limitree_entry> entries_;  // of all descriptors
  std::vector<limitree_descriptor> descriptors_;
  limitree_envoy_request request_{};
  bool is_too_large_ = false;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_SERVICES_ENVOY_REQUEST_HPP

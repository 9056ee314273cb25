// Requests of gRPC, as limitree.h takes them.

#ifndef LIMITREE_SERVER_SERVICES_REQUESTS_HPP
#define LIMITREE_SERVER_SERVICES_REQUESTS_HPP

#include <string_view>

#include "decisions/requests.hpp"

namespace limitree::server {

// limitree.v1.DecideRequest and ResetRequest.  Reads one request after the
// other into the same memory.  The result refers to the bytes of the request.
class DecideRequest : public PathList {
 public:
  // These throw protozero::exception if `message` is malformed.
  void read(std::string_view message);
  void read_reset(std::string_view message);

 private:
  void read_path(std::string_view message);
};

// The same for envoy.service.ratelimit.v3.RateLimitRequest.
class EnvoyRequest : public DescriptorList {
 public:
  void read(std::string_view message);

  // Whether there are more descriptors or entries than any caller needs: then
  // some are missing.
  bool is_too_large() const { return is_too_large_; }

 private:
  void read_descriptor(std::string_view message);
  void read_entry(std::string_view message);

  bool is_too_large_ = false;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_SERVICES_REQUESTS_HPP

// limitree.v1.DecideRequest and ResetRequest, as limitree.h takes them.

#ifndef LIMITREE_SERVER_SERVICES_DECIDE_REQUEST_HPP
#define LIMITREE_SERVER_SERVICES_DECIDE_REQUEST_HPP

#include <string_view>

#include "decisions/requests.hpp"

namespace limitree::server {

// Reads one request after the other into the same memory.  What it gives
// refers to the bytes of the request.
class DecideRequest : public PathList {
 public:
  // These throw protozero::exception if `message` is malformed.
  void read(std::string_view message);
  void read_reset(std::string_view message);

 private:
  void read_path(std::string_view message);
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_SERVICES_DECIDE_REQUEST_HPP

// limitree.v1.DecideRequest, as limitree.h takes it.

#ifndef LIMITREE_SERVER_SERVICES_DECIDE_REQUEST_HPP
#define LIMITREE_SERVER_SERVICES_DECIDE_REQUEST_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "limitree.h"

namespace limitree::server {

// Reads one request after the other into the same memory.  What it gives
// refers to the bytes of the request.
class DecideRequest {
 public:
  // Throws protozero::exception if `message` is malformed.
  void read(std::string_view message);

  const std::vector<limitree_path>& paths() const { return paths_; }
  // One for each path.
  const std::vector<std::int32_t>& parts() const { return parts_; }
  bool omits_levels() const { return omits_levels_; }
  std::size_t segment_count() const { return segments_.size(); }

 private:
  void read_path(std::string_view message);
  void settle(std::int64_t cost);

  std::vector<limitree_str> segments_;  // of all paths
  std::vector<limitree_path> paths_;
  std::vector<std::int32_t> parts_;
  bool omits_levels_ = false;
};

// limitree.v1.ResetRequest.
struct ResetRequest {
  std::vector<std::string_view> segments;
  bool leaf_only = false;
};

// Throws protozero::exception if `message` is malformed.
ResetRequest read_reset(std::string_view message);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_SERVICES_DECIDE_REQUEST_HPP

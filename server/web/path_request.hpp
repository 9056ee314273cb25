// Requests of /v1 in JSON, as limitree.h takes them.

#ifndef LIMITREE_SERVER_WEB_PATH_REQUEST_HPP
#define LIMITREE_SERVER_WEB_PATH_REQUEST_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "json/document.hpp"
#include "limitree.h"

namespace limitree::server {

// {"paths": [["user", "alex", "trade"]], "cost": 1}.  A path may also be an
// object: {"segments": ["user", "alex"], "cost": 2, "part": "CHECK"}.  Reads
// one request after the other into the same memory.
class PathRequest {
 public:
  // What it gives refers to memory of its own.  Throws JsonError.
  void read(std::string_view body);
  // The same for /v1/reset: paths without costs, and "leaf_only".
  void read_reset(std::string_view body);

  const std::vector<limitree_path>& paths() const { return paths_; }
  // One for each path.
  const std::vector<std::int32_t>& parts() const { return parts_; }
  std::size_t segment_count() const { return segments_.size(); }
  bool omits_levels() const { return omits_levels_; }
  bool leaf_only() const { return leaf_only_; }

 private:
  void clear();
  void read_paths(const JsonPlace& list, bool has_costs);
  void read_path(const JsonPlace& path, bool has_costs);
  void read_segments(const JsonPlace& list);
  void settle(std::int64_t cost);

  JsonDocument document_;
  std::vector<limitree_str> segments_;  // of all paths
  std::vector<limitree_path> paths_;
  std::vector<std::int32_t> parts_;
  bool omits_levels_ = false;
  bool leaf_only_ = false;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_WEB_PATH_REQUEST_HPP

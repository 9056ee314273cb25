// A request of JavaScript, read from the arguments of a call and from the array
// of numbers.

#pragma once

#include <node_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "layout.hpp"
#include "limitree.h"
#include "native.hpp"
#include "segments.hpp"

namespace limitree::node {

// A row of paths.  Most requests have one, which needs no allocation.
class Paths {
 public:
  explicit Paths(const limitree_path& one) : one_(one) {}
  explicit Paths(std::vector<limitree_path> many) : many_(std::move(many)) {}

  const limitree_path* data() const {
    return many_.empty() ? &one_ : many_.data();
  }
  std::size_t size() const { return many_.empty() ? 1 : many_.size(); }

 private:
  limitree_path one_{};
  std::vector<limitree_path> many_;
};

// A request of JavaScript.
struct Request {
  // False: an error is thrown into JavaScript.
  bool read(napi_env env, napi_callback_info info);

  limitree_limiter* limiter() const { return native->engine().get(); }

  bool has_one_path() const { return path_count <= kOnePath; }

  bool wants_levels() const { return (flags & kWithLevels) != 0; }

  // Whether it is about a reservation, whose receipt is the only segment.
  bool has_receipt() const { return operation >= kSettle; }
  limitree_str receipt() const { return *segments.data(); }

  // What the general form of an operation takes.  Borrows from this object.
  Paths paths() const;
  std::vector<limitree_cost> costs() const;

  // How many segments at the end are names of units.
  std::size_t unit_count() const {
    if ((flags & kWithUnits) == 0) return 0;
    return static_cast<std::size_t>(numbers[kUnits]);
  }

  std::string place_of(std::size_t segment) const;
  bool refuse(limitree_status status, const std::string& message) const;

  Native* native = nullptr;
  double* numbers = nullptr;
  Segments segments;
  std::int32_t operation = 0;
  std::int64_t cost = 0;
  unsigned flags = 0;
  std::size_t path_count = kOnePath;  // in the array's form
};

}  // namespace limitree::node

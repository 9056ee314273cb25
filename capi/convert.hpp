// From limitree.h's plain data to the core's values and back.

#ifndef LIMITREE_CAPI_CONVERT_HPP
#define LIMITREE_CAPI_CONVERT_HPP

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "base/inline_vector.hpp"
#include "handles.hpp"

namespace limitree::capi {

using Segments = InlineVector<std::string_view, 12>;

// Appends what a C caller passed as one path, borrowed.
inline Status append(const limitree_str* path, std::size_t size,
                     Segments* segments) {
  if (path == nullptr && size != 0) return null_argument("path");
  for (std::size_t i = 0; i < size; ++i) {
    if (path[i].data == nullptr && path[i].size != 0) {
      return null_argument("segment.data");
    }
    segments->emplace_back(path[i].data, path[i].size);
  }
  return {};
}

// Paths as a C caller passes them, with a part for each, or null.
struct Paths {
  std::span<const limitree_path> paths;
  const std::int32_t* parts = nullptr;
};

// What a C caller asks for: a path or several, as the core takes them.
class Question {
 public:
  // NULL where there must be none, and a part that is none, are
  // kInvalidArgument.  The strings are borrowed.
  Status read(const Paths& from);

  std::span<const Ask> asks() const { return {asks_.data(), asks_.size()}; }

 private:
  Segments segments_;
  InlineVector<Ask, 4> asks_;
};

// Where a caller wants the verdicts of levels.
struct Levels {
  bool wanted() const { return data != nullptr && capacity != 0; }
  void fill(const LevelReports& reports) const;

  limitree_level* data = nullptr;
  std::size_t capacity = 0;
};

void fill(const Decision& decision, limitree_decision* out);

Status check(const limitree_limiter* limiter,
             const limitree_decision* decision);
Status check_operation(std::int32_t operation);

}  // namespace limitree::capi

#endif  // LIMITREE_CAPI_CONVERT_HPP

// The answers of a bucket that is not plain GCRA, one if it is charged and one
// if it is not: only all levels together decide that.
//
// Every algorithm answers the same: how much of the bucket is used, and, if
// nothing else is charged, when it is full again, when an identical request
// would fit, and when one more unit is left. judge() makes a Verdict of that.

#ifndef LIMITREE_BASE_USAGE_HPP
#define LIMITREE_BASE_USAGE_HPP

#include <cstdint>

#include "base/time.hpp"

namespace limitree {

struct Usage {
  struct Side {
    std::int64_t used;     // units, above the capacity too
    Duration full_after;   // until nothing is used
    Duration fits_after;   // until an identical request fits, or kNever
    Duration grows_after;  // until a unit more is left; see wants_growth
  };

  bool fits;
  bool never;    // the cost exceeds the ceiling
  bool changes;  // the bucket is not the same after the charge
  bool ahead;    // its state was dated after now, and counts as of now
  Side left;     // if the bucket is left as it is
  Side charged;  // if it is charged, or given back to
};

}  // namespace limitree

#endif  // LIMITREE_BASE_USAGE_HPP

// What a bucket that is not plain GCRA answers: both answers that the request
// may get there, for whether it is charged is decided by all levels together.
//
// Every algorithm says the same four things of a bucket: how much of it is
// used, and if nobody else came, when it is full again, when an identical
// request would fit, and when one unit more would be left of the capacity.
// judge() makes a Verdict of them.

#ifndef LIMITREE_BASE_USAGE_HPP
#define LIMITREE_BASE_USAGE_HPP

#include <cstdint>

#include "base/time.hpp"

namespace limitree {

struct Usage {
  struct Side {
    std::int64_t used;     // units, above the capacity too
    Duration full_after;   // until nothing of it is used
    Duration fits_after;   // until an identical request fits, or kNever
    Duration grows_after;  // until a unit more is left; see wants_growth
  };

  bool fits;
  bool never;    // asks for more than the ceiling
  bool changes;  // the bucket is not the same after the charge
  bool ahead;    // its state was dated after now, and counts as of now
  Side left;     // if the bucket is left as it is
  Side charged;  // if it is charged, or given back to
};

}  // namespace limitree

#endif  // LIMITREE_BASE_USAGE_HPP

// The array of numbers through which native code and JavaScript exchange data:
// an engine call per number would take longer than the decision.
// node/src/layout.ts has the same layout.

#pragma once

#include <cstddef>
#include <cstdint>

#include "limitree.h"

namespace limitree::node {

// Written by JavaScript before a call.
enum Input : std::size_t {
  kOperation,   // LIMITREE_AUTHORIZE ... or kReserve ...
  kCost,        // a whole number
  kFlags,       // a sum of kWithLevels and kWithUnits
  kSlot,        // of the promise, for start()
  kNowSeconds,  // the time, if there is a clock
  kNowRest,     // its nanoseconds
  kPaths,       // kUserAndAction or kOnePath; or one more than there are paths,
                // with kPathSize numbers for each in turn at kInputSize
  kRoot,        // the number of the first segment, which is then not among the
                // arguments; 0: it is
  kPending,     // what start() says: 1 if the answer is to come
  kUnits,       // how many arguments at the end are names of units; their costs
                // are at kUnitCosts
  kHoldNs,      // for kReserve and kExtend; 0: as long as each limit says;
                // and for kBlock
  kInputSize
};

// Operations beside LIMITREE_AUTHORIZE ...
inline constexpr std::int32_t kForget = 7;  // kCost says what

// About reservations.  From kSettle on
// the only segment is a receipt, and kCost may be LIMITREE_AS_HELD.
inline constexpr std::int32_t kReserve = 8;
inline constexpr std::int32_t kSettle = 9;
inline constexpr std::int32_t kCancel = 10;
inline constexpr std::int32_t kExtend = 11;

// What kForget forgets, in kCost.
inline constexpr std::int32_t kLastNode = 0;   // buckets of the last node
inline constexpr std::int32_t kWholePath = 1;  // of all
inline constexpr std::int32_t kUnblock = 2;
inline constexpr std::int32_t kBlock = 3;  // nothing: blocks for kHoldNs

inline constexpr unsigned kWithLevels = 1;
inline constexpr unsigned kWithUnits = 2;  // else kUnits is not written
inline constexpr std::size_t kUserAndAction = 0;
inline constexpr std::size_t kOnePath = 1;

// The fields of one of several paths.
enum PathField : std::size_t {
  kSegments,  // their number
  kPathCost,
  kPathPart,  // LIMITREE_PART_CHARGE ...
  kPathSize
};

// Written at kInputSize after a call, and for each answer of a batch.  Times
// are nanoseconds; JavaScript divides them when they are read.
enum DecisionField : std::size_t {
  kLimit,
  kRemaining,
  kRetryAfterNs,  // -1 if allowed, LIMITREE_NEVER if never
  kResetAfterNs,
  kNextAfterNs,
  kBindingResetAfterNs,
  kBits,        // limited | flags << 1 | source << 16
  kLevelCount,  // number of levels that follow
  kHeld,        // levels that hold, or that were settled or extended
  kDecisionSize
};

enum LevelField : std::size_t {
  kPolicy,  // the number of its names, for names()
  kLevelLimit,
  kLevelRemaining,
  kLevelRetryAfterNs,
  kLevelResetAfterNs,
  kLevelNextAfterNs,
  kGrowsAfterNs,
  kWindowNs,
  kLevelCost,
  kLevelBits,  // limited | charged << 1 | soft << 2 | mode << 3
  kPath,
  kLevelSize
};

// The most levels that are reported, more than any sensible path has.
inline constexpr std::size_t kMaxLevels = 64;

// One answer of a batch: its slot, its status and, if it is not an error, a
// decision with its levels.
inline constexpr std::size_t kAnswerHead = 2;
inline constexpr std::size_t kMaxAnswer =
    kAnswerHead + kDecisionSize + kMaxLevels * kLevelSize;

inline constexpr std::size_t kUnitCosts = 16000;
inline constexpr std::size_t kMaxUnits = 64;
inline constexpr std::size_t kArraySize = 16384;
static_assert(kInputSize + kMaxAnswer < kArraySize);
static_assert(kInputSize + LIMITREE_MAX_PATHS * kPathSize <= kUnitCosts);
static_assert(kUnitCosts + kMaxUnits <= kArraySize);

}  // namespace limitree::node

// Requests as limitree.h takes them, and the content of answers.  Each protocol
// reads its messages into them, one after the other in the same memory.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "limitree.h"

namespace limitree::server {

// What answers to Envoy have besides the decision.
struct AnswerSettings {
  bool dynamic_metadata = false;
  bool headers = false;  // these three
  std::string limit_header = "RateLimit-Limit";
  std::string remaining_header = "RateLimit-Remaining";
  std::string reset_header = "RateLimit-Reset";
};

// Empties a container that a request was read into.  Memory for many more
// elements than most requests have is not kept for the next one.
template <typename Element>
void empty(std::vector<Element>* elements) {
  elements->clear();
  if (elements->capacity() > 64 * 1024) elements->shrink_to_fit();
}

// What clients may ask the limit tree for: a decision of limitree.h, or one of
// those that act on each path by itself and answer nothing.
struct LimiterOperation {
  static constexpr std::int32_t kReset = -1;
  static constexpr std::int32_t kBlock = -2;
  static constexpr std::int32_t kUnblock = -3;

  const char* name;  // in limiter.proto; in paths of /v1 in small letters
  std::int32_t number;
  bool needs_token;  // it changes buckets regardless of their limits
};
inline constexpr LimiterOperation kLimiterOperations[] = {
    {"Authorize", LIMITREE_AUTHORIZE, false},
    {"Peek", LIMITREE_PEEK, false},
    {"Spend", LIMITREE_SPEND, true},
    {"Refund", LIMITREE_REFUND, true},
    {"Reset", LimiterOperation::kReset, true},
    {"Block", LimiterOperation::kBlock, true},
    {"Unblock", LimiterOperation::kUnblock, true}};

// What clients may do with reservations.
struct HoldOperation {
  enum class Act : std::uint8_t { kReserve, kSettle, kCancel, kExtend };

  const char* name;  // as above
  Act act;
  const char* counts;  // what the answer calls the levels that still held
};
inline constexpr HoldOperation kHoldOperations[] = {
    {"Reserve", HoldOperation::Act::kReserve, nullptr},
    {"Settle", HoldOperation::Act::kSettle, "settled"},
    {"Cancel", HoldOperation::Act::kCancel, "settled"},
    {"Extend", HoldOperation::Act::kExtend, "extended"}};

// What clients may ask about the descriptors of Envoy, besides Envoy's own
// call.
struct DescriptorOperation {
  const char* name;  // in descriptors.proto; in paths of /v1 in small letters
  bool resets;       // else it only looks
};
inline constexpr DescriptorOperation kDescriptorOperations[] = {
    {"Peek", false}, {"Reset", true}};

// Units that a request may name: more than any tree needs.
inline constexpr std::size_t kMaxCosts = 64;

// Asks for a decision, or for a reset or a block, of some paths.
class PathList {
 public:
  const std::vector<limitree_path>& paths() const { return paths_; }
  // In other units than "request", on all paths.
  const std::vector<limitree_cost>& costs() const { return costs_; }
  std::size_t segment_count() const { return segments_.size(); }
  // Whether the answer is written without the levels of the decision ...
  bool omits_levels() const { return omits_levels_; }
  // ... and whether writing it takes them.
  bool needs_levels() const { return needs_levels_; }
  // Only for a reset.
  bool leaf_only() const { return leaf_only_; }
  // Only for a reservation; 0: as long as each limit says.  And how long to
  // block.
  std::int64_t hold_ns() const { return hold_ns_; }

 protected:
  // Stands for a path without its own cost until the whole request is read.
  static constexpr std::int64_t kNoCost = INT64_MIN;

  void clear() {
    empty(&segments_);
    empty(&paths_);
    costs_.clear();
    omits_levels_ = leaf_only_ = false;
    hold_ns_ = 0;
    needs_levels_ = true;
  }

  void add_segment(std::string_view segment) {
    segments_.push_back({segment.data(), segment.size()});
  }

  // Adds a path of all segments from `first` on.  They may still move:
  // finish() tells where they are.
  void add_path(std::size_t first, std::int64_t cost, std::int32_t part) {
    paths_.push_back({nullptr, segments_.size() - first, cost, part});
  }

  // Returns false, and adds nothing, if there are kMaxCosts already.
  bool add_cost(std::string_view unit, std::int64_t units) {
    if (costs_.size() == kMaxCosts) return false;
    costs_.push_back({{unit.data(), unit.size()}, units});
    return true;
  }

  // Call this when the whole request is read.  `cost` is the cost of paths
  // without their own.
  void finish(std::int64_t cost) {
    const limitree_str* segment = segments_.data();
    for (limitree_path& path : paths_) {
      path.segments = segment;
      segment += path.size;
      if (path.cost == kNoCost) path.cost = cost;
    }
  }

  bool omits_levels_ = false;
  bool needs_levels_ = true;
  bool leaf_only_ = false;
  std::int64_t hold_ns_ = 0;

 private:
  std::vector<limitree_str> segments_;  // of all paths
  std::vector<limitree_path> paths_;
  std::vector<limitree_cost> costs_;
};

// Asks to settle, cancel or extend what a reservation holds.  Refers to the
// bytes of the request.
struct ReceiptRequest {
  const HoldOperation* operation = nullptr;
  std::string_view receipt;
  std::int64_t cost = LIMITREE_AS_HELD;  // in "request", of each path
  std::vector<limitree_cost> costs;      // in other units, at most kMaxCosts
  std::int64_t hold_ns = 0;              // from now; of an extension
};

// A request of Envoy.
class DescriptorList {
 public:
  // Reads a message of one protocol; get() refers to it, or to memory of this
  // object.  Throws what the protocol throws.
  virtual void read(std::string_view message) = 0;

  // Without flags.
  const limitree_envoy_request& get() const { return request_; }
  // What was read.
  std::string_view source() const { return source_; }

 protected:
  ~DescriptorList() = default;
  void clear(std::string_view source) {
    empty(&entries_);
    empty(&descriptors_);
    request_ = {};
    source_ = source;
  }

  // Call this when the whole request is read: then the entries do not move any
  // more.
  void finish() {
    const limitree_entry* entry = entries_.data();
    for (limitree_descriptor& descriptor : descriptors_) {
      descriptor.entries = entry;
      entry += descriptor.entry_count;
    }
    request_.descriptors = descriptors_.data();
    request_.descriptor_count = descriptors_.size();
  }

  std::vector<limitree_entry> entries_;  // of all descriptors
  std::vector<limitree_descriptor> descriptors_;
  limitree_envoy_request request_{};

 private:
  std::string_view source_;
};

}  // namespace limitree::server

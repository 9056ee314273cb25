// What is in the buckets of the callers of a store, by samples.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "limitree.hpp"
#include "redis_scan.hpp"

namespace limitree::cli {

// A bucket, as limitree show has it.
struct SampledBucket {
  std::string policy;
  std::string caller;  // "user:alex"
  std::int64_t limit = 0;
  std::int64_t remaining = 0;
  std::int64_t full_after_ns = 0;
  std::int64_t pass = 0;  // in which it was seen last

  bool is_empty() const { return remaining == 0; }
  double used() const {
    return limit == 0 ? 0
                      : 1 - static_cast<double>(remaining) /
                                static_cast<double>(limit);
  }
};

// The buckets of one limit.
struct SampledLimit {
  std::int64_t buckets = 0;
  std::int64_t empty = 0;  // at their limit
};

class BucketSample {
 public:
  // What one refresh does at most: calls of SCAN to each primary, callers that
  // are looked at, paths of each.
  static constexpr int kScans = 10;
  static constexpr std::size_t kMostCallers = 500;
  static constexpr std::size_t kMostPaths = 8;
  // Buckets that are remembered; of more, those with the least debt are
  // forgotten: at the end of a pass, or when there are twice as many.
  static constexpr std::size_t kMostBuckets = 20'000;

  // Both outlive this.
  BucketSample(RedisScan* scan, Limiter* limiter)
      : scan_(scan), limiter_(limiter) {}

  // Looks at some more buckets, and again at the `again` with the most debt.
  // Throws FileError, and Error if the store fails.
  void refresh(std::size_t again);

  // Those with the most debt: empty ones first, those that take longest to
  // fill before others.
  std::vector<const SampledBucket*> top(std::size_t count) const;
  std::map<std::string, SampledLimit> limits() const;

  std::int64_t looked() const { return looked_; }
  // Whether all callers have been seen at least once.
  bool is_complete() const { return pass_ > 0; }

 private:
  // By the policy and the caller.
  using Buckets = std::map<std::pair<std::string, std::string>, SampledBucket>;

  void look(const std::vector<std::string>& path,
            const std::function<bool(const std::string& policy)>& wants);
  void look(const FoundCaller& caller);
  std::vector<limitree_level> levels_on(
      const std::vector<std::string>& path) const;
  void forget();

  RedisScan* scan_;
  Limiter* limiter_;
  Buckets buckets_;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>>
      paths_;                         // of buckets_
  std::vector<FoundCaller> waiting_;  // found, not looked at yet
  bool scanned_ = false;              // all of this pass; some may be waiting_
  std::int64_t pass_ = 0;
  std::int64_t looked_ = 0;
};

}  // namespace limitree::cli

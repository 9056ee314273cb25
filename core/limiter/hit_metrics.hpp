// Counters of hits, by the names that rules have in metrics.
//
// A rule of a file has one name, or one for each value that clients send.  The
// latter, and names of domains that are not known, are bounded in number: what
// comes later is counted together.  As in metrics.hpp, each thread counts in
// its stripe, and reading adds the stripes up.
//
// Clients choose names, so that these are found by a keyed hash, and in shards:
// no single lock serves all requests.

#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/counts.hpp"
#include "descriptors/rule_hits.hpp"

namespace limitree {

// A struct of counters to which several threads add, as add_counts() does.
template <typename Counts>
class AtomicCounts {
 public:
  void add(const Counts& more) {
    const auto added = std::bit_cast<CountArray<Counts>>(more);
    for (std::size_t i = 0; i < added.size(); ++i) {
      if (added[i] == 0) continue;
      std::int64_t sum = counts_[i].load(std::memory_order_relaxed);
      while (!counts_[i].compare_exchange_weak(
          sum, saturating_sum(sum, added[i]), std::memory_order_relaxed)) {
      }
    }
  }

  Counts get() const {
    CountArray<Counts> counts;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      counts[i] = counts_[i].load(std::memory_order_relaxed);
    }
    return std::bit_cast<Counts>(counts);
  }

 private:
  std::array<std::atomic<std::int64_t>, std::tuple_size_v<CountArray<Counts>>>
      counts_{};
};

// The counts of few targets out of many: a small write-back cache.
template <typename Target, typename Tally, std::size_t kSize>
class TallyCache {
 public:
  // What is still to be added to `target`.
  Tally& at(Target* target) {
    Entry& entry =
        entries_[(reinterpret_cast<std::uintptr_t>(target) / kTargetSize) %
                 kSize];
    if (entry.target != target) {
      if (entry.target != nullptr) entry.target->add(entry.tally);
      entry = {target, {}};
    }
    return entry.tally;
  }

  void flush() {
    for (Entry& entry : entries_) {
      if (entry.target != nullptr) entry.target->add(entry.tally);
      entry = {};
    }
  }

 private:
  struct Entry {
    Target* target = nullptr;
    Tally tally;
  };

  // Of two targets side by side; a power of two, so that nothing is divided.
  static constexpr std::uintptr_t kTargetSize = std::bit_floor(sizeof(Target));

  std::array<Entry, kSize> entries_;
};

// A name and its counters, known as long as the limiter lives.
class HitMetric {
 public:
  HitMetric(std::string_view name, std::uint64_t number)
      : name_(name), number_(number) {}

  std::string_view name() const { return name_; }
  std::uint64_t number() const { return number_; }  // in the order of making
  void add(const HitTally& tally) { tally_.add(tally); }
  HitTally tally() const { return tally_.get(); }

 private:
  const std::string name_;
  const std::uint64_t number_;
  AtomicCounts<HitTally> tally_;
};

// Every name that a limiter has ever counted under.  Threads may use it at
// once, each of them while it holds a stripe, or the lock of reloads.
class HitMetrics {
 public:
  // The name for all that is counted together.  Rules do not have it: their
  // names have a dot.
  static constexpr std::string_view kOther = "other";
  // Longer names of requests are counted together, too.
  static constexpr std::size_t kMaxName = 1024;

  // Counts under at most `most` names that requests bring.
  explicit HitMetrics(std::size_t most) : most_(most) {}

  // The metric of a rule of a file.
  HitMetric* intern(std::string_view name);

  // The metric of a name that a request brings, with its keyed_hash().
  HitMetric* find(std::string_view name, std::uint64_t hash) noexcept;

  // In the order in which they were made.
  std::vector<const HitMetric*> all();

 private:
  struct Name {
    std::string_view text;
    std::uint64_t hash;

    // The text is elsewhere, and mostly not in a cache.
    bool operator==(const Name& other) const {
      return hash == other.hash && text == other.text;
    }
  };
  struct HashOf {
    std::size_t operator()(const Name& name) const { return name.hash; }
  };
  struct alignas(64) Shard {
    std::mutex mutex;  // guards everything below
    // Never moves its elements, and takes no memory before there is one.
    std::forward_list<HitMetric> metrics;
    std::unordered_map<Name, HitMetric*, HashOf> by_name;
  };
  static constexpr std::size_t kShards = 16;

  // The map of a shard takes the low bits.
  Shard& shard_of(std::uint64_t hash) { return shards_[hash >> 60]; }
  HitMetric* make(const Name& name, Shard* shard);
  bool take_room();

  const std::size_t most_;
  std::atomic<std::size_t> brought_{0};
  std::atomic<std::uint64_t> made_{0};
  std::array<Shard, kShards> shards_;
  // Also counts names for which there is no memory; listed once it is used.
  HitMetric other_{kOther, 0};
  std::atomic<bool> uses_other_{false};
};

// Requests of Envoy, regardless of the rules they met.
struct EnvoyTotals {
  std::int64_t ok = 0;
  std::int64_t over_limit = 0;
  std::int64_t global_shadow_mode = 0;  // of `ok`
  std::int64_t service_errors = 0;
  std::int64_t store_errors = 0;

  EnvoyTotals& operator+=(const EnvoyTotals& more) {
    return add_counts(more, this);
  }
};

// The part of a stripe that counts hits.
class HitCounts {
 public:
  EnvoyTotals totals;

  void add(HitMetric* metric, const HitTally& tally) {
    cache_.at(metric) += tally;
  }

  // HitMetrics::find(), mostly without a lock.
  HitMetric* find(std::string_view name, HitMetrics* metrics) noexcept;

  void flush() { cache_.flush(); }

 private:
  TallyCache<HitMetric, HitTally, 16> cache_;
  std::array<HitMetric*, 32> found_{};
};

}  // namespace limitree

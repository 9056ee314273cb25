// The callers of a log, in bounded memory.
//
// If there are more than fit, the table keeps one caller of 2, of 4, of 8, ...,
// chosen by a hash of the name: a random sample of the callers, each with all
// of its requests.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "use_meter.hpp"

namespace limitree::cli {

class CallerTable {
 public:
  // Longer names are cut.  Callers are distinguished by the hash of the whole
  // name, of 64 bits.
  static constexpr std::size_t kMaxName = 80;

  struct Caller {
    std::uint64_t hash;
    CallerUse use;
    std::string name;
  };

  // REQUIRES: 0 < max_callers < 2^30.
  CallerTable(const Candidates* candidates, std::size_t max_callers);

  void add(std::string_view name, std::int64_t now_ns);

  std::int64_t requests() const { return requests_; }  // of all callers
  std::int64_t sampled() const { return std::int64_t{1} << halvings_; }
  std::size_t size() const { return size_; }

  template <typename Take>
  void for_each(const Take& take) const {
    for (const std::vector<Caller>& chunk : chunks_) {
      for (const Caller& caller : chunk) take(caller);
    }
  }

 private:
  // With a million callers the time goes into cache misses.  A slot is small,
  // and leads to a caller that does not move while the table grows, so there is
  // one miss for each of the two.
  struct Slot {
    std::uint32_t tag = 0;
    std::uint32_t number = 0;  // of the caller, from 1; 0: free
  };
  static constexpr std::size_t kChunk = 1024;

  Caller& at(std::uint32_t number) {
    return chunks_[(number - 1) / kChunk][(number - 1) % kChunk];
  }
  bool is_kept(std::uint64_t hash) const;
  std::uint32_t tag_of(std::uint64_t hash) const;
  Caller* find(std::uint64_t hash);  // or nullptr
  Caller* insert(Caller caller);
  void put(Slot slot);
  void halve();

  const Candidates* candidates_;
  std::size_t max_callers_;
  std::uint64_t secret_;  // a log must not choose its slots
  int halvings_ = 0;
  std::int64_t requests_ = 0;
  std::size_t size_ = 0;
  std::vector<Slot> slots_;  // a power of two, at most two thirds full
  std::vector<std::vector<Caller>> chunks_;
};

}  // namespace limitree::cli

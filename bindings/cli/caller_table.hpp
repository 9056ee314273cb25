// The callers of a log, in bounded memory, and what each needs of a row of
// candidate limits.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace limitree::cli {

struct Candidate {
  std::size_t period;  // index of Candidates::periods_ns
  std::int64_t count;
  std::int64_t interval_ns;  // period / count
};

// The limits to try: 1, 2, 5, ... 100,000 requests in each period.
struct Candidates {
  static constexpr std::size_t kPerPeriod = 16;

  explicit Candidates(std::vector<std::int64_t> periods);

  std::vector<std::int64_t> periods_ns;
  std::vector<Candidate> limits;  // kPerPeriod for each period, ascending
};

// A limit of `count` per `period` is a bucket that gains a token every
// period / count.  At that rate a caller is never limited if the bucket is as
// deep as the caller's needed burst, which the meter finds: the most tokens
// that the requests ever took out of a bucket without a bottom.  The arithmetic
// is that of the library, in whole nanoseconds, so that both agree on every
// request.
class UseMeter {
 public:
  // The library takes no bucket that needs more than 100 years to fill.
  static constexpr std::int64_t kNever = INT64_MAX;
  static constexpr std::int64_t kMaxDebtNs = 36'525ll * 86'400 * 1'000'000'000;

  // `candidates` must outlive the meter.
  explicit UseMeter(const Candidates* candidates);

  void reset();

  // Adds a request.  REQUIRES: 0 <= now_ns <= kMaxDebtNs, ascending.
  void add(std::int64_t now_ns);

  // The least burst with which candidate `i` had not limited the caller;
  // kNever if the library takes no such limit.
  std::int64_t burst(std::size_t i) const;

  // The requests that candidate `i` had limited with a burst of its count.
  std::int64_t limited(std::size_t i) const { return states_[i].limited; }

  // The most requests within one period of the clock.
  std::int64_t busiest(std::size_t period) const {
    return windows_[period].most;
  }

 private:
  struct State {
    std::int64_t tat = 0;   // of a bucket without a bottom
    std::int64_t most = 0;  // the largest debt of that bucket
    std::int64_t kept = 0;  // TAT of a bucket of `count` tokens
    std::int64_t limited = 0;
  };
  struct Window {
    std::int64_t number = -1;  // of the current period
    std::int64_t count = 0;
    std::int64_t most = 0;
  };

  const Candidates* candidates_;
  std::vector<State> states_;
  std::vector<Window> windows_;
};

// The requests of one caller: their times, in a byte or two each, until a meter
// takes less memory than they do.
class CallerUse {
 public:
  static constexpr std::size_t kMaxBytes = 1024;

  // Adds a request, as UseMeter::add() does.
  void add(std::int64_t now_ns, const Candidates& candidates);

  // A meter of all requests; `scratch`, if there is none yet.
  const UseMeter& meter(UseMeter* scratch) const;

  std::int64_t requests() const { return requests_; }

 private:
  void feed(UseMeter* meter) const;

  std::int64_t requests_ = 0;
  std::int64_t last_ns_ = 0;
  std::string steps_;  // between requests
  std::unique_ptr<UseMeter> meter_;
};

// If there are more callers than fit, the table keeps one caller of 2, of 4, of
// 8, ..., chosen by a hash of the name: a random sample of the callers, each
// with all of its requests.
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

// Counts the failures of a store, and sends two messages to the log of a
// program: one when the store begins to fail, and one when it is back.
//
// Takes no lock: any number of threads may decide during a fork().

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "store/clock.hpp"
#include "store/store.hpp"

namespace limitree {

enum class OnStoreError : std::uint8_t { kRaise, kAllow, kDeny, kLocal };

// Values as in limitree.h.
enum class LogEvent : std::uint8_t { kStoreAway = 1, kStoreBack = 2 };

// Receives the messages, on any thread.  Must not call the limiter.
using LogFunction = std::function<void(LogEvent event, std::string_view text)>;

// Counts errors by reason.  There are few reasons.
class ErrorCounts {
 public:
  // `reason` must live as long as the program.
  void count(const char* reason);
  std::vector<ReasonCount> all() const;

  // Those that have been counted since the last take_new().
  std::string new_reasons() const;  // "refused, timeout"
  std::string take_new();           // "refused 20, timeout 1"

 private:
  struct Slot {
    // Null: this and all later slots are free.
    std::atomic<const char*> reason{nullptr};
    std::atomic<std::int64_t> count{0};
    std::atomic<std::int64_t> taken{0};
  };
  // The last slot takes all reasons that find no other.
  std::array<Slot, 48> slots_;
};

class OutageLog {
 public:
  // The store is back when it has answered, without failures, for this long: a
  // store that fails now and then does not fill the log.
  static constexpr Duration kQuiet = std::chrono::seconds(5);

  // `store` is its name in messages.  Without `log` there are no messages.
  OutageLog(std::string store, OnStoreError policy, LogFunction log,
            Clock clock)
      : store_(std::move(store)),
        policy_(policy),
        log_(std::move(log)),
        clock_(clock) {}

  ErrorCounts& errors() { return errors_; }
  const ErrorCounts& errors() const { return errors_; }

  // Whether the store fails, or has failed just now.
  bool is_away() const { return away_.load(std::memory_order_relaxed); }

  // After each request that the policy has decided, or that has failed.
  void failed(bool limited) noexcept;

  // After each answer of the store while it is away.
  void answered() noexcept;

 private:
  void write(LogEvent event, const std::string& what) const;

  const std::string store_;
  const OnStoreError policy_;
  const LogFunction log_;
  const Clock clock_;
  ErrorCounts errors_;
  std::atomic<bool> away_{false};
  std::atomic<Instant> since_{};
  std::atomic<Instant> answered_{kLongAgo};  // first since a failure
  std::atomic<std::int64_t> requests_{0};    // since it is away
  std::atomic<std::int64_t> limited_{0};     // of them
};

}  // namespace limitree

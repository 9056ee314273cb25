// What the processes of a trace have asked, and what they were answered: memory
// that all of them share.

#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/hold.hpp"

namespace limitree::traces {

inline constexpr int kRounds = 14;
inline constexpr int kProcesses = 4;
inline constexpr int kBatch = 512;  // traces that run at the same time

enum class Act : std::uint8_t {
  kNothing,
  kReserve,
  kAuthorize,
  kSpend,
  kSettle,
  kExtend,
};
inline constexpr const char* kActNames[] = {"nothing", "reserve", "authorize",
                                            "spend",   "settle",  "extend"};

// A step of one process in one round.
struct Entry {
  Act act = Act::kNothing;
  bool allowed = false;
  std::uint8_t charged = 0;   // a bit for each level
  std::uint8_t left = 0;      // the same: units are left there
  std::uint8_t of_round = 0;  // the reservation that it is about
  std::uint8_t of_process = 0;
  std::int64_t requests = 0;
  std::int64_t tokens = 0;
  std::int64_t hold_ns = 0;  // 0: that of each limit
  HoldId id;
  std::atomic<bool> refunded{false};
};

struct Trace {
  std::int64_t number = 0;
  int shape = 0;
  int processes = 2;
  Entry entries[kRounds][kProcesses];

  // Clears what an earlier trace has left.
  void begin(std::int64_t its_number, int its_shape, int its_processes) {
    number = its_number;
    shape = its_shape;
    processes = its_processes;
    for (auto& round : entries) {
      for (Entry& entry : round) {
        entry.act = Act::kNothing;
        entry.refunded.store(false, std::memory_order_relaxed);
      }
    }
  }

  std::string text(const std::vector<std::int64_t>& times) const {
    std::string all;
    for (int round = 0; round < kRounds; ++round) {
      for (int i = 0; i < processes; ++i) {
        const Entry& entry = entries[round][i];
        if (entry.act == Act::kNothing) continue;
        all += "  round " + std::to_string(round) + " at " +
               std::to_string(times[static_cast<std::size_t>(round)]) +
               " process " + std::to_string(i) + ": " +
               kActNames[static_cast<int>(entry.act)];
        if (entry.act == Act::kSettle || entry.act == Act::kExtend) {
          all += " that of round " + std::to_string(entry.of_round) +
                 " process " + std::to_string(entry.of_process);
        }
        all += " requests " + std::to_string(entry.requests) + " tokens " +
               std::to_string(entry.tokens) + " hold " +
               std::to_string(entry.hold_ns) +
               (entry.allowed ? " allowed" : "") + " charged " +
               std::to_string(entry.charged) + "\n";
      }
    }
    return all;
  }
};

// Where all processes wait for each other.  It spins, because processes share
// no better barrier on all systems.
class Barrier {
 public:
  // Returns false if the run has to stop.
  template <typename Wait>
  bool arrive(Wait wait) {
    const int turn = turn_.load();
    if (arrived_.fetch_add(1) + 1 == kProcesses) {
      arrived_ = 0;
      ++turn_;
      return !stop_;
    }
    while (turn_.load() == turn && !stop_) wait();
    return !stop_;
  }
  void stop() { stop_ = true; }
  bool is_stopped() const { return stop_; }

 private:
  std::atomic<int> arrived_{0};
  std::atomic<int> turn_{0};
  std::atomic<bool> stop_{false};
};

struct Counts {
  std::int64_t steps = 0;
  std::int64_t reserved = 0;
  std::int64_t denied = 0;
  std::int64_t settled = 0;
  std::int64_t too_late = 0;   // settled or extended after the end, or twice
  std::int64_t forgotten = 0;  // ended by themselves
  std::int64_t over = 0;       // traces with uses over a limit

  void add(const Counts& other) {
    steps += other.steps;
    reserved += other.reserved;
    denied += other.denied;
    settled += other.settled;
    too_late += other.too_late;
    forgotten += other.forgotten;
    over += other.over;
  }
};

struct Board {
  Barrier barrier;
  Trace traces[kBatch];
  Counts counts[kProcesses];
  std::atomic<bool> has_fault{false};
  char fault[8000] = {};
};

}  // namespace limitree::traces

// One of the processes that play traces.

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/limiter.hpp"
#include "traces/limits.hpp"
#include "traces/log.hpp"
#include "traces/oracle.hpp"

namespace limitree::traces {

struct Run {
  std::int64_t traces = 1000;
  std::uint64_t seed = 1;
  std::string store = "shm";
  bool refunds = false;  // charge an estimate, and give back the rest
  std::vector<Shape> shapes = {};
};

// The clock of all limiters.  In a round everybody has the same time.
inline std::atomic<std::int64_t> clock_ns{0};

class Player {
 public:
  Player(const Run& run, Board* board, Limiter* limiter, int number)
      : run_(run), board_(*board), limiter_(*limiter), number_(number) {}

  // Returns false if there was a fault, here or in another process.
  template <typename Wait>
  bool play(Wait wait) {
    const std::int64_t batches = (run_.traces + kBatch - 1) / kBatch;
    for (std::int64_t batch = 0; batch < batches; ++batch) {
      choose_times(batch);
      const int size = static_cast<int>(
          std::min<std::int64_t>(kBatch, run_.traces - batch * kBatch));
      for (int i = number_; i < size; i += kProcesses) {
        begin(batch * kBatch + i, &board_.traces[i]);
      }
      for (int round = 0; round < kRounds; ++round) {
        if (!board_.barrier.arrive(wait)) return false;
        clock_ns = times_[static_cast<std::size_t>(round)];
        for (int i = 0; i < size; ++i) step(i, round);
      }
      if (!board_.barrier.arrive(wait)) return false;
      clock_ns = times_.back();
      for (int i = number_; i < size; i += kProcesses) judge(i);
      if (!board_.barrier.arrive(wait)) return false;
      clock_ns = times_.back() + kDay;
      for (int i = number_; i < size; i += kProcesses) look(i);
    }
    return board_.barrier.arrive(wait);
  }

 private:
  static constexpr std::int64_t kDay = 86'400'000'000'000;

  // A generator for what these numbers name.
  Random random_of(std::int64_t what, std::int64_t part = -1) const {
    Random first(run_.seed);
    Random second(first() ^ static_cast<std::uint64_t>(what));
    return Random(second() ^ static_cast<std::uint64_t>(part));
  }

  // The same in each process.
  void choose_times(std::int64_t batch) {
    constexpr std::int64_t kStart = 20'000 * kDay;
    Random random = random_of(-1 - batch);
    // Every third batch begins just before a midnight.
    std::int64_t now = kStart + batch * 4 * kDay;
    now += batch % 3 == 0 ? -between(1, 20'000'000'000, random)
                          : between(0, 1'000'000'000, random);
    const double longest = batch % 2 == 0 ? 1e10 : 1e9;
    times_.clear();
    for (int round = 0; round < kRounds; ++round) {
      times_.push_back(now);
      const std::int64_t kind = between(0, 11, random);
      now += kind == 0 ? 0 : kind == 1 ? 1 : of_any_size(1e6, longest, random);
    }
    times_.push_back(now + 2 * kDay);
  }

  void begin(std::int64_t number, Trace* trace) const {
    Random random = random_of(number);
    const auto last = static_cast<std::int64_t>(run_.shapes.size()) - 1;
    trace->begin(number, static_cast<int>(between(0, last, random)),
                 static_cast<int>(between(2, kProcesses, random)));
  }

  void step(int slot, int round) {
    Trace& trace = board_.traces[slot];
    if (number_ >= trace.processes) return;
    random_ = random_of(trace.number, round * kProcesses + number_);
    // About 20 steps in each trace.
    if (between(1, kRounds * trace.processes, random_) > 20) return;
    Entry& entry = trace.entries[round][number_];
    choose(&trace, round, &entry);
    if (entry.act != Act::kNothing) carry_out(slot, &entry);
  }

  void choose(Trace* trace, int round, Entry* entry) {
    const Shape& shape = shape_of(*trace);
    entry->allowed = false;
    entry->charged = entry->left = 0;
    entry->hold_ns = 0;
    const std::int64_t kind = between(0, 99, random_);
    if (kind >= 46 && kind < 86 && choose_hold(trace, round, entry)) {
      // Only one process in a round, so that the end is known.
      const bool may_extend =
          (trace->number + round) % trace->processes == number_;
      if (kind < 54 && may_extend && !run_.refunds) {
        entry->act = Act::kExtend;
        entry->requests = entry->tokens = -1;
        entry->hold_ns = some_time(round);
      } else {
        settle(*trace, entry);
      }
      return;
    }
    entry->act = kind < 86 || shape.has_slots ? Act::kReserve
                 : kind < 93                  ? Act::kAuthorize
                                              : Act::kSpend;
    entry->requests = some_cost(shape.most_requests);
    entry->tokens = some_cost(shape.most_tokens);
    if (entry->act == Act::kReserve && between(0, 2, random_) > 0) {
      entry->hold_ns = some_time(round);
    }
  }

  // Chooses one of the reservations of earlier rounds, which may have ended.
  bool choose_hold(Trace* trace, int round, Entry* entry) {
    for (int tries = 0; tries < 6 && round > 0; ++tries) {
      const auto of_round = between(0, round - 1, random_);
      const auto of_process = between(0, trace->processes - 1, random_);
      const Entry& made = trace->entries[of_round][of_process];
      if (made.act != Act::kReserve || !made.allowed) continue;
      entry->of_round = static_cast<std::uint8_t>(of_round);
      entry->of_process = static_cast<std::uint8_t>(of_process);
      entry->id = made.id;
      return true;
    }
    return false;
  }

  // Uses at most what was held.
  void settle(const Trace& trace, Entry* entry) {
    const Entry& made = trace.entries[entry->of_round][entry->of_process];
    entry->act = Act::kSettle;
    const std::int64_t kind = between(0, 9, random_);
    const auto used = [&](std::int64_t held) {
      if (kind < 3) return run_.refunds ? held : kAsHeld;
      return kind < 5 ? 0 : between(0, held, random_);
    };
    entry->requests = used(made.requests);
    entry->tokens = used(made.tokens);
  }

  std::int64_t some_cost(std::int64_t most) {
    if (most == 0) return 0;
    const std::int64_t kind = between(0, 9, random_);
    if (kind == 0) return most;
    if (kind == 1) return most + 1;  // never fits
    return kind < 5 ? 1
                    : of_any_size(1, static_cast<double>(most) + 1, random_);
  }

  // Often just the time until a later round, or a nanosecond more or less.
  std::int64_t some_time(int round) {
    if (between(0, 1, random_) == 0 && round + 1 < kRounds) {
      const auto later =
          static_cast<std::size_t>(between(round + 1, kRounds - 1, random_));
      const std::int64_t time = times_[later] - clock_ns;
      return std::max<std::int64_t>(1, time + between(-1, 1, random_));
    }
    return of_any_size(1, 6e10, random_);
  }

  const Shape& shape_of(const Trace& trace) const {
    return run_.shapes[static_cast<std::size_t>(trace.shape)];
  }

  bool decide(int slot, Operation operation, const Entry& entry) {
    const Trace& trace = board_.traces[slot];
    const Shape& shape = shape_of(trace);
    const std::string first = "s" + std::to_string(trace.shape);
    const std::string second = std::to_string(slot);
    const std::array<std::string_view, 2> path = {first, second};
    const PathCost cost{path, entry.requests};
    const UnitCost tokens{"tokens", entry.tokens};
    const bool names_tokens = shape.has_tokens && entry.tokens != kAsHeld;
    const Costs costs({&cost, 1}, {&tokens, names_tokens ? 1U : 0U},
                      {entry.id, Duration(entry.hold_ns)});
    decision_ = {};
    const Status status =
        limiter_.decide(operation, costs, &reports_, &decision_);
    if (!status.ok()) fault(slot, status.message());
    return status.ok();
  }

  void carry_out(int slot, Entry* entry) {
    ++counts().steps;
    if (run_.refunds ? !by_refund(slot, entry) : !by_hold(slot, entry)) return;
    const bool about_hold =
        entry->act == Act::kSettle || entry->act == Act::kExtend;
    // An answer about a hold has only the levels that can hold.
    const std::vector<OneLimit>& limits = shape_of(board_.traces[slot]).limits;
    std::size_t next = 0;
    for (std::size_t i = 0; i < limits.size(); ++i) {
      if (about_hold && !run_.refunds && limits[i].hold_ns == 0) continue;
      const Verdict& verdict = reports_[next++].verdict;
      entry->charged |= static_cast<std::uint8_t>(verdict.charged << i);
      entry->left |= static_cast<std::uint8_t>((verdict.remaining > 0) << i);
    }
    entry->allowed = !decision_.limited;
    if (about_hold) return;
    ++(decision_.limited ? counts().denied : counts().reserved);
  }

  bool by_hold(int slot, Entry* entry) {
    switch (entry->act) {
      case Act::kReserve:
        entry->id = limiter_.new_hold_id();
        return decide(slot, Operation::kReserve, *entry);
      case Act::kAuthorize:
        return decide(slot, Operation::kAuthorize, *entry);
      case Act::kSpend:
        return decide(slot, Operation::kSpend, *entry);
      case Act::kSettle:
        return decide(slot, Operation::kSettle, *entry);
      default:
        return decide(slot, Operation::kExtend, *entry);
    }
  }

  // Charges what would be held, and gives back what was not used, once.
  bool by_refund(int slot, Entry* entry) {
    if (entry->act == Act::kSpend) {
      return decide(slot, Operation::kSpend, *entry);
    }
    if (entry->act != Act::kSettle) {
      return decide(slot, Operation::kAuthorize, *entry);
    }
    Entry& made =
        board_.traces[slot].entries[entry->of_round][entry->of_process];
    if (made.refunded.exchange(true)) return false;
    Entry rest;
    rest.requests = made.requests - entry->requests;
    rest.tokens = made.tokens - entry->tokens;
    if (!decide(slot, Operation::kRefund, rest)) return false;
    for (std::size_t i = 0; i < reports_.size(); ++i) {
      reports_[i].verdict.charged = true;
    }
    return true;
  }

  void judge(int slot) {
    const Trace& trace = board_.traces[slot];
    const Shape& shape = shape_of(trace);
    bool over = false;
    for (std::size_t i = 0; i < shape.limits.size(); ++i) {
      LevelOracle oracle(shape, i, trace, times_);
      if (run_.refunds) {
        over |= oracle.is_over_by_refunds();
        continue;
      }
      const std::string wrong = oracle.fault(&counts());
      if (wrong.empty()) continue;
      over = true;
      fault(slot, "level " + std::to_string(i) + ": " + wrong);
    }
    counts().over += over ? 1 : 0;
    // Brings to book what has ended.  In a window in which nothing was used yet
    // that is charged only now.
    Entry nothing;
    nothing.requests = nothing.tokens = kAsHeld;
    nothing.hold_ns = 1;
    decide(slot, Operation::kExtend, nothing);
  }

  // Nothing is used or held any more.
  void look(int slot) {
    if (!decide(slot, Operation::kLook, Entry())) return;
    const Shape& shape = shape_of(board_.traces[slot]);
    for (std::size_t i = 0; i < shape.limits.size(); ++i) {
      if (reports_[i].verdict.remaining == shape.limits[i].capacity) continue;
      fault(slot, "level " + std::to_string(i) + ": " +
                      std::to_string(reports_[i].verdict.remaining) +
                      " units are left days later");
    }
  }

  Counts& counts() { return board_.counts[number_]; }

  // Keeps the first fault for whoever started the run, and ends it.
  void fault(int slot, const std::string& what) {
    if (board_.has_fault.exchange(true)) return;
    const Trace& trace = board_.traces[slot];
    const std::string text = "trace " + std::to_string(trace.number) + ": " +
                             what + "\n  limits: " + shape_of(trace).yaml() +
                             "\n" + trace.text(times_);
    std::snprintf(board_.fault, sizeof board_.fault, "%s", text.c_str());
    board_.barrier.stop();
  }

  const Run& run_;
  Board& board_;
  Limiter& limiter_;
  const int number_;
  std::vector<std::int64_t> times_;  // of the rounds, and long after them
  Random random_;
  LevelReports reports_;
  Decision decision_;
};

}  // namespace limitree::traces

// Processes that lease units from buckets of one store, as states and steps.
//
// The store decides by the product's code (arithmetic.hpp).  Time is a number
// of ticks, and only differences of it are in a state, so the explorer visits
// all states there are: there is no horizon.
//
// What was used is judged by a bucket of its own for each level, which nobody
// else sees.  It holds what the limit states, and each use charges it when the
// unit is used.  It overflows exactly if some window has more uses than
// (BO + w) / T: that is the condition for all pairs of uses.
// "No level is used that was not charged" is judged by what the store's buckets
// owe more after a grant than before, not by what the grant says.

#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/arithmetic.hpp"

namespace limitree::model {

inline constexpr std::size_t kProcesses = 3;

// What people get wrong in this design.  The explorer has to find each.
struct Mistakes {
  bool direct_has_whole_burst = false;  // requests without a lease, against BO
  bool gives_back = false;              // what a lease has left when it ends
  bool lasts_from_answer = false;       // D counts from when the answer came
  bool lasts_past_window = false;       // D counts, whenever the window ends
  bool forks_leases = false;            // a child has its parent's units, too
  bool charges_first_level = false;     // and none of the others
  bool keeps_on_reload = false;         // the leases of the limits before
};

// What a model is about.
struct Scene {
  std::vector<std::vector<LevelShape>> limits;  // versions of limits.yaml
  std::int64_t most_units = 2;                  // of one lease
  std::int64_t tolerance = 0;  // ticks that the exact buckets hold beyond BO
  std::size_t processes = kProcesses;
  bool rolling = false;  // after a reload, others still have the limits before
  Mistakes mistakes = {};
};

// A process, and its lease.
struct Holder {
  enum Stage : std::uint8_t { kNone, kSent, kGranted, kHeld };
  std::uint8_t stage;
  std::uint8_t version;  // of its limits, if it has a lease or asks for one
  std::int8_t age;       // ticks since the request was sent
  std::int8_t lasts;     // the age at which the lease ends
  std::int8_t units;     // that are left
  std::array<std::int8_t, kLevels>
      paid;  // what each level was charged for them

  auto operator<=>(const Holder&) const = default;
};

struct LeaseState {
  Debts debts;           // of the store's buckets
  Debts used;            // of the exact ones
  std::int8_t phase;     // of the windows: ticks since the last one began
  std::uint8_t version;  // of the limits that are loaded
  std::array<Holder, kProcesses> holders;
};

struct LeaseStep {
  enum Kind : std::uint8_t {
    kTick,
    kRequest,
    kSend,
    kGrant,
    kReceive,
    kUse,
    kCrash,
    kReload,
    kFork
  };
  Kind kind;
  std::uint8_t process;
  std::uint8_t units;
};

class LeaseModel {
 public:
  using State = LeaseState;
  using Step = LeaseStep;

  explicit LeaseModel(const Scene& scene) : scene_(scene) {
    for (const std::vector<LevelShape>& version : scene.limits) {
      store_.emplace_back(version);
      whole_.emplace_back(as_stated(version, 0));
      exact_.emplace_back(as_stated(version, scene.tolerance));
      longest_ = std::max(longest_, store_.back().longest_lease());
    }
  }

  // No process has a lease, and all buckets are full.
  State initial() const { return {}; }

  template <typename Visit>
  void each_step(const State& state, const Visit& visit) const {
    tick(state, visit);
    for (std::uint8_t v = oldest(state); v <= state.version; ++v) {
      request(v, 1, state, visit);
      request(v, 2, state, visit);
    }
    if (state.version + 1u < store_.size()) reload(state, visit);
    for (std::size_t i = 0; i < scene_.processes; ++i) {
      // Equal processes have equal futures.
      if (i > 0 && state.holders[i] == state.holders[i - 1]) continue;
      each_step_of(i, state, visit);
    }
  }

  std::string text(const Step& step) const {
    static constexpr const char* kNames[] = {
        "a tick passes",     "a request takes ", "asks for a lease",
        "is granted 1 and ", "has the answer",   "uses a unit",
        "crashes",           "new limits",       "forks"};
    const std::string name = kNames[step.kind];
    if (step.kind == Step::kRequest) return name + std::to_string(step.units);
    if (step.kind == Step::kTick || step.kind == Step::kReload) return name;
    return "process " + std::to_string(step.process) + " " + name +
           (step.kind == Step::kGrant ? std::to_string(step.units) : "");
  }

 private:
  // The limits of an exact bucket.
  static std::vector<LevelShape> as_stated(std::vector<LevelShape> levels,
                                           std::int64_t tolerance) {
    for (LevelShape& level : levels) {
      level.lease = 0;
      level.count += tolerance / std::max<std::int64_t>(1, level.interval);
    }
    return levels;
  }

  const Arithmetic& store(const State& state) const {
    return store_[state.version];
  }

  // Which version a process may still have.
  std::uint8_t oldest(const State& state) const {
    return scene_.rolling ? std::uint8_t{0} : state.version;
  }

  // Processes differ by their leases only, so their order is no part of a
  // state.
  template <typename Visit>
  void visit_sorted(const Step& step, State next, const char* fault,
                    const Visit& visit) const {
    // Few, and almost in order.
    for (std::size_t i = 1; i < scene_.processes; ++i) {
      for (std::size_t k = i; k > 0 && next.holders[k] < next.holders[k - 1];
           --k) {
        std::swap(next.holders[k], next.holders[k - 1]);
      }
    }
    visit(step, next, fault);
  }

  template <typename Visit>
  void tick(State state, const Visit& visit) const {
    const bool window_ends = ++state.phase == store(state).window();
    if (window_ends) state.phase = 0;
    store(state).pass(window_ends, &state.debts);
    store(state).pass(window_ends, &state.used);
    for (Holder& holder : state.holders) {
      if (holder.stage == Holder::kHeld) {
        ++holder.age;
        end_if_over(&state, &holder);
      } else if (holder.stage != Holder::kNone && holder.age <= longest_) {
        ++holder.age;  // answers that come too late are all alike
      }
    }
    visit_sorted({Step::kTick, 0, 0}, state, "", visit);
  }

  // A lease of no units, or one that has ended, is nothing.
  void end_if_over(State* state, Holder* holder) const {
    if (holder->units > 0 && holder->age < holder->lasts) return;
    if (scene_.mistakes.gives_back) {
      for (std::size_t i = 0; i < store(*state).levels(); ++i) {
        std::int8_t& debt = state->debts[i];
        debt = static_cast<std::int8_t>(std::max<std::int64_t>(
            0, debt - holder->units * store(*state).unit_of(i)));
      }
    }
    *holder = {};
  }

  // A request without a lease, of any process: it is used when it conforms.
  template <typename Visit>
  void request(std::uint8_t version, int cost, State state,
               const Visit& visit) const {
    const Arithmetic& limits = scene_.mistakes.direct_has_whole_burst
                                   ? whole_[version]
                                   : store_[version];
    if (!limits.decide(cost, 0, state.phase, &state.debts).allowed) return;
    const char* const fault = use(cost, &state);
    visit({Step::kRequest, 0, static_cast<std::uint8_t>(cost)}, state, fault);
  }

  // Charges the exact buckets.
  const char* use(int cost, State* state) const {
    const Arithmetic& exact = exact_[state->version];
    return exact.decide(cost, 0, state->phase, &state->used).allowed
               ? ""
               : "a window has more uses than the limit";
  }

  // In all processes at the same instant, or in some of them.
  template <typename Visit>
  void reload(State state, const Visit& visit) const {
    ++state.version;
    if (!scene_.mistakes.keeps_on_reload && !scene_.rolling) {
      state.holders = {};
    }
    visit({Step::kReload, 0, 0}, state, "");
  }

  template <typename Visit>
  void each_step_of(std::size_t i, const State& state,
                    const Visit& visit) const {
    const auto process = static_cast<std::uint8_t>(i);
    State next = state;
    Holder& holder = next.holders[i];
    switch (holder.stage) {
      case Holder::kNone:
        holder.stage = Holder::kSent;
        for (std::uint8_t v = oldest(state); v <= state.version; ++v) {
          holder.version = v;
          visit_sorted({Step::kSend, process, 0}, next, "", visit);
        }
        return;
      case Holder::kSent:
        grant(i, state, visit);
        break;
      case Holder::kGranted:
        holder.stage = Holder::kHeld;
        if (scene_.mistakes.lasts_from_answer) {
          holder.lasts = static_cast<std::int8_t>(holder.lasts + holder.age);
        }
        end_if_over(&next, &holder);
        visit_sorted({Step::kReceive, process, 0}, next, "", visit);
        break;
      default:
        use_unit(i, state, visit);
        if (scene_.mistakes.forks_leases) fork(i, state, visit);
    }
    // It is killed, or its answer is lost.
    next = state;
    next.holders[i] = {};
    visit_sorted({Step::kCrash, process, 0}, next, "", visit);
  }

  // The store decides a request of 1 that asks for units besides.
  template <typename Visit>
  void grant(std::size_t i, const State& state, const Visit& visit) const {
    for (std::int64_t most = 1; most <= scene_.most_units; ++most) {
      State next = state;
      Holder& holder = next.holders[i];
      const Arithmetic& limits = store_[holder.version];
      const Arithmetic::Answer answer =
          limits.decide(1, most, next.phase, &next.debts);
      if (answer.leased < most) return;  // as before, or nothing
      if (scene_.mistakes.charges_first_level) {
        std::copy(state.debts.begin() + 1, state.debts.end(),
                  next.debts.begin() + 1);
      }
      holder.stage = Holder::kGranted;
      holder.units = static_cast<std::int8_t>(answer.leased);
      holder.lasts = static_cast<std::int8_t>(
          scene_.mistakes.lasts_past_window ? longest_ : answer.lasts);
      const char* fault = use(1, &next);
      for (std::size_t level = 0; level < limits.levels(); ++level) {
        holder.paid[level] = static_cast<std::int8_t>(
            next.debts[level] - state.debts[level] - limits.unit_of(level));
        if (holder.paid[level] < 0) fault = "a level is used uncharged";
      }
      visit_sorted({Step::kGrant, static_cast<std::uint8_t>(i),
                    static_cast<std::uint8_t>(most)},
                   next, fault, visit);
    }
  }

  template <typename Visit>
  void use_unit(std::size_t i, State state, const Visit& visit) const {
    Holder& holder = state.holders[i];
    const char* fault = use(1, &state);
    for (std::size_t level = 0; level < store(state).levels(); ++level) {
      holder.paid[level] = static_cast<std::int8_t>(
          holder.paid[level] - store(state).unit_of(level));
      if (holder.paid[level] < 0) fault = "a level is used uncharged";
    }
    --holder.units;
    end_if_over(&state, &holder);
    visit_sorted({Step::kUse, static_cast<std::uint8_t>(i), 1}, state, fault,
                 visit);
  }

  template <typename Visit>
  void fork(std::size_t i, State state, const Visit& visit) const {
    for (std::size_t child = 0; child < scene_.processes; ++child) {
      if (state.holders[child].stage != Holder::kNone) continue;
      state.holders[child] = state.holders[i];
      visit_sorted({Step::kFork, static_cast<std::uint8_t>(i), 0}, state, "",
                   visit);
      return;
    }
  }

  const Scene scene_;
  // Of each version of the limits:
  std::vector<Arithmetic> store_;
  std::vector<Arithmetic> whole_;  // as if nothing were leased
  std::vector<Arithmetic> exact_;  // the same, with the tolerance
  std::int64_t longest_ = 0;       // lease of all versions
};

}  // namespace limitree::model

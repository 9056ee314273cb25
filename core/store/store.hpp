// A store keeps buckets and decides plans against them.
//
// Deciding is one indivisible step: every other caller sees either all charges
// of the plan or none.  Stores have only this rule and judge() in common;
// tests/core/store/store_cases.hpp runs against each of them.
//
// A store may be used from several threads at once.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <vector>

#include "base/inline_vector.hpp"
#include "base/plan.hpp"
#include "base/status.hpp"
#include "base/time.hpp"

namespace limitree {

// How often a failure happened for one reason.
struct ReasonCount {
  const char* reason;  // one word, "timeout"; static storage
  std::int64_t count;
};

// The content and the history of a store.  Zero where a store cannot know.
struct StoreStats {
  // Round trips are counted by their time: bucket i has those of less than
  // kShortestRoundTrip x 2^i, the last bucket all longer ones.
  static constexpr std::size_t kRoundTripBuckets = 16;
  static constexpr Duration kShortestRoundTrip = std::chrono::microseconds(16);

  std::int64_t buckets = 0;            // with a debt
  std::int64_t max_buckets = 0;        // as configured
  std::int64_t bytes = 0;              // taken by buckets
  std::int64_t evictions = 0;          // buckets forgotten to make room
  std::int64_t forgotten_limited = 0;  // of them, those that would deny

  std::array<std::int64_t, kRoundTripBuckets> round_trips{};
  std::int64_t round_trip_ns = 0;  // their sum
  // Units that this process took in leases, and what became of them.
  std::int64_t leased = 0;
  std::int64_t lease_used = 0;
  std::int64_t lease_lost = 0;
  std::int64_t connects = 0;          // connections made, including the first
  std::vector<ReasonCount> troubles;  // with servers, also those retried
  std::vector<ReasonCount> errors;    // calls that failed because of them
};

// The file of a store that several processes share.
struct StoreFile {
  std::string_view path;   // lives as long as the store
  std::int64_t version;    // of its format
  std::int64_t bytes;      // its size; StoreStats::bytes is what it takes
  std::int64_t processes;  // that have it open, this one included
};

// What a client of the host says about a command: see Store::reply().
struct ClientReply {
  // The numbers of LIMITREE_REPLY_... in limitree.h.
  enum class Kind : std::int32_t {
    kText,    // a string
    kOther,   // a value that is not a string
    kError,   // an error of the server; `text` begins with its code
    kLost,    // the client has failed; the command may have been carried out
    kUnsent,  // the same, but the server has not seen it
  };
  Kind kind = Kind::kText;
  std::string_view text;
};

class Store;

// The requests of one event loop that a store has not answered yet.
//
// A store has any number of loops.  Different threads run different loops at
// the same time.  A loop must be destroyed before its store.
class StoreLoop {
 public:
  // Completes what is pending with kCancelled.
  virtual ~StoreLoop() = default;
  StoreLoop(const StoreLoop&) = delete;
  StoreLoop& operator=(const StoreLoop&) = delete;

  // The descriptor that the host watches for reading; -1 if there is none left.
  // From any thread.
  virtual int fd() = 0;

  // To be called when fd() is readable, on one thread at a time.
  virtual void run() = 0;

  // How long a host that does not watch fd() may wait before it calls run();
  // nothing if only a new request or an answer is a reason for that.
  virtual std::optional<Duration> until_run() { return std::nullopt; }

  // Without wake-ups, starting a request does not make the descriptor readable:
  // the caller then has to call run() before the host waits again.
  virtual void set_wakeups(bool on) = 0;

  // The longest time for requests that are started from now on, if that is
  // shorter than what the store gives them.
  virtual void set_time_limit(Duration limit) = 0;

 protected:
  StoreLoop() = default;
};

// When a store that wraps another has passed a plan on, by its clock and by a
// number of its own.
struct Checkpoint {
  Instant at{};
  std::uint64_t generation = 0;
};

// A request that may be answered later, and the code that waits for it.
class Pending {
 public:
  enum class Kind : std::uint8_t { kDecide, kReset };

  virtual ~Pending() = default;
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  Kind kind() const { return kind_; }
  Plan& plan() { return plan_; }

  // The loop that delivers the answer; null if the request never waits.
  StoreLoop* loop() const { return loop_; }

  // A store that wraps another sees the answer before it goes out, in
  // Store::answered().  The wrapper pushed last is called first.
  void push(Store* wrapper, Checkpoint checkpoint) {
    wrappers_.push_back({wrapper, checkpoint});
  }
  void pop() { wrappers_.pop_back(); }

  // The store that answers has to call this exactly once.
  void complete(Status status);

 protected:
  Pending(Kind kind, Operation operation, StoreLoop* loop)
      : kind_(kind), loop_(loop), plan_(operation) {}

 private:
  struct Wrapper {
    Store* store;
    Checkpoint checkpoint;
  };

  // On failure no verdict of the plan is set.  May delete this.
  virtual void finished(Status status) = 0;

  const Kind kind_;
  StoreLoop* const loop_;
  Plan plan_;
  InlineVector<Wrapper, 3> wrappers_;
};

class Store {
 public:
  virtual ~Store() = default;

  // Whether decide() may wait for another machine.  Then the caller must hold
  // nothing that other threads need.
  virtual bool is_remote() const { return false; }

  // Whether other processes can share its buckets.  Then it can also fail.
  virtual bool is_shared() const { return is_remote(); }

  // Whether decide() may wait, for another machine or another process, unless a
  // plan is to be decided at_once.
  bool may_wait() const { return is_shared(); }

  // Carries out plan->operation on all levels in one step: sets their debts
  // and verdicts, and writes the buckets of those that judge() charges.
  //
  // On failure no verdict is set.
  // REQUIRES: plan->levels is not empty, and no bucket is in it twice, except
  // counters whose later levels are marked: see Level::again.
  virtual Status decide(Plan* plan) = 0;

  // A loop for requests that are pending; null if none ever is.
  virtual std::unique_ptr<StoreLoop> new_loop() { return nullptr; }

  // Forgets the buckets of every level: they are full again.  A bucket may be
  // in the plan several times.
  virtual Status reset(const Plan& plan) = 0;

  // decide() or reset(), as the kind of the request says.
  Status run(Pending* pending) {
    return pending->kind() == Pending::Kind::kDecide ? decide(&pending->plan())
                                                     : reset(pending->plan());
  }

  // As run(), but never waits.  Returns true if the request is answered;
  // *status is the outcome.  Otherwise pending->complete() follows exactly
  // once, from run() or the destructor of pending->loop(), which is a loop of
  // this store.
  virtual bool start(Pending* pending, Status* status) {
    *status = run(pending);
    return true;
  }

  // Called in a store that wraps another, with the answer to a request that it
  // passed on.  It may set the verdicts itself.
  virtual Status answered(Pending::Kind /*kind*/, Plan* /*plan*/, Status status,
                          const Checkpoint& /*checkpoint*/) {
    return status;
  }

  // Whether the store answers now.
  virtual Status ping() { return {}; }

  // Takes the answer to a command that a client of the host has sent; false if
  // none waits for it.  From any thread.
  virtual bool reply(std::uint64_t /*token*/, const ClientReply& /*reply*/) {
    return false;
  }

  // The limits have changed: forgets everything derived from earlier answers.
  virtual void limits_changed() {}

  virtual StoreStats stats() = 0;

  // Nothing if the store has no file.
  virtual std::optional<StoreFile> file() { return std::nullopt; }
};

inline void Pending::complete(Status status) {
  while (!wrappers_.empty()) {
    const Wrapper wrapper = wrappers_.back();
    wrappers_.pop_back();
    try {
      status = wrapper.store->answered(kind_, &plan_, std::move(status),
                                       wrapper.checkpoint);
    } catch (const std::bad_alloc&) {
      // It must be answered, and so must those after it.
      status = Status::no_memory();
    }
  }
  finished(std::move(status));
}

}  // namespace limitree

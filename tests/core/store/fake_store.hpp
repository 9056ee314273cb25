// A store over memory that counts calls, and fails or answers later if the test
// wants, in a loop.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <new>

#include "core/store/manual_clock.hpp"
#include "store/memory/memory_store.hpp"
#include "store/store.hpp"

namespace limitree {

class FakeStore final : public Store {
 public:
  explicit FakeStore(ManualClock* clock) : memory(1000, clock->clock()) {}

  // Answers what is in the queue of its store.
  class Loop final : public StoreLoop {
   public:
    explicit Loop(FakeStore* store) : store_(*store) {}
    ~Loop() override {
      while (!store_.queue.empty()) {
        store_.take()->complete(Status(Code::kCancelled, "gone"));
      }
    }
    int fd() override { return 7; }
    void run() override {
      while (!store_.queue.empty()) {
        Pending* const pending = store_.take();
        pending->complete(store_.run(pending));
      }
    }
    void set_wakeups(bool /*on*/) override {}
    void set_time_limit(Duration /*limit*/) override {}

   private:
    FakeStore& store_;
  };

  bool is_remote() const override { return true; }
  Status decide(Plan* plan) override {
    ++asked;
    if (while_asked) while_asked();
    if (!grants) plan->lease.most = 0;
    if (!failure.ok()) return Status(failure.error());
    Status status = memory.decide(plan);
    if (replaced_by != Source::kStore) plan->source = replaced_by;
    return status;
  }
  bool start(Pending* pending, Status* status) override {
    if (answers_later) {
      if (queue.size() == room) throw std::bad_alloc();
      queue.push_back(pending);
      return false;
    }
    *status = run(pending);
    return true;
  }
  std::unique_ptr<StoreLoop> new_loop() override {
    return std::make_unique<Loop>(this);
  }
  Status reset(const Plan& plan) override {
    return failure.ok() ? memory.reset(plan) : Status(failure.error());
  }
  Status ping() override {
    return failure.ok() ? Status() : Status(failure.error());
  }
  StoreStats stats() override { return memory.stats(); }

  Pending* take() {
    Pending* const pending = queue.front();
    queue.pop_front();
    return pending;
  }

  // Every call from now on fails in this way.
  void fail(Code code, const char* reason = "") {
    failure = Status(Error{code, {"no luck"}, reason});
  }

  MemoryStore memory;
  std::atomic<int> asked = 0;
  Status failure;
  std::function<void()> while_asked;
  bool answers_later = false;
  bool grants = true;                   // units of leases
  Source replaced_by = Source::kStore;  // as a guarded store says
  std::deque<Pending*> queue;
  std::size_t room = SIZE_MAX;  // in the queue
};

// A request that receives its answer itself.
class PendingRequest final : public Pending {
 public:
  PendingRequest(Operation operation, const Limit& limit,
                 const std::string& name, Kind kind = Kind::kDecide)
      : Pending(kind, operation, nullptr), name_(name) {
    plan().segments.emplace_back(name_, Segment::Kind::kCaller);
    plan().add_level(&limit, 0u, 1u, 1);
  }

  int answers = 0;
  Status status;

 private:
  void finished(Status told) override {
    ++answers;
    status = std::move(told);
  }

  const std::string name_;
};

}  // namespace limitree

// One request after another to a store, by a thread that waits or by a loop.

#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/plan.hpp"
#include "io/socket.hpp"
#include "store/store.hpp"

namespace limitree::memcached {

// A limit of so many per second, with room for as many.
inline Limit limit_of(std::int64_t count) {
  Limit limit;
  limit.rate = {std::chrono::nanoseconds(1'000'000'000 / count), count};
  return limit;
}

class Asker {
 public:
  explicit Asker(Store* store, bool by_loop)
      : store_(*store), loop_(by_loop ? store->new_loop() : nullptr) {}

  // One request for each of these callers, all or nothing.
  Status ask(const std::vector<std::string>& callers, const Limit& limit,
             bool* limited = nullptr) {
    Status status;
    if (loop_ == nullptr) {
      Plan plan(Operation::kAuthorize);
      fill(&plan, callers, limit);
      status = store_.decide(&plan);
      if (status.ok() && limited != nullptr) *limited = is_limited(plan);
      return status;
    }
    std::optional<Status> answer;
    auto pending = std::make_unique<Request>(loop_.get(), &answer);
    fill(&pending->plan(), callers, limit);
    if (store_.start(pending.get(), &status)) return status;
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!answer.has_value()) {
      wait_for(loop_->fd(), false, end);
      loop_->run();
      if (std::chrono::steady_clock::now() > end) {
        throw std::runtime_error("no answer within a minute");
      }
    }
    if (answer->ok() && limited != nullptr) {
      *limited = is_limited(pending->plan());
    }
    return std::move(*answer);
  }

  // "ok" or the reason of the failure.
  std::string reason(const std::string& caller, const Limit& limit) {
    const Status status = ask({caller}, limit);
    return status.ok() ? "ok" : status.error().reason;
  }

 private:
  class Request final : public Pending {
   public:
    Request(StoreLoop* loop, std::optional<Status>* answer)
        : Pending(Kind::kDecide, Operation::kAuthorize, loop),
          answer_(*answer) {}

   private:
    void finished(Status status) override { answer_ = std::move(status); }

    std::optional<Status>& answer_;
  };

  static void fill(Plan* plan, const std::vector<std::string>& callers,
                   const Limit& limit) {
    for (const std::string& caller : callers) {
      const auto first = static_cast<std::uint32_t>(plan->segments.size());
      plan->segments.emplace_back(caller, Segment::Kind::kCaller);
      plan->add_level(&limit, first, 1u, 1);
    }
  }
  static bool is_limited(const Plan& plan) {
    for (const Level& level : plan.levels) {
      if (level.verdict.limited) return true;
    }
    return false;
  }

  Store& store_;
  const std::unique_ptr<StoreLoop> loop_;
};

}  // namespace limitree::memcached

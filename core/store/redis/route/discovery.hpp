// What the routers share that ask servers where the others are.

#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "store/entropy.hpp"
#include "store/redis/wire/redis_dialog.hpp"
#include "store/remote/route/node_set.hpp"
#include "store/remote/route/router.hpp"

namespace limitree::redis {

// Why no server could tell where the servers are.  Several are asked, and each
// may fail in its own way: the failure that says most is kept.
struct DiscoveryFailure {
  enum class Weight : std::uint8_t {
    kNone,
    kSilence,  // one that was asked did not answer
    kAnswer,   // it answered, but that does not help
    kServer,   // it named a server that cannot be used
  };
  Weight weight = Weight::kNone;
  Failure failure = Failure::kNone;
  std::string where;
  std::string detail;

  // Takes `other` if it says more.
  void improve(DiscoveryFailure other) {
    if (other.weight > weight) *this = std::move(other);
  }

  // Ok if there is none.
  Status status() const {
    if (weight == Weight::kNone) return {};
    return to_status(failure, where, detail);
  }
};

class DiscoveringRouter : public Router {
 public:
  // After a discovery that failed, or found no node for some slots, no other
  // one begins for this time.
  static constexpr Duration kHoldOff = std::chrono::milliseconds(50);

  Status discovery_failure() final {
    const std::lock_guard lock(mutex_);
    return failure_.status();
  }

  void for_each(const std::function<void(Node*)>& visit) final {
    nodes_.for_each(visit);
    sentinel_nodes_.for_each(visit);
  }
  void before_fork() final {
    mutex_.lock();
    nodes_.before_fork();
    sentinel_nodes_.before_fork();
  }
  void after_fork() final {
    sentinel_nodes_.after_fork();
    nodes_.after_fork();
    mutex_.unlock();
  }

 protected:
  class Discovery;

  DiscoveringRouter(const Settings& settings, Traffic* traffic)
      : settings_(settings),
        protocol_(settings.login),
        sentinel_protocol_(settings.sentinel_login),
        nodes_(protocol_, traffic),
        sentinel_nodes_(sentinel_protocol_, traffic) {}

  // The servers that a discovery asks, in this order.  A server that could not
  // be asked, or answered with an error, is asked last from then on.
  virtual std::vector<Endpoint> to_ask() = 0;
  virtual void move_to_back(const Endpoint& asked) = 0;

  // Many processes with one configuration should not all ask the same one.
  template <typename Server>
  static void shuffle(std::vector<Server>* servers) {
    // Not kept: children of fork() would go on alike.
    std::shuffle(servers->begin(), servers->end(),
                 std::minstd_rand{static_cast<std::uint32_t>(random_word())});
  }

  // Whether a server that ends an attempt like this is gone, or has become
  // something else.
  static bool is_gone(Failure failure) {
    switch (failure) {
      case Failure::kReadOnly:
      case Failure::kMasterDown:
      case Failure::kResolve:
      case Failure::kRefused:
      case Failure::kTls:
      case Failure::kLost:
      case Failure::kTimeout:
      case Failure::kBackoff:
        return true;
      default:
        return false;
    }
  }

  bool holds_off() const {
    return steady_now() < hold_until_.load(std::memory_order_relaxed);
  }
  void hold_off_until(Monotonic at) {
    hold_until_.store(at, std::memory_order_relaxed);
  }

  const Settings& settings_;
  const RedisProtocol protocol_;
  const RedisProtocol sentinel_protocol_;
  NodeSet nodes_;
  NodeSet sentinel_nodes_;  // none in a cluster
  std::mutex mutex_;
  DiscoveryFailure failure_;  // guarded by mutex_

 private:
  std::atomic<Monotonic> hold_until_{Monotonic{}};
};

// Asks servers in turn until one has told what is to be known.
class DiscoveringRouter::Discovery : public Task {
 public:
  Step start() final { return ask_next(); }
  Step resumed() final { return {}; }  // it never pauses
  const Target& target() const final { return target_; }

 protected:
  using Weight = DiscoveryFailure::Weight;

  // `sentinels`: those that are asked are sentinels, not nodes.
  Discovery(DiscoveringRouter* router, bool sentinels)
      : router_(*router), sentinels_(sentinels), asked_(router->to_ask()) {}

  // The one that was asked last.
  const Endpoint& asked() const { return asked_[next_ - 1]; }

  Step ask_next() {
    if (next_ < asked_.size()) return send_to(asked_[next_++], sentinels_);
    const bool is_silent = failure_.weight <= Weight::kSilence;
    return is_silent ? nobody_answered() : give_up();
  }
  // What to do when all were asked; may ask_next().
  virtual Step nobody_answered() { return give_up(); }
  Step send_to(const Endpoint& endpoint, bool sentinel) {
    target_.endpoint = endpoint;
    target_.sentinel = sentinel;
    return {Step::Kind::kSend};
  }

  // The one that was asked last has not told it.
  Step pass_over(const Outcome& outcome) {
    router_.move_to_back(asked());
    const bool silent = outcome.fate != Outcome::Fate::kAnswered;
    return pass_over(silent ? Weight::kSilence : Weight::kAnswer, asked(),
                     outcome);
  }
  Step pass_over(Weight weight, const Endpoint& where, const Outcome& outcome) {
    const bool cancelled = outcome.failure == Failure::kCancelled;
    in_time_ &= !cancelled && !is_out_of_time(outcome.failure);
    failure_.improve({weight, outcome.failure, where.text(), outcome.detail});
    tell_failure();
    return cancelled ? give_up() : ask_next();
  }
  Step pass_over(DiscoveryFailure failure) {
    failure_.improve(std::move(failure));
    tell_failure();
    return ask_next();
  }

  Step give_up() {
    if (failure_.weight == Weight::kSilence) {
      failure_.detail += " (none of " + std::to_string(asked_.size()) +
                         (sentinels_ ? " sentinel" : " node") +
                         (asked_.size() == 1 ? "" : "s") + " answers)";
    }
    // One caller's lack of time says nothing about the next caller.
    if (in_time_) router_.hold_off_until(steady_now() + kHoldOff);
    tell_failure();
    return {};
  }

 private:
  // Time may be over before all have been asked.
  void tell_failure() {
    const std::lock_guard lock(router_.mutex_);
    router_.failure_ = failure_;
  }

  DiscoveringRouter& router_;
  const bool sentinels_;
  const std::vector<Endpoint> asked_;
  std::size_t next_ = 0;
  Target target_;
  DiscoveryFailure failure_;
  bool in_time_ = true;  // each one that was asked had enough time
};

}  // namespace limitree::redis

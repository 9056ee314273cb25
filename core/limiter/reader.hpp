// How a request reads what reload() replaces.

#ifndef LIMITREE_LIMITER_READER_HPP
#define LIMITREE_LIMITER_READER_HPP

#include <memory>
#include <utility>

#include "limiter/limiter.hpp"

namespace limitree {

// Holds a stripe, and so the snapshot that is current now.
class Limiter::Reader {
 public:
  explicit Reader(Limiter* limiter)
      : limiter_(*limiter),
        stripe_(&limiter->stripes_.acquire()),
        snapshot_(*limiter->snapshot_.load(std::memory_order_acquire)) {}
  ~Reader() {
    if (stripe_ != nullptr) stripe_->unlock();
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  const Snapshot& snapshot() const { return snapshot_; }

  // Gives the stripe back before something that may take long, and keeps the
  // snapshot.
  void release() {
    if (stripe_ == nullptr) return;
    kept_ = snapshot_.shared_from_this();
    std::exchange(stripe_, nullptr)->unlock();
  }

  // Takes one again, if it was given back.
  Stripe& stripe() {
    if (stripe_ == nullptr) stripe_ = &limiter_.stripes_.acquire();
    return *stripe_;
  }

 private:
  Limiter& limiter_;
  Stripe* stripe_;
  const Snapshot& snapshot_;
  std::shared_ptr<const Snapshot> kept_;
};

}  // namespace limitree

#endif  // LIMITREE_LIMITER_READER_HPP

// How a request reads what reload() replaces.

#ifndef LIMITREE_LIMITER_READER_HPP
#define LIMITREE_LIMITER_READER_HPP

#include "limiter/limiter.hpp"

namespace limitree {

// Holds a stripe, and so the snapshot that is current now.
class Limiter::Reader {
 public:
  explicit Reader(Limiter* limiter)
      : stripe_(limiter->stripes_.acquire()),
        snapshot_(*limiter->snapshot_.load(std::memory_order_acquire)) {}
  ~Reader() { stripe_.unlock(); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Stripe& stripe() { return stripe_; }
  const Snapshot& snapshot() const { return snapshot_; }

 private:
  Stripe& stripe_;
  const Snapshot& snapshot_;
};

}  // namespace limitree

#endif  // LIMITREE_LIMITER_READER_HPP

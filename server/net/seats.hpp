// How many connections a process takes at a time, on all of its threads.

#ifndef LIMITREE_SERVER_NET_SEATS_HPP
#define LIMITREE_SERVER_NET_SEATS_HPP

#include <atomic>
#include <cstddef>
#include <utility>

namespace limitree::server {

class Seats;

// The seat of one connection, or none.
class Seat {
 public:
  Seat() = default;
  Seat(Seat&& other) noexcept : seats_(std::exchange(other.seats_, nullptr)) {}
  Seat& operator=(Seat&& other) noexcept {
    std::swap(seats_, other.seats_);
    return *this;
  }
  inline ~Seat();

  explicit operator bool() const { return seats_ != nullptr; }

 private:
  friend class Seats;
  explicit Seat(Seats* seats) : seats_(seats) {}

  Seats* seats_ = nullptr;
};

// Outlives its seats.
class Seats {
 public:
  explicit Seats(std::size_t count) : count_(count) {}

  std::size_t count() const { return count_; }

  // None if all are taken.
  Seat take() {
    if (taken_.fetch_add(1) < count_) return Seat(this);
    taken_.fetch_sub(1);
    return {};
  }

 private:
  friend class Seat;

  const std::size_t count_;
  std::atomic<std::size_t> taken_ = 0;
};

inline Seat::~Seat() {
  if (seats_ != nullptr) seats_->taken_.fetch_sub(1);
}

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_NET_SEATS_HPP

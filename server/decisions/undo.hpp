// Gives back what was held for clients that have gone, before the answer or
// while it was on its way.

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "decisions/requests.hpp"
#include "decisions/store_loop.hpp"
#include "limitree.h"
#include "net/client_request.hpp"

namespace limitree::server {

// Nobody waits for its answers, and what fails ends with its hold.  Belongs to
// the thread of one loop.
class Undo {
 public:
  // Both outlive this.
  Undo(limitree_limiter* limiter, StoreLoop* store_loop)
      : limiter_(limiter), store_loop_(store_loop) {}

  // A reservation.
  void cancel(const std::string& receipt);
  // A request of Envoy.
  void settle(limitree_envoy_request asked);

 private:
  limitree_limiter* limiter_;
  StoreLoop* store_loop_;
};

// A request of Envoy, which it reads again.
class EnvoyRollback final : public Rollback {
 public:
  // `list` outlives this; it has the request now.
  EnvoyRollback(std::weak_ptr<Undo> undo, DescriptorList* list)
      : undo_(std::move(undo)), list_(list) {
    if (list->source().size() <= kMostKept) source_ = list->source();
  }

  void run() override;
  std::size_t bytes() const override { return sizeof *this + source_.size(); }

 private:
  // Envoy sends less; what a larger request holds ends by itself.
  static constexpr std::size_t kMostKept = std::size_t{64} * 1024;

  std::weak_ptr<Undo> undo_;
  DescriptorList* list_;
  std::string source_;
};

class ReceiptRollback final : public Rollback {
 public:
  ReceiptRollback(std::weak_ptr<Undo> undo, std::string receipt)
      : undo_(std::move(undo)), receipt_(std::move(receipt)) {}

  void run() override;
  std::size_t bytes() const override { return sizeof *this + receipt_.size(); }

 private:
  std::weak_ptr<Undo> undo_;
  std::string receipt_;
};

}  // namespace limitree::server

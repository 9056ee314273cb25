// The base of stores that wrap another: passes on what they do not change.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "store/store.hpp"

namespace limitree {

class StoreDecorator : public Store {
 public:
  bool is_remote() const override { return store_->is_remote(); }
  bool is_shared() const override { return store_->is_shared(); }
  std::unique_ptr<StoreLoop> new_loop() override { return store_->new_loop(); }
  Status ping() override { return store_->ping(); }
  void limits_changed() override { store_->limits_changed(); }
  StoreStats stats() override { return store_->stats(); }
  bool reply(std::uint64_t token, const ClientReply& reply) override {
    return store_->reply(token, reply);
  }
  std::optional<StoreFile> file() override { return store_->file(); }

 protected:
  explicit StoreDecorator(std::unique_ptr<Store> store)
      : store_(std::move(store)) {}

  // start() in the store that this one wraps; its answer goes to answered().
  bool pass_on(Pending* pending, const Checkpoint& checkpoint, Status* status) {
    pending->push(this, checkpoint);
    if (!store_->start(pending, status)) return false;
    pending->pop();
    *status = answered(pending->kind(), &pending->plan(), std::move(*status),
                       checkpoint);
    return true;
  }

  const std::unique_ptr<Store> store_;
};

}  // namespace limitree

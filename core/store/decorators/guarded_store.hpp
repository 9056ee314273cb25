// What happens to a request when its store fails: the option on_store_error.
//
//   raise   the caller gets the error
//   allow   as if every bucket were full; nothing is charged
//   deny    as if every bucket were empty, until one second from now
//   local   decided in this process's memory, by its share of the limits
//
// A request is never sent again: after a timeout it may have been charged, and
// is decided here as well.

#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "store/decorators/outage_log.hpp"
#include "store/decorators/store_decorator.hpp"
#include "store/store.hpp"

namespace limitree {

class GuardedStore final : public StoreDecorator {
 public:
  // The wait that OnStoreError::kDeny reports.
  static constexpr Duration kDenyWait = std::chrono::seconds(1);

  // How the log reports the store.
  struct Logging {
    std::string name;
    LogFunction log;  // may be empty
    Clock clock;
  };

  // `local` decides for OnStoreError::kLocal, by plan->local_limits.  It is
  // null for the other options.
  GuardedStore(std::unique_ptr<Store> store, OnStoreError on_error,
               std::unique_ptr<Store> local, Logging logging = {})
      : StoreDecorator(std::move(store)),
        local_(std::move(local)),
        on_error_(on_error),
        log_(std::move(logging.name), on_error, std::move(logging.log),
             logging.clock) {}

  // Fails only under OnStoreError::kRaise, or if the store is not the cause.
  Status decide(Plan* plan) override;
  // Nothing can replace a reset or a ping: they report every failure.
  Status reset(const Plan& plan) override;
  Status ping() override;
  bool start(Pending* pending, Status* status) override;
  Status answered(Pending::Kind kind, Plan* plan, Status status,
                  const Checkpoint& /*checkpoint*/) override {
    if (kind == Pending::Kind::kReset) return counted(std::move(status));
    if (status.ok()) [[likely]] {
      if (log_.is_away()) [[unlikely]]
        log_.answered();
      return status;
    }
    return failed(plan, std::move(status));
  }
  StoreStats stats() override;

 private:
  Status failed(Plan* plan, Status status);
  Status replaced(Plan* plan, Status status);
  Status reset_local(const Plan& plan);
  Status counted(Status status);

  const std::unique_ptr<Store> local_;
  const OnStoreError on_error_;
  OutageLog log_;
};

}  // namespace limitree

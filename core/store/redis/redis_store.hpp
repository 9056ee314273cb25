// Buckets in Redis, shared by every process that uses the same server.
//
// Nothing is connected before the first call, and nothing at all if a client of
// the host sends the commands.  A call takes one round trip,
// waits no longer than settings.timeout, and is never sent again once its
// outcome is unknown.  The child of a fork() makes connections of its own.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "store/clock.hpp"
#include "store/fork_guard.hpp"
#include "store/redis/common/settings.hpp"
#include "store/redis/script/call.hpp"
#include "store/remote/common/traffic.hpp"
#include "store/remote/drivers/blocking_driver.hpp"
#include "store/remote/route/router.hpp"
#include "store/store.hpp"

namespace limitree::remote {

class AsyncTask;  // drivers/task_loop.hpp
class Client;

}  // namespace limitree::remote

namespace limitree::redis {

class PlainTask;

class RedisStore final : public Store, private ForkGuard {
 public:
  // Decides at the instants of `clock`, or of the server if it is null.
  RedisStore(Settings settings, std::optional<Clock> clock);
  ~RedisStore() override;

  bool is_remote() const override { return true; }
  Status decide(Plan* plan) override;
  std::unique_ptr<StoreLoop> new_loop() override;
  Status reset(const Plan& plan) override;
  bool start(Pending* pending, Status* status) override;
  Status ping() override;
  StoreStats stats() override { return traffic_.stats(); }
  bool reply(std::uint64_t token, const ClientReply& reply) override;

 private:
  class Ticket;
  class RequestTicket;
  class DecideTicket;
  class ResetTicket;
  class Split;

  static void complete(std::span<std::unique_ptr<AsyncTask>> tasks);
  void add_resets(const Plan& plan, PlainTask* task) const;
  Now now() const;
  void before_fork() override;
  void after_fork() override;
  void after_fork_in_child() override;

  const Settings settings_;
  const std::optional<Clock> clock_;
  Traffic traffic_;
  const std::unique_ptr<Router> router_;
  const std::unique_ptr<remote::Client> client_;  // null: own connections
  BlockingDriver driver_;
};

}  // namespace limitree::redis

// Buckets in memcached, shared by every process that uses the same servers.
//
// Nothing is connected before the first call.  A denial takes one round trip,
// an admission two, and more if others charge the same caller at the same time.
// The clock is that of this process, or later: see decision.hpp.  The child of
// a fork() makes connections of its own.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "io/endpoint.hpp"
#include "store/clock.hpp"
#include "store/fork_guard.hpp"
#include "store/memcached/memcached_dialog.hpp"
#include "store/memcached/servers.hpp"
#include "store/memcached/settings.hpp"
#include "store/memcached/turns.hpp"
#include "store/remote/common/traffic.hpp"
#include "store/remote/drivers/blocking_driver.hpp"
#include "store/store.hpp"

namespace limitree::memcached {

struct Context;  // decision.hpp
class DecideTask;

class MemcachedStore final : public Store, private ForkGuard {
 public:
  MemcachedStore(Settings settings, Clock clock);
  ~MemcachedStore() override;

  // Replaces the servers of the URL.  Buckets whose server changes start full
  // again.  False if nothing has changed: the list is empty, or there have been
  // too many.  From any thread.
  bool set_servers(const std::vector<Endpoint>& servers) {
    return servers_.set(servers);
  }

  bool is_remote() const override { return true; }
  Status decide(Plan* plan) override;
  std::unique_ptr<StoreLoop> new_loop() override;
  Status reset(const Plan& plan) override;
  bool start(Pending* pending, Status* status) override;
  Status ping() override;
  StoreStats stats() override { return traffic_.stats(); }

 private:
  Context context();
  Status run_task(DecideTask* task);
  void before_fork() override;
  void after_fork() override;
  void after_fork_in_child() override;

  const Settings settings_;
  const Clock clock_;
  const std::uint64_t writer_;
  remote::Traffic traffic_;
  const MemcachedProtocol protocol_;
  Servers servers_;
  remote::BlockingDriver driver_;
  Turns turns_;
};

}  // namespace limitree::memcached

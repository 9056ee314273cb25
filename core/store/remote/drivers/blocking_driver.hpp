// Drives tasks for callers that block.

#pragma once

#include <array>
#include <mutex>

#include "store/remote/common/settings.hpp"
#include "store/remote/drivers/client.hpp"
#include "store/remote/drivers/connection_pool.hpp"
#include "store/remote/route/router.hpp"
#include "store/remote/route/task.hpp"

namespace limitree::remote {

// May be used from several threads at once.
class BlockingDriver {
 public:
  // Everything must outlive it.  With a client that sends all commands.
  BlockingDriver(Router* router, const Settings& settings,
                 Client* client = nullptr)
      : router_(router), settings_(settings), client_(client) {}
  BlockingDriver(const BlockingDriver&) = delete;
  BlockingDriver& operator=(const BlockingDriver&) = delete;

  // Carries `task` through to its end, which comes within `timeout`, or later
  // by as much as this thread could not run.  The task keeps the result.
  //
  // Where no server is known, the first caller asks and the others wait for it.
  void run(Task* task, Duration timeout);

  // Around fork(): takes and releases its lock and those of its connections.
  // REQUIRES: the router has been locked before, and is released after.
  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();

 private:
  struct Waiting;

  // Of one part of the router.
  struct Discovery {
    bool under_way = false;
    Waiting* waiting = nullptr;  // for the caller that discovers: a list
  };

  ConnectionPool& pool_of(Node* node);
  Outcome send(Task* task, Patience* patience);
  Node* find(const Target& target, Patience* patience);
  bool discover(const Target& target, Patience* patience);
  bool lead(const Target& target, Patience* patience);
  bool follow(Discovery* discovery, Waiting* me, Patience* patience);
  bool run_discovery(Router* part, Patience* patience);
  Discovery& discovery_of(const Target& target) {
    return discoveries_[target.per_second ? 1 : 0];
  }
  void check(Node* node);
  void for_each_pool(void (ConnectionPool::*call)());

  Router* const router_;
  const Settings& settings_;
  Client* const client_;  // may be null
  std::mutex mutex_;
  std::array<Discovery, 2> discoveries_;  // guarded by mutex_
};

}  // namespace limitree::remote

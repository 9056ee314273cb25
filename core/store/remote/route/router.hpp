// Which server a command goes to.
//
// One implementation for each topology.  May be used from several threads at
// once.  It does no I/O itself: where it does not know, it hands out a task
// that asks, and the caller's driver carries that out.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/status.hpp"
#include "store/remote/common/node.hpp"
#include "store/remote/common/settings.hpp"
#include "store/remote/route/task.hpp"

namespace limitree::remote {

class Router {
 public:
  virtual ~Router() = default;

  // The node for `target`, or null if discovery() has to be carried out first.
  // Nodes are made on demand and stay as long as the router.
  virtual Node* route(const Target& target) = 0;

  // A task that finds out where the servers are and tells the router; null if
  // there is nothing to find out (a single server), or if no server could tell
  // a moment ago.  Several may be under way.  It ends when it has learnt enough
  // or when no server could tell: then discovery_failure() says why.
  //
  // Its targets name endpoints: route() has a node for each.  The router must
  // outlive it.
  virtual std::unique_ptr<Task> discovery() { return nullptr; }
  virtual Status discovery_failure() { return {}; }

  // A command to send now and then, without waiting for its answer, to see that
  // the servers still have the roles that we expect.  To be called after each
  // decision of `node`.  The command may be for another node, a sentinel: the
  // connection to that one may be made, and read from, bit by bit as further
  // checks are sent.
  struct Check {
    Node* node = nullptr;    // null: none is due
    std::string_view bytes;  // as long as the router
  };
  virtual Check check_due(Node* /*node*/, Monotonic /*now*/) { return {}; }

  // Takes the answer to a check of `node`.  A check without an answer needs no
  // call.
  virtual void checked(Node* /*node*/, const Outcome& /*outcome*/) {}

  // The router whose discovery() finds the servers for `target`.
  virtual Router* part(const Target& /*target*/) { return this; }

  // The settings of connections to `node`, which are those of the store except
  // where there are several parts.
  virtual const Settings& settings_of(const Node* /*node*/,
                                      const Settings& of_store) const {
    return of_store;  // NOLINT: it outlives the router
  }

  // Takes what an outcome says about the topology: MOVED <slot> <endpoint>,
  // READONLY, a lost connection.  Returns whether the command may find its
  // place if it is routed again.
  virtual bool learn(Node* node, const Target& target,
                     const Outcome& outcome) = 0;

  // Calls `visit` with every node there is: fork, statistics, closing.  Takes
  // no lock, and none is added between before_fork() and after_fork().
  virtual void for_each(const std::function<void(Node*)>& visit) = 0;

  // Around fork(): the router's own lock.
  virtual void before_fork() {}
  virtual void after_fork() {}

  // Keys of one slot are decided together.  Always 0 where there are no slots.
  virtual std::int32_t slot_of(std::string_view /*key*/) const { return 0; }
};

}  // namespace limitree::remote

// A Redis Cluster of three primaries with a replica each.

#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/store/redis/redis_server.hpp"

namespace limitree::redis {

class ClusterFixture {
 public:
  static constexpr int kPrimaries = 3;
  static constexpr int kNodes = 6;

  // Nodes 0, 1 and 2 serve a third of the slots each.  Nodes 3, 4 and 5 are
  // their replicas, in that order.  `config` has further configuration lines
  // for all nodes.  Returns when every node reports a healthy cluster, which
  // takes some seconds.  Throws std::runtime_error if it takes too long.
  explicit ClusterFixture(std::vector<std::string> config = {});

  RedisServer& node(int i) { return *nodes_.at(static_cast<std::size_t>(i)); }

  // redis+cluster:// with all nodes.
  std::string url() const;

  // The node that serves `slot`, as the first running node sees it; -1 if none
  // does.  To make a node hang, use suspend() below, or this would ask it.
  int owner(int slot) const;

  // Waits until a node other than `old` serves `slot` and the cluster is
  // healthy.
  int await_owner(int slot, int old) const;

  // The steps of moving a slot, one key at a time.  In between, keys are on
  // both nodes, and commands get ASK, or TRYAGAIN if they name several keys.
  void begin_move(int slot, int to);
  bool move_key(int slot);  // false if there are no more
  void end_move(int slot);
  void move(int slot, int to);  // all steps

  void suspend(int node);
  void resume(int node);

 private:
  struct Move {
    int slot;
    int from;
    int to;
  };

  void join();
  bool is_up(int node) const;
  bool is_well(int node) const;
  const Move& move_of(int slot) const;

  std::array<std::unique_ptr<RedisServer>, kNodes> nodes_;
  std::array<std::string, kNodes> ids_;
  std::array<bool, kNodes> suspended_{};
  std::vector<Move> moves_;
};

}  // namespace limitree::redis

#include "core/store/redis/topology/cluster_fixture.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

#include "core/store/redis/await.hpp"

namespace limitree::redis {

namespace {

constexpr int kSlotCount = 16384;

int first_slot(int primary) {
  return kSlotCount * primary / ClusterFixture::kPrimaries;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void run(const RedisServer& node, const std::vector<std::string>& words) {
  const std::string answer = node.cli(words);
  if (answer == "OK") return;
  std::string command;
  for (const std::string& word : words) command += word + " ";
  throw std::runtime_error(command + "-> " + answer);
}

}  // namespace

ClusterFixture::ClusterFixture(std::vector<std::string> config) {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    RedisServerOptions options;
    options.config = {"cluster-enabled yes", "cluster-node-timeout 1500",
                      // A replica may lose some elections on a busy machine.
                      "cluster-replica-validity-factor 0",
                      "repl-diskless-sync-delay 0",
                      "repl-ping-replica-period 1"};
    options.config.insert(options.config.end(), config.begin(), config.end());
    nodes_[i] = std::make_unique<RedisServer>(std::move(options));
    ids_[i] = nodes_[i]->cli({"CLUSTER", "MYID"});
  }
  join();
}

void ClusterFixture::join() {
  for (int i = 0; i < kNodes; ++i) {
    // Each node gets its own epoch, because nodes with the same epoch would
    // have to resolve that first.
    run(node(i), {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
    if (i > 0) {
      run(node(0),
          {"CLUSTER", "MEET", "127.0.0.1", std::to_string(node(i).port())});
    }
    if (i < kPrimaries) {
      run(node(i), {"CLUSTER", "ADDSLOTSRANGE", std::to_string(first_slot(i)),
                    std::to_string(first_slot(i + 1) - 1)});
    }
  }
  for (int i = 0; i < kNodes; ++i) {
    await("nodes that know each other", [&] {
      return contains(node(i).cli({"CLUSTER", "INFO"}),
                      "cluster_known_nodes:" + std::to_string(kNodes));
    });
  }
  for (int i = kPrimaries; i < kNodes; ++i) {
    const std::string primary = ids_[static_cast<std::size_t>(i - kPrimaries)];
    await("a replica", [&] {
      return node(i).cli({"CLUSTER", "REPLICATE", primary}) == "OK";
    });
  }
  for (int i = 0; i < kNodes; ++i) {
    await("a healthy cluster", [&] { return is_well(i); });
    if (i < kPrimaries) continue;
    await("a replica that is up to date", [&] {
      return contains(node(i).cli({"INFO", "replication"}),
                      "master_link_status:up");
    });
  }
  // A replica is promoted only if the other nodes know it.
  for (int i = 0; i < kNodes; ++i) {
    await("replicas that are known", [&] {
      const std::string map = node(i).cli({"CLUSTER", "SLOTS"});
      return std::all_of(ids_.begin(), ids_.end(), [&](const std::string& id) {
        return contains(map, id);
      });
    });
  }
}

std::string ClusterFixture::url() const {
  std::string url = "redis+cluster://";
  for (const std::unique_ptr<RedisServer>& node : nodes_) {
    url += "127.0.0.1:" + std::to_string(node->port()) + ",";
  }
  url.pop_back();
  return url;
}

bool ClusterFixture::is_up(int i) const {
  const auto index = static_cast<std::size_t>(i);
  return nodes_.at(index)->pid() != 0 && !suspended_.at(index);
}

bool ClusterFixture::is_well(int i) const {
  return contains(
      nodes_.at(static_cast<std::size_t>(i))->cli({"CLUSTER", "INFO"}),
      "cluster_state:ok");
}

int ClusterFixture::owner(int slot) const {
  for (int i = 0; i < kNodes; ++i) {
    if (!is_up(i)) continue;
    const RedisServer::Reply map =
        nodes_[static_cast<std::size_t>(i)]->command({"CLUSTER", "SLOTS"});
    for (const redisReply* range : std::span(map->element, map->elements)) {
      if (slot < range->element[0]->integer ||
          slot > range->element[1]->integer) {
        continue;
      }
      const std::string id = range->element[2]->element[2]->str;
      return static_cast<int>(std::find(ids_.begin(), ids_.end(), id) -
                              ids_.begin());
    }
    return -1;
  }
  return -1;
}

int ClusterFixture::await_owner(int slot, int old) const {
  int found = -1;
  await("another owner", [&] {
    found = owner(slot);
    if (found < 0 || found == old || !is_up(found)) return false;
    for (int i = 0; i < kNodes; ++i) {
      if (is_up(i) && !is_well(i)) return false;
    }
    return true;
  });
  return found;
}

void ClusterFixture::begin_move(int slot, int to) {
  const Move move{slot, owner(slot), to};
  const std::string number = std::to_string(slot);
  const auto& id_of = [this](int i) {
    return ids_.at(static_cast<std::size_t>(i));
  };
  run(node(to), {"CLUSTER", "SETSLOT", number, "IMPORTING", id_of(move.from)});
  run(node(move.from), {"CLUSTER", "SETSLOT", number, "MIGRATING", id_of(to)});
  moves_.push_back(move);
}

const ClusterFixture::Move& ClusterFixture::move_of(int slot) const {
  const auto it = std::find_if(moves_.begin(), moves_.end(),
                               [=](const Move& m) { return m.slot == slot; });
  if (it == moves_.end()) throw std::runtime_error("the slot is not moving");
  return *it;
}

bool ClusterFixture::move_key(int slot) {
  const Move& move = move_of(slot);
  const RedisServer::Reply keys = node(move.from).command(
      {"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), "1"});
  if (keys->elements == 0) return false;
  const std::string key(keys->element[0]->str, keys->element[0]->len);
  const std::string answer = node(move.from).cli(
      {"MIGRATE", "127.0.0.1", std::to_string(node(move.to).port()), "", "0",
       "10000", "AUTH2", "fixture", "any", "KEYS", key});
  // NOKEY: the key has expired in the meantime.
  if (answer != "OK" && answer != "NOKEY") throw std::runtime_error(answer);
  return true;
}

void ClusterFixture::end_move(int slot) {
  const Move move = move_of(slot);
  std::erase_if(moves_, [=](const Move& m) { return m.slot == slot; });
  const std::string id = ids_.at(static_cast<std::size_t>(move.to));
  const std::vector<std::string> command = {"CLUSTER", "SETSLOT",
                                            std::to_string(slot), "NODE", id};
  // The new owner is told first.  Otherwise another node could redirect to it
  // while it still denies that it owns the slot.
  run(node(move.to), command);
  run(node(move.from), command);
  for (int i = 0; i < kPrimaries; ++i) {
    if (i != move.to && i != move.from && is_up(i)) run(node(i), command);
  }
}

void ClusterFixture::move(int slot, int to) {
  begin_move(slot, to);
  while (move_key(slot)) {
  }
  end_move(slot);
}

void ClusterFixture::suspend(int i) {
  node(i).suspend();
  suspended_.at(static_cast<std::size_t>(i)) = true;
}

void ClusterFixture::resume(int i) {
  suspended_.at(static_cast<std::size_t>(i)) = false;
  node(i).resume();
}

}  // namespace limitree::redis

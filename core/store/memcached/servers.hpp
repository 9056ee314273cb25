// The servers of a memcached store, and which of them has a key.
//
// Rendezvous hashing: of all servers, that with the highest score for the key.
// So the order of the list does not matter, and when a server comes or goes
// only its own keys move.  A server is known by its text, "host:port".
//
//   hash(bytes) = mix(FNV-1a of the bytes, 64 bits)
//   score       = mix(hash(key) ^ hash(server))
//   mix         = the last steps of MurmurHash3: see servers.cpp

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "io/endpoint.hpp"
#include "io/srv.hpp"
#include "io/timer.hpp"
#include "store/remote/common/traffic.hpp"
#include "store/remote/route/node_set.hpp"
#include "store/remote/route/router.hpp"
#include "store/remote/wire/dialog.hpp"

namespace limitree::memcached {

class Servers final : public remote::Router {
 public:
  // Everything must outlive it.
  Servers(const remote::Protocol& protocol, remote::Traffic* traffic)
      : nodes_(protocol, traffic) {}

  // Replaces the list.  False if that is not possible: it is empty, or there
  // have been too many different servers or lists.  From any thread.
  bool set(const std::vector<Endpoint>& endpoints);

  // From now on the list is that of a name: see SrvServers.  Before any
  // request.
  void follow(std::string name, Duration refresh);
  // Brings it up to date, without waiting.
  void look(Monotonic now) {
    if (srv_ != nullptr) srv_->look(now);
  }
  // Whether look() may soon know the first servers; else *why is why not.
  bool is_awaited(std::string* why);

  // Waits for them, no longer than that.
  bool wait(Monotonic deadline, std::string* why);

  // The server that has `key`; null if none is known.
  remote::Node* of(std::string_view key) const;

  // All servers of the list.
  std::vector<remote::Node*> all() const;

  // Targets have their nodes.
  remote::Node* route(const remote::Target& target) override {
    return target.node;
  }
  bool learn(remote::Node* /*node*/, const remote::Target& /*target*/,
             const remote::Outcome& /*outcome*/) override {
    return false;
  }
  void for_each(const std::function<void(remote::Node*)>& visit) override {
    nodes_.for_each(visit);
  }
  void before_fork() override;
  void after_fork() override;
  void after_fork_in_child();

 private:
  struct Server {
    remote::Node* node;
    std::uint64_t hash;

    friend bool operator==(const Server&, const Server&) = default;
  };
  using List = std::vector<Server>;

  // Lists stay, because callers hold bare pointers to them; equal ones are used
  // again.
  static constexpr std::size_t kMaxLists = 1024;

  std::unique_ptr<SrvServers> srv_;  // null if no name is followed
  std::string name_;                 // that one
  remote::NodeSet nodes_;
  std::atomic<const List*> list_{nullptr};
  std::mutex mutex_;
  std::list<List> lists_;  // guarded by mutex_
};

}  // namespace limitree::memcached

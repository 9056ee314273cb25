// Stands for another host: a network namespace, connected to ours by a virtual
// cable that a test can cut.

#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace limitree::redis {

class TestNetwork {
 public:
  ~TestNetwork() {
    run("ip link del " + cable());
    run("ip netns del " + name());
  }

  // Returns false if this process may not create namespaces.
  bool make() {
    return run("ip netns add " + name()) &&
           run("ip link add " + cable() + " type veth peer name " + name()) &&
           run("ip link set " + name() + " netns " + name()) &&
           run("ip addr add " + address(1) + "/30 dev " + cable()) &&
           run("ip link set " + cable() + " up") &&
           run(there("ip addr add " + address(2) + "/30 dev " + name())) &&
           run(there("ip link set " + name() + " up")) &&
           run(there("ip link set lo up"));
  }

  // Packets vanish in both directions, and neither side gets an error.
  void cut() { run(there("ip link set " + name() + " down")); }
  void join() { run(there("ip link set " + name() + " up")); }

  std::string name() const { return "limitree" + id_; }
  std::string host() const { return address(2); }

 private:
  static bool run(const std::string& command) {
    return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
  }

  std::string there(const std::string& command) const {
    return "ip netns exec " + name() + " " + command;
  }
  std::string cable() const { return "cable" + id_; }

  // Each process has its own network of four addresses.  The ends are 1 and 2.
  static std::string address(int end) {
    const int id = getpid() % 16384;
    return "10.213." + std::to_string(id / 64) + "." +
           std::to_string(id % 64 * 4 + end);
  }

  const std::string id_ = std::to_string(getpid() % 16384);
};

}  // namespace limitree::redis

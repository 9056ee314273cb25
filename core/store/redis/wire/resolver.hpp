// From an endpoint to the addresses to connect to, without waiting.
//
// Numeric addresses and Unix sockets are known at once.  A name is looked up by
// a thread that lives no longer than the look-up, for the system's resolver
// cannot be told to be quick.  Nothing is remembered: each connection asks anew
// and so follows a name that has moved.

#ifndef LIMITREE_STORE_REDIS_WIRE_RESOLVER_HPP
#define LIMITREE_STORE_REDIS_WIRE_RESOLVER_HPP

#include <memory>
#include <string>
#include <vector>

#include "store/redis/facts/url.hpp"
#include "store/redis/wire/socket.hpp"

namespace limitree::redis {

class Resolver {
 public:
  // Look-ups of this process that may be under way at once.  Where names are
  // not answered, each attempt to connect leaves one behind for a while.
  static constexpr int kMaxThreads = 32;

  explicit Resolver(const Endpoint& endpoint);

  // A look-up under way ends by itself, and is heard by nobody.
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // Readable once done(); -1 if it was done from the start.
  int fd() const;

  // Whether addresses() or detail() is there.  Does not wait.
  bool done();

  // In the order of preference of the system; empty if there is a detail().
  const std::vector<SocketAddress>& addresses() const { return addresses_; }
  const std::string& detail() const { return detail_; }

  // In the child of a fork(): the thread is the parent's.  Closes fd().
  void abandon_after_fork();

 private:
  struct Lookup;

  void start_lookup(const Endpoint& endpoint);

  std::shared_ptr<Lookup> lookup_;  // null if done
  std::vector<SocketAddress> addresses_;
  std::string detail_;
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_WIRE_RESOLVER_HPP

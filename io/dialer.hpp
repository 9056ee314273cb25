// From an endpoint to a connected socket, without waiting: looks up the name
// and tries its addresses, of both families, one after the other.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/endpoint.hpp"
#include "io/fd.hpp"
#include "io/poller.hpp"
#include "io/socket.hpp"

namespace limitree {

// Appends the addresses of a host for sockets of `type`, such as SOCK_STREAM,
// in the order of preference of the system.  Waits for name servers, unless
// `flags` has AI_NUMERICHOST.  Returns why there are none; "" otherwise.
std::string look_up(const Endpoint& endpoint, int type, int flags,
                    std::vector<SocketAddress>* addresses);

// From an endpoint to the addresses to connect to, without waiting.
//
// Numeric addresses and Unix sockets are known at once.  Names take a Lookup,
// and wait for one while too many are under way: many loops may connect to one
// server at the same time.
// Nothing is cached: each connection looks the name up again, and so
// follows a name that has moved.
class Resolver {
 public:
  explicit Resolver(const Endpoint& endpoint);

  // A look-up under way ends by itself, and its answer is dropped.
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
  struct Addresses;

  void start_lookup();

  std::shared_ptr<Addresses> lookup_;  // null if done
  std::optional<Poller> room_;         // if it has not begun: for the next try
  std::vector<SocketAddress> addresses_;
  std::string detail_;
};

class Dialer {
 public:
  // `first_address` is the index of the address to try first, modulo their
  // number: a caller that was connected and not served passes another one.
  explicit Dialer(const Endpoint& endpoint, std::size_t first_address = 0);

  // Gives up an attempt that has not ended.
  ~Dialer();
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;

  // What to watch, for reading or for writing, before the next run().
  int fd() const;
  bool wants_write() const { return state_ == State::kConnecting; }

  void run();

  // The socket, once it is connected; the caller then owns it.  None before
  // that.
  Fd take_socket();

  bool connected() const { return state_ == State::kConnected; }
  bool failed() const { return state_ == State::kFailed; }
  // If it failed: whether an address was found, and what is wrong.
  bool has_address() const { return !addresses_.empty(); }
  const std::string& detail() const { return detail_; }

  // In the child of a fork(): attempts under way belong to the parent.
  void abandon_after_fork();

 private:
  enum class State : std::uint8_t {
    kResolving,
    kConnecting,
    kConnected,
    kFailed,
  };

  void resolve();
  void check();
  void try_next(int error);
  void fail(std::string detail);

  State state_ = State::kResolving;
  std::optional<Resolver> resolver_;  // while resolving
  std::vector<SocketAddress> addresses_;
  const std::size_t first_address_;
  std::size_t skip_ = 0;   // so many addresses from there on
  std::size_t tried_ = 0;  // how many of them have been
  Fd socket_;
  std::string detail_;
};

}  // namespace limitree

// From an endpoint to a connected socket, without waiting: looks up the name
// and tries its addresses, of both families, one after the other.

#ifndef LIMITREE_STORE_REDIS_WIRE_DIALER_HPP
#define LIMITREE_STORE_REDIS_WIRE_DIALER_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/redis/facts/failure.hpp"
#include "store/redis/facts/url.hpp"
#include "store/redis/wire/resolver.hpp"
#include "store/redis/wire/socket.hpp"

namespace limitree::redis {

class Dialer {
 public:
  explicit Dialer(const Endpoint& endpoint);

  // Gives up what has not come to an end.
  ~Dialer();
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;

  // What to watch, for reading or for writing, before the next run().
  int fd() const;
  bool wants_write() const { return state_ == State::kConnecting; }

  void run();

  // The socket, once it is connected, which is the caller's from then on; -1
  // before that.
  int take_socket();

  bool failed() const { return state_ == State::kFailed; }
  Failure failure() const { return failure_; }
  const std::string& detail() const { return detail_; }

  // In the child of a fork(): what is under way is the parent's.
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
  void fail(Failure failure, std::string detail);
  void close_socket();

  State state_ = State::kResolving;
  std::optional<Resolver> resolver_;  // while resolving
  std::vector<SocketAddress> addresses_;
  std::size_t first_ = 0;  // of addresses_, from which on they are tried
  std::size_t tried_ = 0;  // how many of them have been
  int socket_ = -1;
  Failure failure_ = Failure::kNone;
  std::string detail_;
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_WIRE_DIALER_HPP

// Takes the connections of one listening socket.

#ifndef LIMITREE_SERVER_ACCEPTOR_HPP
#define LIMITREE_SERVER_ACCEPTOR_HPP

#include <cstdint>
#include <functional>
#include <string>

#include "io/fd.hpp"
#include "io/loop.hpp"
#include "io/permits.hpp"

namespace limitree::server {

class Acceptor final : public Watcher {
 public:
  using OnConnection = std::function<void(Fd, Permit)>;

  // Closes connections for which there is no permit.  `permits` may be null:
  // then there is no limit.
  Acceptor(Loop* loop, Fd listener, Permits* permits,
           OnConnection on_connection);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Lets no more connections begin; those that have are still taken.
  void stop_connections();
  // Takes all connections that are waiting.
  void accept_all();
  void on_ready(std::uint32_t events) override;

 private:
  bool accept_one();
  void take(Fd fd);
  void complain(const std::string& about);
  void pause();
  void resume();

  Loop* loop_;
  Fd listener_;
  Permits* permits_;
  OnConnection on_connection_;
  Timer resume_;
  Monotonic quiet_until_{};
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_ACCEPTOR_HPP

// The connections of one loop: its listening sockets, and its clients.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/fd.hpp"
#include "io/loop.hpp"
#include "io/tls_context.hpp"
#include "net/connection.hpp"
#include "net/permits.hpp"

namespace limitree::server {

// Takes the connections of one listening socket.
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

// Belongs to the thread of its loop.
class ConnectionSet final : public ConnectionOwner {
 public:
  // The objects that are passed by pointer outlive this.  `permits` may be
  // null.  `on_empty` is called when a connection has gone and none is left.
  ConnectionSet(Loop* loop, const ConnectionSettings* settings,
                Permits* permits, std::function<void()> on_empty);

  // `make` makes the protocol of a connection.  With `tls`, the protocol runs
  // over TLS, with the context of set_tls().
  void listen(Fd listener, const Access& access, MakeProtocol make,
              std::optional<TlsProtocol> tls = {});
  void set_tls(std::shared_ptr<const TlsContext> tls) { tls_ = std::move(tls); }
  // One more than `count` connections takes the place of the one that has been
  // silent for longest.
  void set_most(std::size_t count) { most_ = count; }
  bool has_tls() const { return tls_ != nullptr; }

  // Lets no more connections begin; those that have are still taken.
  void stop_connections();
  // Takes no more connections, and asks all clients to leave.
  void shut_down(Duration grace);
  // Closes everything at once.
  void clear();
  bool is_empty() const { return connections_.empty(); }
  MemoryBudget* memory() { return &buffers_.memory; }

  void closed(Connection* connection) override;

 private:
  void connect(Fd fd, Permit permit, const Access& access,
               const MakeProtocol& make, std::optional<TlsProtocol> tls);
  void make_room();

  IoBuffers buffers_;
  const ConnectionContext context_;
  Permits* permits_;
  std::size_t most_ = SIZE_MAX;
  std::function<void()> on_empty_;
  std::shared_ptr<const TlsContext> tls_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  std::unordered_map<Connection*, std::unique_ptr<Connection>> connections_;
};

}  // namespace limitree::server

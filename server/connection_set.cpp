#include "connection_set.hpp"

#include <exception>
#include <string>
#include <utility>

#include "io/trouble.hpp"

namespace limitree::server {

ConnectionSet::ConnectionSet(Loop* loop, const ConnectionSettings* settings,
                             Permits* permits, std::function<void()> on_empty)
    : context_{loop, settings, &buffers_, this},
      permits_(permits),
      on_empty_(std::move(on_empty)) {}

void ConnectionSet::listen(Fd listener, const Access& access, MakeProtocol make,
                           std::optional<TlsProtocol> tls) {
  acceptors_.push_back(std::make_unique<Acceptor>(
      context_.loop, std::move(listener), permits_,
      [this, access, make = std::move(make), tls](Fd fd, Permit permit) {
        connect(std::move(fd), std::move(permit), access, make, tls);
      }));
}

// A connection for which there is no memory is closed.
void ConnectionSet::connect(Fd fd, Permit permit, const Access& access,
                            const MakeProtocol& make,
                            std::optional<TlsProtocol> tls) {
  try {
    ConnectionContext context = context_;
    context.access = access;
    auto transport = tls ? tls_->accept(std::move(fd), *tls)
                         : std::make_unique<PlainTransport>(std::move(fd));
    auto connection = std::make_unique<Connection>(
        context, std::move(transport), std::move(permit), make);
    Connection* const key = connection.get();
    connections_.emplace(key, std::move(connection));
  } catch (const std::exception& error) {
    tell_trouble(std::string("a connection is refused: ") + error.what());
  }
}

void ConnectionSet::closed(Connection* connection) {
  connections_.erase(connection);
  if (connections_.empty()) on_empty_();
}

void ConnectionSet::stop_connections() {
  for (const auto& acceptor : acceptors_) acceptor->stop_connections();
}

void ConnectionSet::shut_down(Duration grace) {
  for (const auto& acceptor : acceptors_) acceptor->accept_all();
  acceptors_.clear();
  for (const auto& [key, connection] : connections_) key->shut_down(grace);
}

void ConnectionSet::clear() {
  acceptors_.clear();
  connections_.clear();
}

}  // namespace limitree::server

#include "web_server.hpp"

#include <exception>
#include <string>
#include <utility>

#include "io/trouble.hpp"

namespace limitree::server {

WebServer::WebServer(Loop* loop, const ConnectionSettings* settings,
                     IoBuffers* buffers, Permits* permits,
                     std::size_t max_body_bytes, std::function<void()> on_empty)
    : loop_(loop),
      permits_(permits),
      handlers_(max_body_bytes),
      streams_(&handlers_, &date_),
      context_{loop, settings, &handlers_, &streams_, &date_, this, buffers},
      on_empty_(std::move(on_empty)) {}

void WebServer::listen(Fd listener, const Access& access) {
  listen_with(std::move(listener), access, [](Fd fd) {
    return std::make_unique<PlainTransport>(std::move(fd));
  });
}

void WebServer::listen_tls(Fd listener, const Access& access) {
  listen_with(std::move(listener), access, [this](Fd fd) {
    return tls_->accept(std::move(fd), TlsProtocol::kHttp);
  });
}

void WebServer::listen_with(Fd listener, const Access& access, Wrap wrap) {
  acceptors_.push_back(std::make_unique<Acceptor>(
      loop_, std::move(listener), permits_,
      [this, access, wrap = std::move(wrap)](Fd fd, Permit permit) {
        connect(std::move(fd), std::move(permit), access, wrap);
      }));
}

// A connection for which there is no memory is closed.
void WebServer::connect(Fd fd, Permit permit, const Access& access,
                        const Wrap& wrap) {
  try {
    HttpContext context = context_;
    context.access = access;
    std::unique_ptr<Transport> transport = wrap(std::move(fd));
    transport->sit(std::move(permit));
    auto connection =
        std::make_unique<HttpConnection>(context, std::move(transport));
    HttpConnection* const key = connection.get();
    connections_.emplace(key, std::move(connection));
  } catch (const std::exception& error) {
    tell_trouble(std::string("a connection is refused: ") + error.what());
  }
}

void WebServer::closed(HttpConnection* connection) {
  connections_.erase(connection);
  if (connections_.empty()) on_empty_();
}

void WebServer::stop_connections() {
  for (const auto& acceptor : acceptors_) acceptor->stop_connections();
}

void WebServer::drain(Nanoseconds grace) {
  for (const auto& acceptor : acceptors_) acceptor->accept_all();
  acceptors_.clear();
  for (const auto& [key, connection] : connections_) key->drain(grace);
}

void WebServer::clear() {
  acceptors_.clear();
  connections_.clear();
}

}  // namespace limitree::server

// HTTP on one loop: its addresses, its connections and its pages.

#ifndef LIMITREE_SERVER_WEB_SERVER_HPP
#define LIMITREE_SERVER_WEB_SERVER_HPP

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "acceptor.hpp"
#include "http/handler.hpp"
#include "http/http_connection.hpp"
#include "http/http_stream.hpp"
#include "io/fd.hpp"
#include "io/loop.hpp"
#include "io/tls_context.hpp"

namespace limitree::server {

// Belongs to the thread of its loop.
class WebServer final : public HttpConnectionOwner {
 public:
  // What is given by pointer outlives this.  `permits` may be null.  `on_empty`
  // is called when a connection has gone and none is left.
  WebServer(Loop* loop, const ConnectionSettings* settings, IoBuffers* buffers,
            Permits* permits, std::size_t max_body_bytes,
            std::function<void()> on_empty);

  HandlerTable* handlers() { return &handlers_; }

  void listen(Fd listener, const Access& access);
  // With the context of set_tls().
  void listen_tls(Fd listener, const Access& access);
  void set_tls(std::shared_ptr<const TlsContext> tls) { tls_ = std::move(tls); }

  // Lets no more connections begin; those that have are still taken.
  void stop_connections();
  // Takes no more connections.
  void drain(Nanoseconds grace);
  // Closes everything at once.
  void clear();
  bool is_empty() const { return connections_.empty(); }

  void closed(HttpConnection* connection) override;

 private:
  using Wrap = std::function<std::unique_ptr<Transport>(Fd)>;

  void listen_with(Fd listener, const Access& access, Wrap wrap);
  void connect(Fd fd, Permit permit, const Access& access, const Wrap& wrap);

  Loop* loop_;
  Permits* permits_;
  HandlerTable handlers_;
  HttpDate date_;
  HttpStreams streams_;
  const HttpContext context_;
  std::function<void()> on_empty_;
  std::shared_ptr<const TlsContext> tls_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  std::unordered_map<HttpConnection*, std::unique_ptr<HttpConnection>>
      connections_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_WEB_SERVER_HPP

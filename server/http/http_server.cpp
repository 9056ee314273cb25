#include "http/http_server.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "h2/http2_protocol.hpp"
#include "http/http1_protocol.hpp"

namespace limitree::server {

namespace {

// No request of HTTP/1.1 begins as HTTP/2 does.
constexpr std::string_view kHttp2 = "PRI";

// While draining: how long the first bytes may take to come.
constexpr Duration kNotice = kOneSecond;

}  // namespace

// Waits for the first bytes, which tell the protocol.
class HttpServer::Detection final : public Protocol {
 public:
  Detection(Connection* connection, HttpServer* server)
      : connection_(connection),
        server_(server),
        due_(after(connection->now(),
                   connection->settings().handshake_timeout)) {}

  void on_bytes(std::string_view bytes) override {
    opening_ += bytes;
    const bool is_http2 = opening_.starts_with(kHttp2);
    if (!is_http2 && kHttp2.starts_with(opening_)) return;
    const std::string opening = std::move(opening_);
    std::unique_ptr<Protocol> next;
    if (is_http2) {
      next = std::make_unique<Http2Protocol>(connection_, &server_->streams_);
    } else {
      next = std::make_unique<Http1Protocol>(connection_, &server_->handlers_,
                                             &server_->date_);
    }
    connection_->change_protocol(std::move(next), opening);  // destroys this
  }
  void on_input_end() override { connection_->close(); }
  void on_written() override {}
  bool is_over() const override { return false; }
  void on_drain() override {
    due_ = std::min(due_, after(connection_->now(), kNotice));
    connection_->wake_at(due_);
  }
  Monotonic check_times() override {
    if (connection_->now() >= due_) connection_->close();
    return due_;
  }

 private:
  Connection* connection_;
  HttpServer* server_;
  std::string opening_;
  Monotonic due_;
};

MakeProtocol HttpServer::protocols() {
  return [this](Connection* connection) {
    return std::make_unique<Detection>(connection, this);
  };
}

}  // namespace limitree::server

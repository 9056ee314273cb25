// A connection on a port for HTTP: HTTP/1.1, or HTTP/2 from the first byte on.

#ifndef LIMITREE_SERVER_HTTP_HTTP_CONNECTION_HPP
#define LIMITREE_SERVER_HTTP_HTTP_CONNECTION_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "h2/connection.hpp"
#include "http/date.hpp"
#include "http/exchange.hpp"
#include "http/handler.hpp"
#include "http/request_reader.hpp"
#include "io/loop.hpp"
#include "io/transport.hpp"
#include "net/memory_budget.hpp"

namespace limitree::server {

class HttpConnection;

class HttpConnectionOwner {
 public:
  // Destroys the connection, which calls nothing afterwards.
  virtual void closed(HttpConnection* connection) = 0;

 protected:
  ~HttpConnectionOwner() = default;
};

// What the connections of a loop have in common.  Outlives them.
struct HttpContext {
  Loop* loop;
  const ConnectionSettings* settings;
  const HandlerTable* handlers;
  Application* streams;  // of HTTP/2
  HttpDate* date;
  HttpConnectionOwner* owner;
  IoBuffers* buffers;
  Access access = {};
};

// Answers one request of HTTP/1.1 after the other: those that a client sends
// before it has the answers wait.
class HttpConnection final : public Watcher,
                             public AtTurnEnd,
                             public ConnectionOwner {
 public:
  HttpConnection(const HttpContext& context,
                 std::unique_ptr<Transport> transport);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // Answers what has come, tells the client to use another connection, and
  // closes then or after `grace`.
  void drain(Nanoseconds grace);

  void on_ready(std::uint32_t events) override;
  void on_turn_end() override;
  void closed(Connection* connection) override;

 private:
  enum class Phase { kOpen, kLingering, kClosed };

  // The request that has come last.
  class Http1Exchange final : public Exchange {
   public:
    explicit Http1Exchange(HttpConnection* connection)
        : connection_(connection) {}
    using Exchange::clear;
    using Exchange::mutable_request;
    const Access& access() const override {
      return connection_->context_.access;
    }

   private:
    void send(const HttpAnswer& answer) override { connection_->send(answer); }

    HttpConnection* connection_;
  };

  template <typename Work>
  void guarded(const Work& work);
  void receive();
  void input_ends();
  bool knows_protocol(std::string_view bytes);
  void become_http2();
  void take(std::string_view bytes);
  void serve();
  void refuse(int status, std::string_view line);
  bool can_take() const;
  void account();
  std::size_t unsent() const { return out_.size() - written_; }

  void send(const HttpAnswer& answer);
  void write_head(const HttpAnswer& answer, bool closes);
  void flush();
  bool write_out();
  void go_on();
  void watch();
  void linger();
  void close_now();
  void write_soon() { context_.loop->at_turn_end(this); }

  bool is_idle() const;
  Instant idle_until() const;
  Instant due() const;
  void check_times();
  void wake_at(Instant at);

  const HttpContext context_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Connection> http2_;  // takes the transport
  Http1Exchange exchange_;
  RequestReader reader_;
  std::string opening_;  // until known_
  std::string pending_;  // bytes that have to wait
  std::string out_;      // written in part
  std::size_t written_ = 0;
  MemoryShare memory_;
  std::size_t accounted_ = 0;       // of memory_
  std::size_t lingered_bytes_ = 0;  // that were read at the end
  std::uint32_t watched_;
  Phase phase_ = Phase::kOpen;
  bool known_ = false;   // that it is HTTP/1.1
  bool taking_ = false;  // take() runs
  bool busy_ = false;    // a request waits for its answer
  bool last_ = false;    // after it, or after what is written, comes no more
  bool draining_ = false;
  bool input_ended_ = false;
  Instant begun_;
  Instant request_at_ = kNever;  // when its first byte came
  Instant idle_since_;
  Instant blocked_at_ = kNever;  // since then nothing could be written
  Instant drain_at_;
  Instant end_at_ = kNever;  // of the grace, or of the lingering
  Timer watchdog_;
  Instant wake_ = kNever;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_HTTP_HTTP_CONNECTION_HPP

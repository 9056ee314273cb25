// HTTP/1.1 on the connection of a client.

#ifndef LIMITREE_SERVER_HTTP_HTTP1_PROTOCOL_HPP
#define LIMITREE_SERVER_HTTP_HTTP1_PROTOCOL_HPP

#include <cstddef>
#include <string>
#include <string_view>

#include "http/exchange.hpp"
#include "http/handler.hpp"
#include "http/request_reader.hpp"
#include "net/connection.hpp"

namespace limitree::server {

// Answers one request after the other; this object is the exchange of each.
// Requests that a client sends before it has the previous answers have to wait.
class Http1Protocol final : public Protocol, public Exchange {
 public:
  Http1Protocol(Connection* connection, const HandlerTable* handlers,
                HttpDate* date);
  ~Http1Protocol() override { clear(); }
  Http1Protocol(const Http1Protocol&) = delete;
  Http1Protocol& operator=(const Http1Protocol&) = delete;

  const Access& access() const override { return connection_->access(); }

  void on_bytes(std::string_view bytes) override;
  bool takes_bytes() const override;
  void on_input_end() override { last_ = true; }
  void on_written() override;
  bool is_over() const override { return last_ && !busy_; }
  void on_drain() override { idle_since_ = connection_->now(); }
  Monotonic check_times() override;

 private:
  void serve();
  void refuse(int status, std::string_view line);
  void account();
  void send(const HttpAnswer& answer) override;
  void write_head(const HttpAnswer& answer);
  Monotonic due() const;

  Connection* connection_;
  const HandlerTable* handlers_;
  HttpDate* date_;
  RequestReader reader_;
  std::string pending_;                      // bytes that have to wait
  std::size_t accounted_ = 0;                // of the connection's memory
  bool busy_ = false;                        // a request waits for its answer
  bool last_ = false;                        // no more requests follow this one
  Monotonic request_at_ = Monotonic::max();  // when its first byte came
  Monotonic idle_since_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_HTTP_HTTP1_PROTOCOL_HPP

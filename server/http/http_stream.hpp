// An exchange over HTTP/2.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "h2/stream.hpp"
#include "http/exchange.hpp"
#include "http/handler.hpp"

namespace limitree::server {

class HttpStream final : public Stream, public Exchange {
 public:
  HttpStream(const HandlerTable* handlers, HttpDate* date)
      : handlers_(handlers), date_(date) {}

  const Access& access() const override { return Stream::access(); }

  void on_field(std::string_view name, std::string_view value) override;
  void on_request() override;
  void on_data(std::string_view bytes) override;
  void on_end() override;
  void on_late() override;
  void on_shutdown() override {}
  void on_body_sent() override {}
  void on_close() override;

 private:
  void send(const HttpAnswer& answer) override;
  bool hold(std::size_t bytes);
  void forget();
  void refuse_for_memory();

  const HandlerTable* handlers_;
  HttpDate* date_;
  std::string names_;  // of the fields of the answer, in small letters
  std::size_t held_ = 0;
  bool over_ = false;
};

using HttpStreams = StreamPool<HttpStream, const HandlerTable*, HttpDate*>;

}  // namespace limitree::server

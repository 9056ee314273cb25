// What the HTTP connections of one loop share: handlers, streams and the date.

#pragma once

#include <cstddef>

#include "http/exchange.hpp"
#include "http/handler.hpp"
#include "http/http_stream.hpp"
#include "net/connection.hpp"

namespace limitree::server {

// Outlives its connections.
class HttpServer {
 public:
  explicit HttpServer(std::size_t max_body_bytes) : handlers_(max_body_bytes) {}

  HandlerTable* handlers() { return &handlers_; }

  // Makes HTTP/1.1, or HTTP/2 if the first bytes are those of HTTP/2.
  MakeProtocol protocols();

 private:
  class Detection;

  HandlerTable handlers_;
  HttpDate date_;
  HttpStreams streams_{&handlers_, &date_};
};

}  // namespace limitree::server

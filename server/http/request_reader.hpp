// Requests in the bytes of a connection of HTTP/1.1, read by llhttp.

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "http/request.hpp"

struct llhttp__internal_s;

namespace limitree::server {

struct RequestLimits {
  std::size_t max_header_bytes;  // also of the fields after a body
  std::size_t max_body_bytes;
};

// Takes the bytes as they come, and returns the requests in their order.
class RequestReader {
 public:
  enum class Step {
    kRequest,  // *request has one
    kMore,     // all bytes are used; the next request is not complete
    kBad,      // no more can be read; status() and reason() tell why
  };

  // Each request is written to *request, which the caller clears.
  RequestReader(HttpRequest* request, RequestLimits limits);
  ~RequestReader();

  // Tries to read a request from *bytes, and cuts the used part off.
  Step next(std::string_view* bytes);

  // Whether another request may follow the one that next() returned.
  bool keeps_alive() const { return keeps_alive_; }

  // Whether a part of a request has been read.
  bool has_begun() const { return begun_; }
  // Of the latest request.
  std::size_t header_bytes() const { return header_bytes_; }
  // Whether the client waits for "100 Continue" before it sends the body; true
  // once.
  bool take_expectation();

  int status() const { return status_; }
  const std::string& reason() const { return reason_; }

 private:
  friend struct ReaderCallbacks;

  struct Free {
    void operator()(llhttp__internal_s* parser) const noexcept;
  };

  int on_header_bytes(std::size_t size);
  int on_value(std::string_view part);
  int on_field_end();
  int on_headers_end();
  int check_coding(bool is_1_1);
  int on_body(std::string_view bytes);
  int on_message_end();
  int refuse(int status, std::string reason);
  Step fail(std::string_view what);
  void begin();

  HttpRequest* request_;
  const RequestLimits limits_;
  std::unique_ptr<llhttp__internal_s, Free> parser_;
  std::string_view input_;      // that llhttp reads
  bool at_line_begin_ = false;  // before it, as is_at_line_begin() tells
  std::string target_;
  std::string name_;
  std::string value_;
  std::size_t header_bytes_ = 0;
  bool begun_ = false;
  bool in_body_ = false;
  bool expects_ = false;
  bool keeps_alive_ = false;
  int status_ = 0;
  std::string reason_;
};

}  // namespace limitree::server

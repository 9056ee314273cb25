// One request and its answer, as handlers see them.

#pragma once

#include <cstddef>
#include <ctime>
#include <string>
#include <string_view>

#include "http/request.hpp"
#include "net/access.hpp"
#include "net/client_request.hpp"
#include "trace/request_observer.hpp"

namespace limitree::server {

struct HttpAnswer {
  int status = 200;
  std::string_view content_type = "text/plain; charset=utf-8";  // static
  // More fields, as in HTTP/1.1: "Name: value" and CR LF for each.
  std::string fields;
  std::string body;

  void clear();
};

// Belongs to the thread of one loop.
class Exchange : public ClientRequest {
 public:
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const HttpRequest& request() const { return request_; }
  // The access of the client of its connection.
  virtual const Access& access() const = 0;

  // To be filled before finish().
  HttpAnswer* answer() { return &answer_; }
  // Sends the answer.  Nothing of the exchange may be used afterwards.
  void finish();

  Duration time_left() const override { return kNever; }
  void fail_inside() override;

  // Tells `observer` when the exchange is over.
  void observe(RequestObserver* observer, std::size_t operation) {
    observer_ = observer;
    operation_ = operation;
  }

 protected:
  Exchange() = default;

  HttpRequest* mutable_request() { return &request_; }
  // Sends answer_.
  virtual void send(const HttpAnswer& answer) = 0;
  // For the next request, or when nobody waits for the answer any more.
  void clear();

 private:
  void report(int status);

  HttpRequest request_;
  HttpAnswer answer_;
  RequestObserver* observer_ = nullptr;
  std::size_t operation_ = 0;
};

// The field Date: "Sun, 06 Nov 1994 08:49:37 GMT".
std::string http_date(std::time_t seconds);

// The time now, written once for each second.
class HttpDate {
 public:
  const std::string& now();

 private:
  std::time_t at_ = -1;
  std::string text_;
};

// Answers with one line of text.
void answer_text(Exchange* exchange, int status, std::string_view line);

// Where a probe asks whether the process is to be restarted, and the answer.
// It is the same while health is NOT_SERVING.
inline constexpr const char* kLivePath = "/livez";
void answer_alive(Exchange* exchange);

// "Not Found" for 404.
std::string_view reason_of(int status);

}  // namespace limitree::server

#include "http/exchange.hpp"

namespace limitree::server {

namespace {

// An answer may keep so much memory for the next one.
constexpr std::size_t kMaxKept = 16 * 1024;

}  // namespace

void HttpAnswer::clear() {
  status = 200;
  content_type = HttpAnswer().content_type;
  fields.clear();
  body.clear();
  if (body.capacity() > kMaxKept) body.shrink_to_fit();
}

void Exchange::finish() {
  drop_state();
  report(answer_.status);
  send(answer_);
}

// Once, when the exchange is over.
void Exchange::report(int status) {
  ExchangeObserver* const observer = std::exchange(observer_, nullptr);
  if (observer == nullptr) return;
  observer->on_over({operation_, request_.begun, status, request_});
}

void Exchange::clear() {
  report(0);
  drop_state();
  request_.clear();
  answer_.clear();
}

void answer_text(Exchange* exchange, int status, std::string_view line) {
  exchange->answer()->status = status;
  exchange->answer()->body.assign(line).push_back('\n');
  exchange->finish();
}

void Exchange::fail_inside() {
  answer_.clear();
  answer_text(this, 500, "the server has made a mistake");
}

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "";
  }
}

}  // namespace limitree::server

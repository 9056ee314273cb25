#include "http/exchange.hpp"

#include <locale.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace limitree::server {

void HttpAnswer::clear() {
  status = 200;
  content_type = HttpAnswer().content_type;
  fields.clear();
  empty_text(&body);
}

void Exchange::finish() {
  drop_state();
  report(answer_.status);
  send(answer_);
}

// Called once, when the exchange is over.
void Exchange::report(int status) {
  RequestObserver* const observer = std::exchange(observer_, nullptr);
  if (observer == nullptr) return;
  TraceFields trace;
  request_.each_field([&](std::string_view name, std::string_view value) {
    trace.take(name, value);
  });
  observer->exchange_over(operation_, request_.begun, status, trace);
}

void Exchange::clear() {
  report(0);
  drop_state();
  request_.clear();
  answer_.clear();
}

// Does not use the locale of the process.
std::string http_date(std::time_t seconds) {
  static const locale_t english = newlocale(LC_TIME_MASK, "C", nullptr);
  std::tm time{};
  gmtime_r(&seconds, &time);
  std::array<char, 64> text;
  return {text.data(), strftime_l(text.data(), text.size(),
                                  "%a, %d %b %Y %H:%M:%S GMT", &time, english)};
}

const std::string& HttpDate::now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME_COARSE, &time);
  if (time.tv_sec != at_) {
    at_ = time.tv_sec;
    text_ = http_date(at_);
  }
  return text_;
}

void answer_alive(Exchange* exchange) {
  exchange->answer()->body = "OK";
  exchange->finish();
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
  static constexpr std::pair<int, std::string_view> kReasons[] = {
      {200, "OK"},
      {201, "Created"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {413, "Content Too Large"},
      {415, "Unsupported Media Type"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
      {505, "HTTP Version Not Supported"},
      {507, "Insufficient Storage"}};
  const auto found = std::ranges::find(
      kReasons, status, &std::pair<int, std::string_view>::first);
  return found == std::end(kReasons) ? "" : found->second;
}

}  // namespace limitree::server

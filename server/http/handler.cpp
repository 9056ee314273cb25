#include "http/handler.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace limitree::server {

namespace {

// The last one of kAny stands for all that are not named.
std::span<const std::string_view> names_of(HttpMethods methods) {
  static constexpr std::string_view kGet[] = {"GET", "HEAD"};
  static constexpr std::string_view kPost[] = {"POST"};
  static constexpr std::string_view kAny[] = {
      "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "_OTHER"};
  switch (methods) {
    case HttpMethods::kGet:
      return kGet;
    case HttpMethods::kPost:
      return kPost;
    case HttpMethods::kAny:
      return kAny;
  }
  return {};
}

// The place of `method` among those names, or their number.
std::size_t place_of(std::string_view method, HttpMethods methods) {
  const std::span<const std::string_view> names = names_of(methods);
  const auto found = std::ranges::find(names, method);
  const bool other = found == names.end() && methods == HttpMethods::kAny;
  return static_cast<std::size_t>(found - names.begin()) - (other ? 1 : 0);
}

}  // namespace

void HandlerTable::add(std::string path, HttpMethods methods,
                       Handler* handler) {
  const std::size_t first = operations_.size();
  for (const std::string_view name : names_of(methods)) {
    operations_.push_back(std::string(name) + ' ' + path);
  }
  entries_.emplace(std::move(path), Entry{methods, handler, first});
}

void HandlerTable::serve(Exchange* exchange) const {
  const auto found = entries_.find(exchange->request().path());
  if (found == entries_.end()) {
    answer_text(exchange, 404, "there is no such path");
    return;
  }
  const Entry& entry = found->second;
  const std::size_t place = place_of(exchange->request().method, entry.methods);
  if (place < names_of(entry.methods).size()) {
    if (observer_ != nullptr) {
      exchange->observe(observer_, entry.first_operation + place);
    }
    entry.handler->on_request(exchange);
    return;
  }
  const bool get = entry.methods == HttpMethods::kGet;
  exchange->answer()->fields = get ? "Allow: GET, HEAD\r\n" : "Allow: POST\r\n";
  answer_text(exchange, 405,
              get ? "this path takes GET" : "this path takes POST");
}

}  // namespace limitree::server

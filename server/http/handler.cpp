#include "http/handler.hpp"

namespace limitree::server {

namespace {

bool takes(HttpMethods methods, std::string_view method) {
  switch (methods) {
    case HttpMethods::kGet:
      return method == "GET" || method == "HEAD";
    case HttpMethods::kPost:
      return method == "POST";
    case HttpMethods::kAny:
      return true;
  }
  return false;
}

}  // namespace

void HandlerTable::serve(Exchange* exchange) const {
  const auto found = entries_.find(exchange->request().path());
  if (found == entries_.end()) {
    answer_text(exchange, 404, "there is no such path");
    return;
  }
  const Entry& entry = found->second;
  if (takes(entry.methods, exchange->request().method)) {
    entry.handler->on_request(exchange);
    return;
  }
  const bool get = entry.methods == HttpMethods::kGet;
  exchange->answer()->fields = get ? "Allow: GET, HEAD\r\n" : "Allow: POST\r\n";
  answer_text(exchange, 405,
              get ? "this path takes GET" : "this path takes POST");
}

}  // namespace limitree::server

#include "web/api.hpp"

#include "net/text.hpp"
#include "web/answers.hpp"

namespace limitree::server {

namespace {

bool is_json(std::string_view type) {
  return is_word(trimmed(type.substr(0, type.find(';'))), "application/json");
}

// Tells a client that it needs the admin token.
void refuse_without_token(Exchange* exchange) {
  exchange->answer()->fields = "WWW-Authenticate: Bearer\r\n";
  answer_problem(exchange, 401, AdminToken::kMissing);
}

}  // namespace

void answer_problem(Exchange* exchange, int status, std::string_view detail) {
  HttpAnswer* const answer = exchange->answer();
  answer->status = status;
  answer->content_type = "application/problem+json";
  append_problem(status, detail, &answer->body);
  exchange->finish();
}

bool takes_json(Exchange* exchange) {
  if (is_json(exchange->request().field("content-type"))) return true;
  answer_problem(exchange, 415, "the content-type must be application/json");
  return false;
}

bool has_token(const AdminToken& token, std::string_view what,
               Exchange* exchange) {
  if (!token.is_set()) {
    answer_problem(exchange, 403,
                   std::string(what) + " only where --admin-token-file is set");
    return false;
  }
  if (token.allows(exchange->request().field("authorization"))) return true;
  refuse_without_token(exchange);
  return false;
}

bool lets_change(Exchange* exchange) {
  const HttpRequest& request = exchange->request();
  if (exchange->access().lets_change(request.field("authorization"))) {
    return true;
  }
  refuse_without_token(exchange);
  return false;
}

}  // namespace limitree::server

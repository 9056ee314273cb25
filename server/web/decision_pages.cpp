#include "web/decision_pages.hpp"

#include <cstddef>

#include "net/text.hpp"
#include "web/answers.hpp"

namespace limitree::server {

namespace {

// Enough for the fields of a few levels.
constexpr std::size_t kFieldRoom = 512;

void answer_problem(Exchange* exchange, int status, std::string_view detail) {
  HttpAnswer* const answer = exchange->answer();
  answer->status = status;
  answer->content_type = "application/problem+json";
  append_problem(status, detail, &answer->body);
  exchange->finish();
}

// A page of another site can send other types without a preflight request.
bool is_json(std::string_view type) {
  return is_word(trimmed(type.substr(0, type.find(';'))), "application/json");
}

// Answers and returns false if the client may not send such a request.
bool lets_in(Exchange* exchange, bool needs_token) {
  const HttpRequest& request = exchange->request();
  if (!is_json(request.field("content-type"))) {
    answer_problem(exchange, 415, "the content-type must be application/json");
    return false;
  }
  if (needs_token &&
      !exchange->access().lets_change(request.field("authorization"))) {
    exchange->answer()->fields = "WWW-Authenticate: Bearer\r\n";
    answer_problem(exchange, 401, AdminToken::kMissing);
    return false;
  }
  return true;
}

// Writes the fields of `decision` to *fields.
void write_fields(std::string_view style, const limitree_decision& decision,
                  std::span<const limitree_level> levels, std::string* fields) {
  std::size_t size = kFieldRoom;
  do {
    fields->resize(size);
    if (limitree_http_headers({style.data(), style.size()}, &decision,
                              levels.data(), levels.size(), 0, fields->data(),
                              fields->size(), &size, nullptr) < 0) {
      size = 0;
    }
  } while (size > fields->size());
  fields->resize(size);
}

// "Bad Request: domain: must be a text".
void refuse(Exchange* exchange, int status, const std::string& what) {
  answer_text(exchange, status, std::string(reason_of(status)) + ": " + what);
}

}  // namespace

void LimiterApi::add_to(HandlerTable* handlers) {
  for (const LimiterOperation& one : kLimiterOperations) {
    handlers->add(
        "/v1/" + lower(std::string_view(one.name)), HttpMethods::kPost,
        [this, &one](Exchange* exchange) { on_request(one, exchange); });
  }
}

void LimiterApi::on_request(const LimiterOperation& operation,
                            Exchange* exchange) {
  if (!lets_in(exchange, operation.needs_token)) return;
  try {
    request_.read(exchange->request().body,
                  operation.number == LimiterOperation::kReset);
  } catch (const JsonError& error) {
    return answer_problem(exchange, 400, error.what());
  }
  decider_->decide(operation.number, request_, exchange, this);
}

void LimiterApi::decided(ClientRequest* request,
                         const limitree_decision& decision,
                         std::span<const limitree_level> levels,
                         bool omits_levels) const {
  Exchange* const exchange = static_cast<Exchange*>(request);
  HttpAnswer* const answer = exchange->answer();
  answer->status = decision.limited != 0 ? 429 : 200;
  answer->content_type = "application/json";
  write_fields(style_, decision, levels, &answer->fields);
  append_decision(decision, levels, !omits_levels, &answer->body);
  exchange->finish();
}

void LimiterApi::has_reset(ClientRequest* request) const {
  Exchange* const exchange = static_cast<Exchange*>(request);
  exchange->answer()->content_type = "application/json";
  exchange->answer()->body = "{}";
  exchange->finish();
}

void LimiterApi::failed(ClientRequest* request, limitree_status status,
                        const std::string& message) const {
  answer_problem(static_cast<Exchange*>(request), http_status_of(status),
                 message);
}

// ---- Envoy ------------------------------------------------------------------

void EnvoyPage::on_request(Exchange* exchange) {
  try {
    json_.read(exchange->request().body);
  } catch (const JsonError& error) {
    refuse(exchange, 400, error.what());
    return;
  }
  decider_->ask(json_.get(), exchange, this);
}

void EnvoyPage::answered(
    ClientRequest* request, const limitree_envoy_response& response,
    std::span<const limitree_descriptor_status> statuses) const {
  Exchange* const exchange = static_cast<Exchange*>(request);
  HttpAnswer* const answer = exchange->answer();
  answer->status =
      response.overall_code == LIMITREE_CODE_OVER_LIMIT ? 429 : 200;
  answer->content_type = "application/json";
  append_envoy_answer(response, statuses, *settings_, &answer->body);
  exchange->finish();
}

void EnvoyPage::failed(ClientRequest* request, limitree_status status,
                       const std::string& message) const {
  refuse(static_cast<Exchange*>(request), http_status_of(status), message);
}

}  // namespace limitree::server

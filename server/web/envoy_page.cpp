#include "web/envoy_page.hpp"

#include "web/decision_json.hpp"
#include "web/envoy_answer.hpp"

namespace limitree::server {

namespace {

// "Bad Request: domain: must be a text".
void refuse(Exchange* exchange, int status, const std::string& what) {
  answer_text(exchange, status, std::string(reason_of(status)) + ": " + what);
}

}  // namespace

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

#include "web/descriptor_pages.hpp"

#include <string>
#include <string_view>

#include "net/text.hpp"
#include "web/answers.hpp"
#include "web/api.hpp"

namespace limitree::server {

namespace {

// Null, after the error has been sent, unless the request was carried out.
HttpAnswer* answer_of(ClientRequest* request, const AnswerStatus& outcome) {
  Exchange* const exchange = static_cast<Exchange*>(request);
  if (outcome.status < 0) {
    answer_problem(exchange, http_status_of(outcome.status), outcome.message);
    return nullptr;
  }
  exchange->answer()->content_type = "application/json";
  return exchange->answer();
}

}  // namespace

void DescriptorPages::add_to(HandlerTable* handlers) {
  for (const DescriptorOperation& one : kDescriptorOperations) {
    handlers->add("/v1/descriptors/" + lower(std::string_view(one.name)),
                  HttpMethods::kPost,
                  [this, &one](Exchange* exchange) { ask(one, exchange); });
  }
}

void DescriptorPages::ask(const DescriptorOperation& operation,
                          Exchange* exchange) {
  if (!takes_json(exchange)) return;
  if (operation.resets && !lets_change(exchange)) return;
  try {
    request_.read(exchange->request().body);
  } catch (const JsonError& error) {
    return answer_problem(exchange, 400, error.what());
  }
  if (operation.resets) {
    decider_->reset(request_, exchange, this);
  } else {
    decider_->ask(&request_, exchange, this, LIMITREE_ONLY_PEEKS);
  }
}

void DescriptorPages::answer(ClientRequest* request,
                             const LimiterAnswer& answer) const {
  HttpAnswer* const to = answer_of(request, answer);
  if (to == nullptr) return;
  to->body = "{}";
  static_cast<Exchange*>(request)->finish();
}

void DescriptorPages::answer(ClientRequest* request,
                             const EnvoyAnswer& answer) const {
  HttpAnswer* const to = answer_of(request, answer);
  if (to == nullptr) return;
  const limitree_envoy_response& response = answer.response;
  to->status = response.overall_code == LIMITREE_CODE_OVER_LIMIT ? 429 : 200;
  append_envoy_answer(response, answer.statuses, *settings_, &to->body);
  static_cast<Exchange*>(request)->finish();
}

}  // namespace limitree::server

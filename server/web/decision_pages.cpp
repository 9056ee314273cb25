#include "web/decision_pages.hpp"

#include <cstddef>
#include <utility>

#include "net/text.hpp"
#include "web/answers.hpp"
#include "web/api.hpp"

namespace limitree::server {

namespace {

// Enough for the fields of a few levels.
constexpr std::size_t kFieldRoom = 512;

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

PathRequest::For use_of(const LimiterOperation& operation) {
  switch (operation.number) {
    case LimiterOperation::kReset:
      return PathRequest::For::kReset;
    case LimiterOperation::kBlock:
      return PathRequest::For::kBlock;
    case LimiterOperation::kUnblock:
      return PathRequest::For::kUnblock;
    default:
      return PathRequest::For::kDecision;
  }
}

// /json tells errors as envoyproxy/ratelimit does: "Bad Request: domain: must
// be a text".
void refuse(Exchange* exchange, int status, const std::string& what) {
  if (exchange->request().path().starts_with("/v1/")) {
    return answer_problem(exchange, status, what);
  }
  answer_text(exchange, status, std::string(reason_of(status)) + ": " + what);
}

}  // namespace

void DecisionPages::add_to(HandlerTable* handlers) {
  const auto add = [&](const std::string& folder, std::string_view name,
                       Handler handler) {
    handlers->add(folder + lower(name), HttpMethods::kPost, std::move(handler));
  };
  for (const LimiterOperation& one : kLimiterOperations) {
    add("/v1/", one.name,
        [this, &one](Exchange* exchange) { decide(one, exchange); });
  }
  for (const HoldOperation& one : kHoldOperations) {
    add("/v1/", one.name,
        [this, &one](Exchange* exchange) { settle(one, exchange); });
  }
  for (const DescriptorOperation& one : kDescriptorOperations) {
    add("/v1/descriptors/", one.name,
        [this, &one](Exchange* exchange) { ask_about(one, exchange); });
  }
  handlers->add("/json", HttpMethods::kAny,
                [this](Exchange* exchange) { ask(exchange); });
}

void DecisionPages::add_looks_to(HandlerTable* handlers,
                                 const AdminToken* token) {
  for (const LimiterOperation& one : kLimiterOperations) {
    if (one.number != LIMITREE_PEEK && one.number != LimiterOperation::kReset) {
      continue;
    }
    handlers->add("/v1/" + lower(std::string_view(one.name)),
                  HttpMethods::kPost, [this, &one, token](Exchange* exchange) {
                    if (!one.needs_token ||
                        has_token(*token, "buckets can be reset", exchange)) {
                      decide(one, exchange);
                    }
                  });
  }
}

void DecisionPages::decide(const LimiterOperation& operation,
                           Exchange* exchange) {
  if (!takes_json(exchange)) return;
  if (operation.needs_token && !lets_change(exchange)) return;
  try {
    path_request_.read(exchange->request().body, use_of(operation));
  } catch (const JsonError& error) {
    return answer_problem(exchange, 400, error.what());
  }
  decider_->decide(operation.number, path_request_, exchange, this);
}

void DecisionPages::settle(const HoldOperation& operation, Exchange* exchange) {
  if (!takes_json(exchange)) return;
  const std::string_view body = exchange->request().body;
  const bool reserves = operation.act == HoldOperation::Act::kReserve;
  try {
    if (reserves) {
      path_request_.read(body, PathRequest::For::kReservation);
    } else {
      receipt_request_.read(operation, body);
    }
  } catch (const JsonError& error) {
    return answer_problem(exchange, 400, error.what());
  }
  if (reserves) {
    decider_->reserve(path_request_, exchange, this);
  } else {
    decider_->settle(receipt_request_, exchange, this);
  }
}

void DecisionPages::answer(ClientRequest* request,
                           const LimiterAnswer& answer) const {
  Exchange* const exchange = static_cast<Exchange*>(request);
  if (answer.status < 0) {
    return answer_problem(exchange, http_status_of(answer.status),
                          answer.message);
  }
  HttpAnswer* const to = exchange->answer();
  to->content_type = "application/json";
  if (answer.decision == nullptr) {
    to->body = "{}";
  } else if (answer.counts != nullptr) {
    append_settlement(*answer.decision, answer.counts, &to->body);
  } else {
    to->status = answer.decision->limited != 0 ? 429 : 200;
    write_fields(style_, *answer.decision, answer.levels, &to->fields);
    append_decision(*answer.decision, answer.levels, !answer.omits_levels,
                    &to->body, answer.receipt);
  }
  exchange->finish();
}

bool DecisionPages::read_envoy(Exchange* exchange) {
  try {
    envoy_request_.read(exchange->request().body);
    return true;
  } catch (const JsonError& error) {
    refuse(exchange, 400, error.what());
    return false;
  }
}

void DecisionPages::ask(Exchange* exchange) {
  if (read_envoy(exchange)) decider_->ask(&envoy_request_, exchange, this);
}

void DecisionPages::ask_about(const DescriptorOperation& operation,
                              Exchange* exchange) {
  if (!takes_json(exchange)) return;
  if (operation.resets && !lets_change(exchange)) return;
  if (!read_envoy(exchange)) return;
  if (operation.resets) {
    decider_->reset(envoy_request_, exchange, this);
  } else {
    decider_->ask(&envoy_request_, exchange, this, LIMITREE_ONLY_PEEKS);
  }
}

void DecisionPages::answer(ClientRequest* request,
                           const EnvoyAnswer& answer) const {
  Exchange* const exchange = static_cast<Exchange*>(request);
  if (answer.status < 0) {
    return refuse(exchange, http_status_of(answer.status), answer.message);
  }
  const limitree_envoy_response& response = answer.response;
  HttpAnswer* const to = exchange->answer();
  to->status = response.overall_code == LIMITREE_CODE_OVER_LIMIT ? 429 : 200;
  to->content_type = "application/json";
  append_envoy_answer(response, answer.statuses, *settings_, &to->body);
  exchange->finish();
}

}  // namespace limitree::server

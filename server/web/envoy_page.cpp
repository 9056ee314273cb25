#include "web/envoy_page.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "limitree.hpp"
#include "services/failures.hpp"
#include "web/decision_json.hpp"
#include "web/exchange_request.hpp"

namespace limitree::server {

namespace {

// "Bad Request: domain: must be a text".
void refuse(Exchange* exchange, int status, std::string_view what) {
  answer_text(exchange, status,
              std::string(reason_of(status)) + ": " + std::string(what));
}

void refuse(Exchange* exchange, limitree_status status,
            const limitree_error* error) {
  refuse(exchange, http_status_of(status), message_for_client(status, error));
}

void answer(Exchange* exchange, const limitree_envoy_response& response,
            std::span<const limitree_descriptor_status> statuses,
            const AnswerSettings& settings) {
  HttpAnswer* const answer = exchange->answer();
  answer->status =
      response.overall_code == LIMITREE_CODE_OVER_LIMIT ? 429 : 200;
  answer->content_type = "application/json";
  append_envoy_answer(response, statuses, settings, &answer->body);
  exchange->finish();
}

}  // namespace

// A request that waits for the store.
class EnvoyPage::Waiting final : public ExchangeRequest {
 public:
  Waiting(const EnvoyPage* page, Exchange* exchange, std::size_t count)
      : ExchangeRequest(page->store_loop_, exchange),
        page_(page),
        statuses_(count) {}
  ~Waiting() override { limitree_text_free(response_.metadata); }

  std::vector<limitree_descriptor_status>& statuses() { return statuses_; }
  limitree_envoy_response* response() { return &response_; }

 private:
  void answer(Exchange* exchange,
              const limitree_completion& completion) override {
    if (completion.status < 0) {
      refuse(exchange, completion.status, completion.error);
    } else {
      server::answer(exchange, response_, statuses_, page_->settings_);
    }
  }

  const EnvoyPage* page_;
  std::vector<limitree_descriptor_status> statuses_;
  limitree_envoy_response response_{};
};

void EnvoyPage::on_request(Exchange* exchange) {
  try {
    json_.read(exchange->request().body);
  } catch (const JsonError& error) {
    refuse(exchange, 400, error.what());
    return;
  }
  if (descriptors_.are_missing()) {
    descriptors_.count_refusal();
    refuse(exchange, 503, DescriptorsState::kMissing);
    return;
  }
  if (limitree_limiter_is_remote(limiter_) != 0) {
    answer_later(exchange);
  } else {
    answer_now(exchange);
  }
}

limitree_envoy_request EnvoyPage::request() const {
  limitree_envoy_request request = json_.request();
  if (settings_.dynamic_metadata) request.flags |= LIMITREE_WANTS_METADATA;
  return request;
}

void EnvoyPage::answer_now(Exchange* exchange) {
  const limitree_envoy_request asked = request();
  statuses_.resize(asked.descriptor_count);
  limitree_envoy_response response{};
  limitree_error* error = nullptr;
  const limitree_status status = limitree_should_rate_limit(
      limiter_, &asked, statuses_.data(), statuses_.size(), &response, &error);
  const ErrorHandle owner(error);
  const TextHandle metadata(response.metadata);
  if (status < 0) {
    refuse(exchange, status, error);
  } else {
    answer(exchange, response, statuses_, settings_);
  }
}

void EnvoyPage::answer_later(Exchange* exchange) {
  if (store_loop_->is_full()) {
    refuse(exchange, 503, "too many calls wait");
    return;
  }
  const limitree_envoy_request asked = request();
  auto waiting =
      std::make_unique<Waiting>(this, exchange, asked.descriptor_count);
  limitree_completion done{};
  limitree_error* error = nullptr;
  done.status = limitree_should_rate_limit_async(
      limiter_, &asked, static_cast<PendingRequest*>(waiting.get()),
      waiting->statuses().data(), waiting->statuses().size(),
      waiting->response(), &error);
  const ErrorHandle owner(error);
  done.error = error;
  if (done.status == LIMITREE_PENDING) {
    store_loop_->started(std::move(waiting));
  } else {
    waiting->complete(done);
  }
}

}  // namespace limitree::server

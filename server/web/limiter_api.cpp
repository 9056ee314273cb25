#include "web/limiter_api.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "limitree.hpp"
#include "web/decision_json.hpp"
#include "web/exchange_request.hpp"

namespace limitree::server {

namespace {

// More than the limits of any path have, in most trees.
constexpr std::size_t kLevelsPerSegment = 4;

// Enough for the fields of a few levels.
constexpr std::size_t kFieldRoom = 512;

void answer_problem(Exchange* exchange, int status, std::string_view detail) {
  HttpAnswer* const answer = exchange->answer();
  answer->status = status;
  answer->content_type = "application/problem+json";
  append_problem(status, detail, &answer->body);
  exchange->finish();
}

void answer_error(Exchange* exchange, limitree_status status,
                  const limitree_error* error) {
  answer_problem(exchange, http_status_of(status),
                 error != nullptr ? limitree_error_message(error)
                                  : limitree_status_name(status));
}

void answer_reset(Exchange* exchange, const BlockingResult& result) {
  if (result.status < 0) {
    answer_problem(exchange, http_status_of(result.status), result.message);
    return;
  }
  exchange->answer()->content_type = "application/json";
  exchange->answer()->body = "{}";
  exchange->finish();
}

// Runs `read()`; answers and returns false if the request is not valid.
template <typename Read>
bool read_or_refuse(Exchange* exchange, const Read& read) {
  try {
    read();
    return true;
  } catch (const JsonError& error) {
    answer_problem(exchange, 400, error.what());
    return false;
  }
}

std::size_t count_of(const limitree_decision& decision, std::size_t room) {
  return std::min(room, static_cast<std::size_t>(decision.level_count));
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

// A reset of one path after the other, whose segments are copied.
class ResetWork {
 public:
  ResetWork(limitree_limiter* limiter, const PathRequest& request)
      : limiter_(limiter), leaf_only_(request.leaf_only() ? 1 : 0) {
    for (const limitree_path& path : request.paths()) {
      std::vector<std::string>& segments = paths_.emplace_back();
      for (const limitree_str& one : std::span(path.segments, path.size)) {
        segments.emplace_back(one.data, one.size);
      }
    }
  }

  BlockingResult operator()() const {
    for (const std::vector<std::string>& segments : paths_) {
      std::vector<limitree_str> path;
      for (const std::string& one : segments) {
        path.push_back({one.data(), one.size()});
      }
      limitree_error* error = nullptr;
      const limitree_status status = limitree_reset(
          limiter_, path.data(), path.size(), leaf_only_, &error);
      const ErrorHandle owner(error);
      if (status < 0) {
        return {status, error != nullptr ? limitree_error_message(error)
                                         : limitree_status_name(status)};
      }
    }
    return {};
  }

 private:
  limitree_limiter* limiter_;
  std::int32_t leaf_only_;
  std::vector<std::vector<std::string>> paths_;
};

// Drops the ticket when the exchange is over.
class KeptTicket final : public ExchangeState {
 public:
  explicit KeptTicket(std::unique_ptr<BlockingCalls::Ticket> ticket)
      : ticket_(std::move(ticket)) {}

 private:
  std::unique_ptr<BlockingCalls::Ticket> ticket_;
};

}  // namespace

// A decision that waits for the store.
class LimiterApi::Waiting final : public ExchangeRequest {
 public:
  Waiting(const LimiterApi* api, Exchange* exchange, std::size_t room)
      : ExchangeRequest(api->store_loop_, exchange),
        api_(api),
        with_levels_(!api->request_.omits_levels()),
        levels_(room) {}

  std::vector<limitree_level>& levels() { return levels_; }

 private:
  void answer(Exchange* exchange,
              const limitree_completion& completion) override {
    if (completion.status < 0) {
      answer_error(exchange, completion.status, completion.error);
      return;
    }
    const std::size_t count = count_of(completion.decision, levels_.size());
    api_->answer(exchange, completion.decision, std::span(levels_).first(count),
                 with_levels_);
  }

  const LimiterApi* api_;
  bool with_levels_;
  std::vector<limitree_level> levels_;
};

LimiterApi::LimiterApi(limitree_limiter* limiter, StoreLoop* store_loop,
                       BlockingCalls* blocking, std::string style)
    : limiter_(limiter),
      store_loop_(store_loop),
      blocking_(blocking),
      style_(std::move(style)),
      levels_(std::make_unique_for_overwrite<limitree_level[]>(
          LIMITREE_MAX_LEVELS)) {}

void LimiterApi::add_to(HandlerTable* handlers) {
  handlers->add("/v1/authorize", HttpMethods::kPost, &authorize_);
  handlers->add("/v1/peek", HttpMethods::kPost, &peek_);
  handlers->add("/v1/spend", HttpMethods::kPost, &spend_);
  handlers->add("/v1/refund", HttpMethods::kPost, &refund_);
  handlers->add("/v1/reset", HttpMethods::kPost, &reset_);
}

void LimiterApi::answer(Exchange* exchange, const limitree_decision& decision,
                        std::span<const limitree_level> levels,
                        bool with_levels) const {
  HttpAnswer* const answer = exchange->answer();
  answer->status = decision.limited != 0 ? 429 : 200;
  answer->content_type = "application/json";
  write_fields(style_, decision, levels, &answer->fields);
  append_decision(decision, levels, with_levels, &answer->body);
  exchange->finish();
}

// ---- Decisions --------------------------------------------------------------

void LimiterApi::Decide::on_request(Exchange* exchange) {
  const bool valid = read_or_refuse(
      exchange, [&] { api_->request_.read(exchange->request().body); });
  if (!valid) return;
  if (limitree_limiter_is_remote(api_->limiter_) != 0) {
    api_->decide_later(exchange, operation_);
  } else {
    api_->decide_now(exchange, operation_);
  }
}

void LimiterApi::decide_now(Exchange* exchange, std::int32_t operation) {
  limitree_decision decision;
  limitree_error* error = nullptr;
  const limitree_status status = limitree_decide_parts(
      limiter_, operation, request_.paths().data(), request_.parts().data(),
      request_.paths().size(), levels_.get(), LIMITREE_MAX_LEVELS, &decision,
      &error);
  const ErrorHandle owner(error);
  if (status < 0) {
    answer_error(exchange, status, error);
  } else {
    answer(exchange, decision,
           {levels_.get(), count_of(decision, LIMITREE_MAX_LEVELS)},
           !request_.omits_levels());
  }
}

void LimiterApi::decide_later(Exchange* exchange, std::int32_t operation) {
  if (store_loop_->is_full()) {
    answer_problem(exchange, 503, "too many calls wait");
    return;
  }
  const std::size_t room = std::min<std::size_t>(
      LIMITREE_MAX_LEVELS, (request_.segment_count() + 1) * kLevelsPerSegment);
  auto waiting = std::make_unique<Waiting>(this, exchange, room);
  limitree_completion done{};
  limitree_error* error = nullptr;
  done.status = limitree_decide_parts_async(
      limiter_, operation, request_.paths().data(), request_.parts().data(),
      request_.paths().size(), static_cast<PendingRequest*>(waiting.get()),
      waiting->levels().data(), room, &done.decision, &error);
  const ErrorHandle owner(error);
  done.error = error;
  if (done.status == LIMITREE_PENDING) {
    store_loop_->started(std::move(waiting));
  } else {
    waiting->complete(done);
  }
}

// ---- Reset ------------------------------------------------------------------

void LimiterApi::Reset::on_request(Exchange* exchange) {
  const bool valid = read_or_refuse(
      exchange, [&] { api_->request_.read_reset(exchange->request().body); });
  if (!valid) return;
  if (limitree_limiter_is_remote(api_->limiter_) != 0) {
    api_->reset_later(exchange);
  } else {
    api_->reset_now(exchange);
  }
}

void LimiterApi::reset_now(Exchange* exchange) {
  answer_reset(exchange, ResetWork(limiter_, request_)());
}

// limitree_reset() blocks, so another thread calls it.
void LimiterApi::reset_later(Exchange* exchange) {
  auto ticket = blocking_->run(ResetWork(limiter_, request_),
                               [exchange](const BlockingResult& result) {
                                 answer_reset(exchange, result);
                               });
  if (ticket == nullptr) {
    answer_problem(exchange, 503, "too many calls wait");
  } else {
    exchange->keep(std::make_unique<KeptTicket>(std::move(ticket)));
  }
}

}  // namespace limitree::server

#include "web/limiter_api.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "limitree.hpp"
#include "services/failures.hpp"
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
                 message_for_client(status, error));
}

// A page of another site can send other types without being asked first.
bool is_json(std::string_view type) {
  constexpr std::string_view kJson = "application/json";
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
  return std::ranges::equal(type, kJson, [](char one, char other) {
    return (one >= 'A' && one <= 'Z' ? one - 'A' + 'a' : one) == other;
  });
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

// The resets that one answer waits for.
class Resets {
 public:
  // `count` of them, all of which are told by take().
  Resets(Exchange* exchange, std::size_t count)
      : exchange_(exchange), left_(count) {}

  // The client has gone.
  void forget_exchange() { exchange_ = nullptr; }

  // One is over.  The first that fails is the answer.
  void take(limitree_status status, const limitree_error* error) {
    if (status < 0 && status_ >= 0) {
      status_ = status;
      message_ = message_for_client(status, error);
    }
    if (--left_ == 0 && exchange_ != nullptr) answer();
  }

 private:
  void answer() {
    if (status_ < 0) {
      answer_problem(exchange_, http_status_of(status_), message_);
      return;
    }
    exchange_->answer()->content_type = "application/json";
    exchange_->answer()->body = "{}";
    exchange_->finish();
  }

  Exchange* exchange_;
  std::size_t left_;
  limitree_status status_ = LIMITREE_OK;
  std::string message_;
};

// Tells the resets that their exchange is over.
class ResetLink final : public ExchangeState {
 public:
  explicit ResetLink(std::shared_ptr<Resets> resets)
      : resets_(std::move(resets)) {}
  ~ResetLink() override { resets_->forget_exchange(); }

 private:
  std::shared_ptr<Resets> resets_;
};

// A reset of one path that waits for the store.
class WaitingReset final : public PendingRequest {
 public:
  WaitingReset(StoreLoop* loop, std::shared_ptr<Resets> resets)
      : PendingRequest(loop, kNever), resets_(std::move(resets)) {}

  void complete(const limitree_completion& completion) override {
    resets_->take(completion.status, completion.error);
  }
  void fail() override { resets_->take(LIMITREE_INTERNAL, nullptr); }

 private:
  std::shared_ptr<Resets> resets_;
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
                       std::string style)
    : limiter_(limiter),
      store_loop_(store_loop),
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

bool LimiterApi::lets_in(Exchange* exchange, bool needs_token) const {
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

// ---- Decisions --------------------------------------------------------------

void LimiterApi::Decide::on_request(Exchange* exchange) {
  const bool changes =
      operation_ == LIMITREE_SPEND || operation_ == LIMITREE_REFUND;
  if (!api_->lets_in(exchange, changes)) return;
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
  if (!api_->lets_in(exchange, true)) return;
  const bool valid = read_or_refuse(
      exchange, [&] { api_->request_.read_reset(exchange->request().body); });
  if (!valid) return;
  api_->reset(exchange);
}

// All paths at once: as many as a decision takes.
void LimiterApi::reset(Exchange* exchange) {
  const std::vector<limitree_path>& paths = request_.paths();
  if (paths.size() > LIMITREE_MAX_PATHS) {
    answer_problem(exchange, 400,
                   "there are " + std::to_string(paths.size()) +
                       " paths, the most is " +
                       std::to_string(LIMITREE_MAX_PATHS));
    return;
  }
  if (store_loop_->is_full()) {
    answer_problem(exchange, 503, "too many calls wait");
    return;
  }
  // One more, so that the answer comes after the last one was started.
  const auto resets = std::make_shared<Resets>(exchange, paths.size() + 1);
  exchange->keep(std::make_unique<ResetLink>(resets));
  for (const limitree_path& path : paths) {
    auto waiting = std::make_unique<WaitingReset>(store_loop_, resets);
    limitree_error* error = nullptr;
    const limitree_status status = limitree_reset_async(
        limiter_, path.segments, path.size, request_.leaf_only() ? 1 : 0,
        static_cast<PendingRequest*>(waiting.get()), &error);
    const ErrorHandle owner(error);
    if (status == LIMITREE_PENDING) {
      store_loop_->started(std::move(waiting));
    } else {
      resets->take(status, error);
    }
  }
  resets->take(LIMITREE_OK, nullptr);
}

}  // namespace limitree::server

// A request of HTTP that waits for the store.

#ifndef LIMITREE_SERVER_WEB_EXCHANGE_REQUEST_HPP
#define LIMITREE_SERVER_WEB_EXCHANGE_REQUEST_HPP

#include <memory>

#include "http/exchange.hpp"
#include "limitree.h"
#include "services/store_loop.hpp"

namespace limitree::server {

class ExchangeRequest : public PendingRequest {
 public:
  ExchangeRequest(StoreLoop* loop, Exchange* exchange)
      : PendingRequest(loop, kNever), exchange_(exchange) {
    exchange->keep(std::make_unique<Link>(this));
  }
  // Without memory for the answer there is none.
  ~ExchangeRequest() override {
    if (exchange_ != nullptr) exchange_->keep(nullptr);
  }

  void fail() final {
    if (exchange_ != nullptr) answer_failure(exchange_);
  }

  // Answers, unless the client has gone.
  void complete(const limitree_completion& completion) final {
    if (exchange_ != nullptr) answer(exchange_, completion);
  }

 private:
  // Tells the request that its exchange is over.
  class Link final : public ExchangeState {
   public:
    explicit Link(ExchangeRequest* request) : request_(request) {}
    ~Link() override { request_->exchange_ = nullptr; }

   private:
    ExchangeRequest* request_;
  };

  // The completion may be an error.
  virtual void answer(Exchange* exchange,
                      const limitree_completion& completion) = 0;

  Exchange* exchange_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_WEB_EXCHANGE_REQUEST_HPP

// What a server learns of its exchanges.

#ifndef LIMITREE_SERVER_HTTP_EXCHANGE_OBSERVER_HPP
#define LIMITREE_SERVER_HTTP_EXCHANGE_OBSERVER_HPP

#include <cstddef>

#include "http/request.hpp"
#include "io/timer.hpp"

namespace limitree::server {

// An exchange that a handler had to answer.
struct ExchangeReport {
  std::size_t operation;  // its place in HandlerTable::operations()
  Instant begun;          // of the turn in which the request began to come
  int status;             // 0 if the client did not wait
  const HttpRequest& request;
};

// Belongs to the thread of one loop.
class ExchangeObserver {
 public:
  virtual void on_over(const ExchangeReport& report) = 0;

 protected:
  ~ExchangeObserver() = default;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_HTTP_EXCHANGE_OBSERVER_HPP

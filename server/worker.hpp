// One thread of the service: a loop, its connections and its methods.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "config/settings.hpp"
#include "connection_set.hpp"
#include "decisions/decider.hpp"
#include "decisions/store_loop.hpp"
#include "grpc/call.hpp"
#include "grpc/method.hpp"
#include "http/http_server.hpp"
#include "io/loop.hpp"
#include "limitree.hpp"
#include "services/decision_services.hpp"
#include "services/health.hpp"
#include "trace/request_observer.hpp"
#include "web/decision_pages.hpp"
#include "web/limit_pages.hpp"

namespace limitree::server {

class Worker {
 public:
  // What all workers share, which outlives them.
  struct Shared {
    const ServeSettings* settings;
    limitree_limiter* limiter;
    DescriptorsState* descriptors;
    Permits* permits;
    PutLimits* put_limits;
    const AdminToken* token;
  };

  // Decides with its own handle of the same limiter.  `tracer` may be null.
  Worker(const Shared& shared, std::shared_ptr<Tracer> tracer);
  ~Worker();

  // Call this before start(), or afterwards only on the worker's thread.
  void listen(ListenFor purpose, Fd listener, const Access& access);
  void set_tls(std::shared_ptr<const TlsContext> tls) {
    connections_.set_tls(std::move(tls));
  }

  // Runs `on_stopped` on the worker's thread when the worker ends.
  void start(std::function<void()> on_stopped);

  // From any thread.
  void change_tls(std::shared_ptr<const TlsContext> tls);
  void set_serving(bool serving);
  // Takes no more connections, and stops when all calls have ended or after
  // the grace.
  void drain();
  void stop() { loop_.stop(); }
  void join();

  // The counters, which may be read from any thread.
  const WorkerStats* stats() const { return observer_.stats(); }
  const DeniedCallers* denied() const { return decider_.denied(); }
  // The operations that spans have the numbers of: the paths of all methods,
  // then the operations of HTTP.
  std::vector<std::string> operations();

 private:
  void check_health(Exchange* exchange) const;
  void trim();
  void begin_drain();
  void drain_now();
  void stop_if_empty();

  const ServeSettings* settings_;
  LimiterHandle limiter_;  // outlives what waits for the store
  Loop loop_;
  HealthService health_;
  StoreLoop store_loop_;
  Decider decider_;
  DecisionServices services_;
  MethodTable methods_;
  RequestObserver observer_;
  GrpcServer grpc_;
  DecisionPages pages_;
  LimitPages limit_pages_;
  HttpServer http_;
  ConnectionSet connections_;
  Timer last_connections_;  // the end of listening
  Timer last_call_;         // the end of the grace
  Timer trim_;
  bool draining_ = false;
  std::thread thread_;
};

}  // namespace limitree::server

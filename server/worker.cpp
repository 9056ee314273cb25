#include "worker.hpp"

#include <malloc.h>

#include <optional>
#include <utility>

#include "h2/http2_protocol.hpp"
#include "services/reflection.hpp"

namespace limitree::server {

namespace {

// The time of a TCP handshake with clients in the same network.
constexpr Duration kHandshake = 50 * kMillisecond;

// When clients hold this much less than before, memory is given back to the
// system.
constexpr std::size_t kMuchMemory = 16 * 1024 * 1024;
constexpr Duration kBetweenTrims = 5 * kOneSecond;

}  // namespace

Worker::Worker(const Shared& shared, std::shared_ptr<Tracer> tracer)
    : settings_(shared.settings),
      limiter_(new_loop(shared.limiter)),
      loop_(settings_->low_latency),
      health_({"ratelimit", "envoy.service.ratelimit.v3.RateLimitService",
               "limitree.v1.Limiter", "limitree.v1.Descriptors"}),
      store_loop_(&loop_, limiter_.get()),
      decider_(limiter_.get(), &store_loop_, &settings_->answers,
               shared.descriptors),
      services_(&decider_, &settings_->answers),
      methods_(settings_->max_message_bytes),
      observer_(&loop_, std::move(tracer)),
      grpc_(&methods_, &loop_, &observer_),
      pages_(&decider_, &settings_->answers, &settings_->header_style),
      limit_pages_(shared.put_limits, shared.token),
      http_(settings_->max_message_bytes),
      connections_(&loop_, &settings_->connection, shared.permits,
                   [this] { stop_if_empty(); }),
      last_connections_(&loop_, [this] { drain_now(); }),
      last_call_(&loop_, [this] { loop_.stop(); }),
      trim_(&loop_, [this] { trim(); }) {
  connections_.memory()->set_most(settings_->max_buffered_bytes /
                                  settings_->workers);
  health_.add_to(&methods_);
  add_reflection(&DescriptorIndex::own(), &methods_);
  services_.add_to(&methods_);
  pages_.add_to(http_.handlers());
  limit_pages_.add_to(http_.handlers());
  http_.handlers()->add("/healthcheck", HttpMethods::kGet,
                        [this](Exchange* exchange) { check_health(exchange); });
  http_.handlers()->add(kLivePath, HttpMethods::kGet, answer_alive);
  observer_.set_methods(methods_.paths());
  if (observer_.wants_trace()) http_.handlers()->set_observer(&observer_);
}

std::vector<std::string> Worker::operations() {
  std::vector<std::string> all = methods_.paths();
  const std::vector<std::string>& web = http_.handlers()->operations();
  all.insert(all.end(), web.begin(), web.end());
  return all;
}

Worker::~Worker() { join(); }

void Worker::listen(ListenFor purpose, Fd listener, const Access& access) {
  std::optional<TlsProtocol> tls;
  MakeProtocol make = http_.protocols();
  if (purpose == ListenFor::kHttps) tls = TlsProtocol::kHttp;
  if (purpose == ListenFor::kGrpc) {
    if (connections_.has_tls()) tls = TlsProtocol::kHttp2;
    make = [this](Connection* connection) {
      return std::make_unique<Http2Protocol>(connection, &grpc_);
    };
  }
  connections_.listen(std::move(listener), access, std::move(make), tls);
}

void Worker::change_tls(std::shared_ptr<const TlsContext> tls) {
  loop_.post([this, tls = std::move(tls)] { set_tls(tls); });
}

void Worker::set_serving(bool serving) {
  loop_.post([this, serving] { health_.set_serving(serving); });
}

// 200 and "OK", or 500 without a body, as in envoyproxy/ratelimit.
void Worker::check_health(Exchange* exchange) const {
  exchange->answer()->status = health_.is_serving() ? 200 : 500;
  if (health_.is_serving()) exchange->answer()->body = "OK";
  exchange->finish();
}

void Worker::drain() {
  loop_.post([this] { begin_drain(); });
}

void Worker::start(std::function<void()> on_stopped) {
  thread_ = std::thread([this, on_stopped = std::move(on_stopped)] {
    trim_.set(after(loop_.now(), kBetweenTrims));
    loop_.run();
    connections_.clear();
    on_stopped();
  });
}

void Worker::join() {
  if (thread_.joinable()) thread_.join();
}

void Worker::trim() {
  MemoryBudget* const memory = connections_.memory();
  if (memory->take_peak() > memory->used() + kMuchMemory) {
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
  }
  trim_.set(after(loop_.now(), kBetweenTrims));
}

void Worker::stop_if_empty() {
  if (draining_ && connections_.is_empty()) loop_.stop();
}

// Connections that are just being made must still be served.
void Worker::begin_drain() {
  if (last_connections_.is_set() || draining_) return;
  connections_.stop_connections();
  last_connections_.set(after(loop_.now(), kHandshake));
}

void Worker::drain_now() {
  draining_ = true;
  // Set first, in case there is no memory for what follows.
  last_call_.set(after(loop_.now(), settings_->drain_grace));
  connections_.shut_down(settings_->drain_grace);
  stop_if_empty();
}

}  // namespace limitree::server

#include "worker.hpp"

#include <exception>
#include <utility>

#include "io/trouble.hpp"
#include "process.hpp"

namespace limitree::server {

namespace {

// Of TCP, with clients in the same network.
constexpr Nanoseconds kHandshake = 50 * kMillisecond;

// When clients hold so much less than before, the system gets memory back.
constexpr std::size_t kMuchMemory = 16 * 1024 * 1024;
constexpr Nanoseconds kBetweenTrims = 5 * kSecond;

LimiterHandle new_loop(limitree_limiter* limiter) {
  limitree_limiter* other = nullptr;
  check([&](limitree_error** error) {
    return limitree_limiter_new_loop(limiter, nullptr, &other, error);
  });
  return LimiterHandle(other);
}

}  // namespace

Worker::Worker(const ServeSettings* settings, limitree_limiter* limiter,
               DescriptorsState* descriptors, Permits* permits,
               std::shared_ptr<Tracer> tracer)
    : settings_(settings),
      permits_(permits),
      limiter_(new_loop(limiter)),
      health_({"ratelimit", "envoy.service.ratelimit.v3.RateLimitService",
               "limitree.v1.Limiter"}),
      reflection_(&DescriptorIndex::own()),
      store_loop_(&loop_, limiter_.get()),
      decider_(limiter_.get(), &store_loop_, &settings->answers, descriptors),
      limiter_service_(&decider_),
      envoy_service_(&decider_, &settings->answers),
      methods_(settings->max_message_bytes),
      observer_(&loop_, std::move(tracer)),
      grpc_(&methods_, &loop_, &observer_),
      context_{&loop_, &settings->connection, &grpc_, this, &buffers_},
      limiter_api_(&decider_, settings->header_style),
      envoy_page_(&decider_, &settings->answers),
      web_(&loop_, &settings->connection, &buffers_, permits,
           settings->max_message_bytes, [this] { stop_if_empty(); }),
      last_connections_(&loop_, [this] { drain_now(); }),
      last_call_(&loop_, [this] { loop_.stop(); }),
      trim_(&loop_, [this] { trim(); }) {
  buffers_.memory.set_most(settings->max_buffered_bytes / settings->workers);
  health_.add_to(&methods_);
  reflection_.add_to(&methods_);
  limiter_service_.add_to(&methods_);
  envoy_service_.add_to(&methods_);
  limiter_api_.add_to(web_.handlers());
  envoy_page_.add_to(web_.handlers());
  health_page_.add_to(web_.handlers());
  observer_.set_methods(methods_.paths());
  if (observer_.wants_trace()) web_.handlers()->set_observer(&observer_);
}

std::vector<std::string> Worker::operations() {
  std::vector<std::string> all = methods_.paths();
  const std::vector<std::string>& web = web_.handlers()->operations();
  all.insert(all.end(), web.begin(), web.end());
  return all;
}

Worker::~Worker() { join(); }

void Worker::listen(ListenFor purpose, Fd listener, const Access& access) {
  switch (purpose) {
    case ListenFor::kGrpc:
      listen_for_grpc(std::move(listener), access);
      break;
    case ListenFor::kHttp:
      web_.listen(std::move(listener), access);
      break;
    case ListenFor::kHttps:
      web_.listen_tls(std::move(listener), access);
      break;
    case ListenFor::kAdmin:
    case ListenFor::kMetrics:  // not by a worker
      break;
  }
}

void Worker::listen_for_grpc(Fd listener, const Access& access) {
  acceptors_.push_back(std::make_unique<Acceptor>(
      &loop_, std::move(listener), permits_,
      [this, access](Fd fd, Permit permit) {
        connect(std::move(fd), std::move(permit), access);
      }));
}

void Worker::set_tls(std::shared_ptr<const TlsContext> tls) {
  tls_ = tls;
  web_.set_tls(std::move(tls));
}

void Worker::change_tls(std::shared_ptr<const TlsContext> tls) {
  loop_.post([this, tls = std::move(tls)] { set_tls(tls); });
}

void Worker::set_serving(bool serving) {
  loop_.post([this, serving] {
    health_.set_serving(serving);
    health_page_.set_serving(serving);
  });
}

void Worker::drain() {
  loop_.post([this] { begin_drain(); });
}

void Worker::start(std::function<void()> on_stopped) {
  thread_ = std::thread([this, on_stopped = std::move(on_stopped)] {
    trim_.set(after(loop_.now(), kBetweenTrims));
    loop_.run();
    acceptors_.clear();
    connections_.clear();
    web_.clear();
    on_stopped();
  });
}

void Worker::join() {
  if (thread_.joinable()) thread_.join();
}

// A connection for which there is no memory is closed.
void Worker::connect(Fd fd, Permit permit, const Access& access) {
  try {
    ConnectionContext context = context_;
    context.access = access;
    std::unique_ptr<Transport> transport;
    if (tls_ != nullptr) {
      transport = tls_->accept(std::move(fd), TlsProtocol::kHttp2);
    } else {
      transport = std::make_unique<PlainTransport>(std::move(fd));
    }
    transport->sit(std::move(permit));
    auto connection =
        std::make_unique<Connection>(context, std::move(transport));
    Connection* const key = connection.get();
    connections_.emplace(key, std::move(connection));
  } catch (const std::exception& error) {
    tell_trouble(std::string("a connection is refused: ") + error.what());
  }
}

void Worker::closed(Connection* connection) {
  connections_.erase(connection);
  stop_if_empty();
}

void Worker::trim() {
  if (buffers_.memory.take_peak() > buffers_.memory.used() + kMuchMemory) {
    give_memory_back();
  }
  trim_.set(after(loop_.now(), kBetweenTrims));
}

void Worker::stop_if_empty() {
  if (draining_ && connections_.empty() && web_.is_empty()) loop_.stop();
}

// Connections that are being made want to be served.
void Worker::begin_drain() {
  if (last_connections_.is_set() || draining_) return;
  for (const auto& acceptor : acceptors_) acceptor->stop_connections();
  web_.stop_connections();
  last_connections_.set(after(loop_.now(), kHandshake));
}

void Worker::drain_now() {
  draining_ = true;
  // First: what follows may need memory that is not there.
  last_call_.set(after(loop_.now(), settings_->drain_grace));
  for (const auto& acceptor : acceptors_) acceptor->accept_all();
  acceptors_.clear();
  for (const auto& [key, connection] : connections_) {
    key->drain(settings_->drain_grace);
    key->shut_down_streams();
  }
  web_.drain(settings_->drain_grace);
  stop_if_empty();
}

}  // namespace limitree::server

#include "worker.hpp"

#include <exception>
#include <utility>

#include "log.hpp"

namespace limitree::server {

Worker::Worker(const ServeSettings* settings, limitree_limiter* limiter)
    : settings_(settings),
      health_({"ratelimit", "envoy.service.ratelimit.v3.RateLimitService",
               "limitree.v1.Limiter"}),
      reflection_(&DescriptorIndex::own()),
      store_loop_(&loop_, limiter),
      limiter_service_(&loop_, &store_loop_, limiter),
      rate_limit_service_(&store_loop_, limiter, &settings->answers),
      methods_(settings->max_message_bytes),
      grpc_(&methods_, &loop_),
      context_{&loop_, &settings->connection, &grpc_, this, &buffers_},
      last_call_(&loop_, [this] { loop_.stop(); }) {
  health_.add_to(&methods_);
  reflection_.add_to(&methods_);
  limiter_service_.add_to(&methods_);
  rate_limit_service_.add_to(&methods_);
}

Worker::~Worker() { join(); }

void Worker::listen(Fd listener) {
  acceptors_.push_back(std::make_unique<Acceptor>(
      &loop_, std::move(listener), [this](Fd fd) { connect(std::move(fd)); }));
}

void Worker::set_tls(std::shared_ptr<const TlsContext> tls) {
  tls_ = std::move(tls);
}

void Worker::change_tls(std::shared_ptr<const TlsContext> tls) {
  loop_.post([this, tls = std::move(tls)] { tls_ = tls; });
}

void Worker::set_serving(bool serving) {
  loop_.post([this, serving] { health_.set_serving(serving); });
}

void Worker::drain() {
  loop_.post([this] { drain_now(); });
}

void Worker::start(std::function<void()> on_stopped) {
  thread_ = std::thread([this, on_stopped = std::move(on_stopped)] {
    loop_.run();
    acceptors_.clear();
    connections_.clear();
    on_stopped();
  });
}

void Worker::join() {
  if (thread_.joinable()) thread_.join();
}

// A connection for which there is no memory is closed.
void Worker::connect(Fd fd) {
  try {
    std::unique_ptr<Transport> transport;
    if (tls_ != nullptr) {
      transport = tls_->accept(std::move(fd), TlsProtocol::kHttp2);
    } else {
      transport = std::make_unique<PlainTransport>(std::move(fd));
    }
    auto connection =
        std::make_unique<Connection>(context_, std::move(transport));
    Connection* const key = connection.get();
    connections_.emplace(key, std::move(connection));
  } catch (const std::exception& error) {
    log_line(std::string("a connection is refused: ") + error.what());
  }
}

void Worker::closed(Connection* connection) {
  connections_.erase(connection);
  if (draining_ && connections_.empty()) loop_.stop();
}

void Worker::drain_now() {
  if (draining_) return;
  draining_ = true;
  for (const auto& acceptor : acceptors_) acceptor->accept_all();
  acceptors_.clear();
  for (const auto& [key, connection] : connections_) {
    key->drain(settings_->drain_grace);
    key->shut_down_streams();
  }
  last_call_.set(after(loop_.now(), settings_->drain_grace));
  if (connections_.empty()) loop_.stop();
}

}  // namespace limitree::server

#include "connection_set.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <string>
#include <utility>

#include "io/address.hpp"
#include "io/failure.hpp"
#include "io/trouble.hpp"
#include "log.hpp"

namespace limitree::server {

namespace {

// Existing connections must be served, too.
constexpr int kMaxPerTurn = 64;

// The wait until the next attempt if there are no descriptors or no memory.
constexpr Duration kPause = 100 * kMillisecond;

// After this time a message is logged again, if it still applies.
constexpr Duration kQuiet = 60 * kOneSecond;

// Only one of the workers that share a Unix socket is woken.
constexpr std::uint32_t kEvents = EPOLLIN | EPOLLEXCLUSIVE;

}  // namespace

Acceptor::Acceptor(Loop* loop, Fd listener, Permits* permits,
                   OnConnection on_connection)
    : loop_(loop),
      listener_(std::move(listener)),
      permits_(permits),
      on_connection_(std::move(on_connection)),
      resume_(loop, [this] { resume(); }) {
  loop_->add(listener_.get(), kEvents, this);
}

Acceptor::~Acceptor() { loop_->remove(listener_.get(), this); }

void Acceptor::on_ready(std::uint32_t /*events*/) {
  for (int i = 0; i < kMaxPerTurn && accept_one(); ++i) {
  }
}

void Acceptor::stop_connections() {
  limitree::stop_connections(listener_.get());
}

void Acceptor::accept_all() {
  while (accept_one()) {
  }
}

bool Acceptor::accept_one() {
  Fd fd = accept_from(listener_.get());
  if (fd) {
    take(std::move(fd));
    return true;
  }
  // A client that is already gone is not a reason to stop.
  if (errno == ECONNABORTED || errno == EINTR || errno == EPROTO) return true;
  if (errno != EAGAIN && errno != EWOULDBLOCK) pause();
  return false;
}

// Without a permit, the connection is closed at once, so that the client goes
// elsewhere.
void Acceptor::take(Fd fd) {
  if (permits_ == nullptr) {
    on_connection_(std::move(fd), Permit());
  } else if (Permit permit = permits_->take()) {
    on_connection_(std::move(fd), std::move(permit));
  } else {
    complain("connections are refused: there are " +
             std::to_string(permits_->count()));
  }
}

void Acceptor::complain(const std::string& about) {
  if (loop_->now() < quiet_until_) return;
  log_line(LogLevel::kWarning, about);
  quiet_until_ = after(loop_->now(), kQuiet);
}

void Acceptor::resume() {
  try {
    loop_->add(listener_.get(), kEvents, this);
  } catch (const Failure&) {
    resume_.set(after(loop_->now(), kPause));
  }
}

void Acceptor::pause() {
  if (resume_.is_set()) return;
  complain("no new connections for now: " + error_text(errno));
  loop_->remove(listener_.get(), this);
  resume_.set(after(loop_->now(), kPause));
}

// ---- The set ----------------------------------------------------------------

ConnectionSet::ConnectionSet(Loop* loop, const ConnectionSettings* settings,
                             Permits* permits, std::function<void()> on_empty)
    : context_{loop, settings, &buffers_, this},
      permits_(permits),
      on_empty_(std::move(on_empty)) {}

void ConnectionSet::listen(Fd listener, const Access& access, MakeProtocol make,
                           std::optional<TlsProtocol> tls) {
  acceptors_.push_back(std::make_unique<Acceptor>(
      context_.loop, std::move(listener), permits_,
      [this, access, make = std::move(make), tls](Fd fd, Permit permit) {
        connect(std::move(fd), std::move(permit), access, make, tls);
      }));
}

// A connection for which there is no memory is closed.
void ConnectionSet::connect(Fd fd, Permit permit, const Access& access,
                            const MakeProtocol& make,
                            std::optional<TlsProtocol> tls) {
  try {
    make_room();
    ConnectionContext context = context_;
    context.access = access;
    auto transport = tls ? tls_->accept(std::move(fd), *tls)
                         : std::make_unique<PlainTransport>(std::move(fd));
    auto connection = std::make_unique<Connection>(
        context, std::move(transport), std::move(permit), make);
    Connection* const key = connection.get();
    connections_.emplace(key, std::move(connection));
  } catch (const std::exception& error) {
    tell_trouble("a connection is refused", error.what());
  }
}

void ConnectionSet::make_room() {
  if (connections_.size() < most_) return;
  connections_.erase(std::ranges::min_element(
      connections_, {}, [](const auto& one) { return one.first->heard_at(); }));
}

void ConnectionSet::closed(Connection* connection) {
  connections_.erase(connection);
  if (connections_.empty()) on_empty_();
}

void ConnectionSet::stop_connections() {
  for (const auto& acceptor : acceptors_) acceptor->stop_connections();
}

void ConnectionSet::shut_down(Duration grace) {
  for (const auto& acceptor : acceptors_) acceptor->accept_all();
  acceptors_.clear();
  for (const auto& [key, connection] : connections_) key->shut_down(grace);
}

void ConnectionSet::clear() {
  acceptors_.clear();
  connections_.clear();
}

}  // namespace limitree::server

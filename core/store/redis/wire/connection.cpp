#include "store/redis/wire/connection.hpp"

#include <time.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "store/redis/wire/dialer.hpp"
#include "store/redis/wire/greeting.hpp"
#include "store/redis/wire/pipeline.hpp"
#include "store/redis/wire/reader.hpp"
#include "store/redis/wire/stream.hpp"

namespace limitree::redis {

namespace {

// Read by one call of recv().
constexpr std::size_t kReceiveSize = std::size_t{16} << 10U;

// After so long without traffic a connection may have been closed by the
// server, or by something in between.
constexpr std::int64_t kIdleNs = 10'000'000;

// Exact to a few milliseconds, and several times as fast as the exact time.
std::int64_t coarse_ns() {
#ifdef CLOCK_MONOTONIC_COARSE
  constexpr clockid_t kClock = CLOCK_MONOTONIC_COARSE;
#else
  constexpr clockid_t kClock = CLOCK_MONOTONIC;
#endif
  timespec time{};
  clock_gettime(kClock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

class Connection::Impl {
 public:
  Impl(const Endpoint& endpoint, const Settings& settings, const Login& login)
      : host_(endpoint.host),
        tls_context_(settings.tls_context.get()),
        login_(login),
        dialer_(std::in_place, endpoint) {
    dial();
    flush();
  }

  ~Impl() { close(Failure::kCancelled, "the connection was given up"); }

  int fd() const {
    if (stream_) return stream_->fd();
    return dialer_ ? dialer_->fd() : -1;
  }

  bool wants_write() const {
    if (!stream_) return dialer_ && dialer_->wants_write();
    return !hello_.empty() || stream_->pending() > 0 ||
           (ready() && !pipeline_.is_idle());
  }

  bool ready() const { return state_ == State::kReady; }
  bool closed() const { return state_ == State::kClosed; }
  Failure failure() const { return failure_; }
  const std::string& detail() const { return detail_; }
  bool owed() const { return owed_; }
  const char* waits_for() const;
  bool looks_up() const { return dialer_ && !dialer_->wants_write(); }
  std::uint32_t steps() const { return steps_; }
  std::size_t in_flight() const { return pipeline_.in_flight(); }
  std::size_t unsent() const {
    return hello_.size() + pipeline_.unsent() +
           (stream_ ? stream_->pending() : 0);
  }

  void push(Command* command, bool asking);
  bool abandon(const Command* command) { return pipeline_.abandon(command); }
  void flush();
  void run();
  void close(Failure failure, std::string detail);
  void abandon_after_fork();

 private:
  enum class State : std::uint8_t {
    kDialing,
    kSecuring,
    kGreeting,
    kReady,
    kClosed,
  };

  void dial();
  void greet();

  void look_before_sending();
  bool send(Outbox* box);

  void receive();
  void deliver(std::string_view bytes);
  void deliver(Reply reply);
  void refuse(const redisReply& reply);
  void let_go();

  const std::string host_;
  const TlsContext* const tls_context_;  // null without TLS
  const Login& login_;

  State state_ = State::kDialing;
  Failure failure_ = Failure::kNone;
  std::string detail_;
  bool owed_ = false;
  std::uint32_t steps_ = 0;

  std::optional<Dialer> dialer_;  // until there is a stream
  std::optional<Stream> stream_;
  std::optional<Greeting> greeting_;
  Reader reader_;
  Outbox hello_;  // the greeting
  Pipeline pipeline_;
  std::int64_t last_traffic_ns_ = 0;
  std::array<char, kReceiveSize> received_;
};

// ---- connecting -------------------------------------------------------------

void Connection::Impl::dial() {
  if (dialer_->failed()) {
    close(dialer_->failure(), dialer_->detail());
    return;
  }
  const int socket = dialer_->take_socket();
  if (socket < 0) return;
  dialer_.reset();
  stream_.emplace(socket, tls_context_, host_);
  state_ = State::kSecuring;
  ++steps_;
  greet();
}

// As soon as the stream may be trusted.
void Connection::Impl::greet() {
  if (state_ != State::kSecuring || !stream_->established()) return;
  ++steps_;
  greeting_.emplace(login_, hello_.tail());
  state_ = greeting_->answered() ? State::kReady : State::kGreeting;
  last_traffic_ns_ = coarse_ns();
}

const char* Connection::Impl::waits_for() const {
  switch (state_) {
    case State::kDialing:
      return looks_up() ? "the name is looked up" : "no answer to connecting";
    case State::kSecuring:
      return "no answer to the TLS handshake, does the server speak TLS?";
    case State::kGreeting:
      return "no answer to the login";
    case State::kReady:
    case State::kClosed:
      break;
  }
  return "";
}

// ---- sending ----------------------------------------------------------------

void Connection::Impl::push(Command* command, bool asking) {
  if (closed()) {
    command->complete(
        Outcome::lost(Outcome::Fate::kNotSent, failure_, detail_));
    return;
  }
  pipeline_.push(command, asking);
}

void Connection::Impl::flush() {
  if (!stream_) return;
  if (ready() && pipeline_.outbox()->empty()) pipeline_.join();
  look_before_sending();
  if (closed() || !send(&hello_) || !ready()) return;
  while (send(pipeline_.outbox()) && !closed() && pipeline_.has_gathered()) {
    pipeline_.join();
  }
}

// What is written to a connection that the server has closed is lost without
// our knowing whether it was carried out.  Where that may be, to look first
// costs a system call, and saves the command.
void Connection::Impl::look_before_sending() {
  if (!ready() || pipeline_.outbox()->empty() || pipeline_.has_sent()) {
    return;  // nothing to send, or an answer is due anyway
  }
  if (coarse_ns() - last_traffic_ns_ > kIdleNs) receive();
}

// Whether all of it has gone.
bool Connection::Impl::send(Outbox* box) {
  if (stream_->send(box)) return true;
  if (!stream_->failed()) return false;
  // What the server said before it hung up is still there to be read.
  receive();
  return false;
}

// ---- receiving --------------------------------------------------------------

void Connection::Impl::run() {
  if (closed()) return;
  if (dialer_) {
    const bool connecting = dialer_->wants_write();
    dialer_->run();
    if (dialer_->wants_write() != connecting) ++steps_;
    dial();
  } else {
    receive();
  }
  flush();
}

void Connection::Impl::receive() {
  std::size_t received = 0;
  do {
    received = stream_->receive(received_.data(), received_.size());
    greet();
    if (received == 0) break;
    last_traffic_ns_ = coarse_ns();
    deliver(std::string_view(received_.data(), received));
  } while (!closed() && received == received_.size());
  if (!closed() && stream_->failed()) {
    std::string detail = stream_->detail();
    // Those who speak TLS may hang up on who does not without a word.
    if (state_ == State::kGreeting && tls_context_ == nullptr) {
      detail += " before it answered the login (does it speak TLS?)";
    }
    close(stream_->failure(), std::move(detail));
  }
}

void Connection::Impl::deliver(std::string_view bytes) {
  reader_.feed(bytes);
  while (!closed()) {
    Reply reply = reader_.next();
    if (reply == nullptr) break;
    deliver(std::move(reply));
  }
  if (reader_.failed()) close(Failure::kProtocol, reader_.detail());
}

void Connection::Impl::deliver(Reply reply) {
  if (state_ == State::kGreeting) {
    std::string detail;
    const Failure failure = greeting_->answer(*reply, &detail);
    ++steps_;
    if (failure != Failure::kNone) {
      close(failure, std::move(detail));
    } else if (greeting_->answered()) {
      state_ = State::kReady;
    }
    return;
  }
  if (pipeline_.expects_reply()) {
    pipeline_.answer(std::move(reply));
  } else {
    refuse(*reply);
  }
}

// A reply to what was not asked.  A server may say so why it will not talk to
// us; anything else means that replies and commands no longer match.
void Connection::Impl::refuse(const redisReply& reply) {
  if (reply.type == REDIS_REPLY_ERROR) {
    const std::string_view text(reply.str, reply.len);
    if (is_outage(failure_of(text))) {
      close(failure_of(text), std::string(text));
      return;
    }
  }
  close(Failure::kProtocol, "a reply that nobody asked for");
}

// ---- closing ----------------------------------------------------------------

void Connection::Impl::close(Failure failure, std::string detail) {
  if (closed()) return;
  state_ = State::kClosed;
  owed_ = pipeline_.has_sent();
  failure_ = failure;
  detail_ = std::move(detail);
  let_go();
  pipeline_.fail(failure_, detail_);
}

// Says nothing to the server, so it may be done for a copy of the socket, too.
void Connection::Impl::let_go() {
  dialer_.reset();
  stream_.reset();
  hello_ = {};
}

void Connection::Impl::abandon_after_fork() {
  if (closed()) return;
  if (dialer_) dialer_->abandon_after_fork();
  state_ = State::kClosed;
  failure_ = Failure::kCancelled;
  detail_ = "the connection is the parent's";
  let_go();
  pipeline_ = {};
}

// ---- Connection -------------------------------------------------------------

Connection::Connection(const Endpoint& endpoint, const Settings& settings,
                       const Login& login)
    : impl_(std::make_unique<Impl>(endpoint, settings, login)) {}
Connection::~Connection() = default;

int Connection::fd() const { return impl_->fd(); }
bool Connection::wants_write() const { return impl_->wants_write(); }
bool Connection::ready() const { return impl_->ready(); }
bool Connection::closed() const { return impl_->closed(); }
Failure Connection::failure() const { return impl_->failure(); }
const std::string& Connection::detail() const { return impl_->detail(); }
bool Connection::owed() const { return impl_->owed(); }
const char* Connection::waits_for() const { return impl_->waits_for(); }
bool Connection::looks_up() const { return impl_->looks_up(); }
std::uint32_t Connection::steps() const { return impl_->steps(); }
std::size_t Connection::in_flight() const { return impl_->in_flight(); }
std::size_t Connection::unsent() const { return impl_->unsent(); }

void Connection::push(Command* command, bool asking) {
  impl_->push(command, asking);
}
bool Connection::abandon(Command* command) { return impl_->abandon(command); }
void Connection::flush() { impl_->flush(); }
void Connection::run() { impl_->run(); }
void Connection::close(Failure failure, std::string detail) {
  impl_->close(failure, std::move(detail));
}
void Connection::abandon_after_fork() { impl_->abandon_after_fork(); }

}  // namespace limitree::redis

#include "store/remote/wire/connection.hpp"

#include <sys/socket.h>
#include <time.h>

#include <array>
#include <new>
#include <utility>

#include "io/failure.hpp"
#include "io/socket.hpp"
#include "io/tls_stream.hpp"
#include "store/remote/wire/tls_certificates.hpp"

namespace limitree::remote {

namespace {

// Read by one call of recv().
constexpr std::size_t kReceiveSize = std::size_t{16} << 10U;

// After this time without traffic, the server, or something in between, may
// have closed a connection.
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

// A node's health is shared, so it uses the real time.  The owner of a
// connection may use a time that leaves out when the owner could not run.
Monotonic real_now() { return std::chrono::steady_clock::now(); }

}  // namespace

Connection::Connection(Node* node, const Settings& settings)
    : node_(*node),
      settings_(settings),
      dialog_(node->protocol().new_dialog()) {}

Connection::~Connection() {
  dialog_->fail(Failure::kCancelled, "the connection was given up");
}

int Connection::fd() const {
  if (stream_) return stream_->fd();
  return dialer_ ? dialer_->fd() : -1;
}

bool Connection::wants_write() const {
  if (!stream_) return dialer_ && dialer_->wants_write();
  return !hello_.empty() || stream_->wants_write() || (ready() && !is_idle());
}

std::size_t Connection::unsent() const {
  return hello_.size() + dialog_->unsent() + (stream_ ? stream_->pending() : 0);
}

// ---- connecting -------------------------------------------------------------

bool Connection::prepare(Monotonic now, bool alone) {
  if (open() && alone && (in_flight() > 0 || !ready())) run(now);
  open() ? renew(now) : connect(now);
  return !overdue(now);
}

void Connection::renew(Monotonic now) {
  const char* const why = reason_to_give_up(now);
  if (why == nullptr) return;
  close(Failure::kTimeout, why);
  connect(now);
}

void Connection::connect(Monotonic now) {
  ++generation_;
  failure_ = Failure::kNone;
  detail_.clear();
  was_ready_ = false;
  heard_ = now;
  dialog_ = node_.protocol().new_dialog();
  dialer_.emplace(node_.endpoint());
  state_ = State::kDialing;
  dial();
  flush();
  stepped_ = false;
}

void Connection::dial() {
  if (dialer_->failed()) {
    end(dialer_->has_address() ? Failure::kRefused : Failure::kResolve,
        dialer_->detail());
    return;
  }
  if (!dialer_->connected()) return;
  // If there is no memory for it, the dialer is still there.
  try {
    stream_.emplace(make_transport(dialer_->take_socket()));
  } catch (const limitree::Failure& failure) {
    return end(Failure::kTls,
               std::string(Transport::kTlsTrouble) + failure.what());
  }
  dialer_.reset();
  state_ = State::kSecuring;
  stepped_ = true;
  greet();
}

std::unique_ptr<Transport> Connection::make_transport(Fd socket) const {
  if (settings_.certificates == nullptr) {
    return std::make_unique<PlainTransport>(std::move(socket));
  }
  return connect_tls(*settings_.certificates->context(), std::move(socket),
                     node_.endpoint().host, TlsProtocol::kOther);
}

// As soon as the stream may be trusted.
void Connection::greet() {
  if (state_ != State::kSecuring || !stream_->established()) return;
  stepped_ = true;
  try {
    const bool is_ready = dialog_->greet(hello_.tail());
    state_ = is_ready ? State::kReady : State::kGreeting;
  } catch (const limitree::Failure& failure) {
    return end(Failure::kNoAuth, failure.what());
  } catch (...) {
    hello_ = {};  // it is said anew
    throw;
  }
  last_traffic_ns_ = coarse_ns();
}

const char* Connection::waits_for() const {
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

// ---- silence ----------------------------------------------------------------

Duration Connection::silence(Monotonic now) const {
  if (!open() || (ready() && in_flight() == 0)) return Duration::zero();
  const Duration silent = now - heard_;
  const Duration usual = std::min(usual_silence(), settings_.connect_timeout);
  const bool unread =
      silent > usual && wait_for(fd(), !ready() && wants_write(), Monotonic{});
  return unread ? Duration::zero() : silent;
}

// Null if there is none.
const char* Connection::reason_to_give_up(Monotonic now) const {
  const Duration silent = silence(now);
  if (ready()) {
    return silent > std::max(kLongestSilence, usual_silence()) ? "no answer"
                                                               : nullptr;
  }
  const Duration longest =
      looks_up() ? kLongestLookup : settings_.connect_timeout;
  return silent > longest ? waits_for() : nullptr;
}

bool Connection::overdue(Monotonic now) {
  if (silence(now) <= usual_silence()) return false;
  node_.health().silent(real_now());
  return true;
}

Outcome Connection::expired(bool sent, Monotonic now) {
  const bool silent = overdue(now);
  if (!sent && ready() && !silent) return Outcome::came_late();
  return Outcome::timed_out(sent, waits_for());
}

// The server has answered, so callers that were refused because of its silence
// need not wait any longer.
void Connection::note_progress(Monotonic now) {
  if (now - heard_ > usual_silence()) node_.health().let_try(real_now());
  heard_ = now;
}

// ---- sending ----------------------------------------------------------------

void Connection::push(Command* command, bool asking, Monotonic now) {
  if (!open()) {
    command->complete(
        Outcome::lost(Outcome::Fate::kNotSent, failure_, detail_));
    return;
  }
  if (ready() && in_flight() == 0) heard_ = now;
  dialog_->push(command, asking);
}

void Connection::flush() {
  if (!stream_) return;
  if (ready() && dialog_->outbox()->empty()) dialog_->join();
  look_before_sending();
  if (!open() || !send(&hello_) || !ready()) return;
  while (send(dialog_->outbox()) && open() && dialog_->has_gathered()) {
    dialog_->join();
  }
}

// If the server has closed the connection, bytes written to it are lost, and
// nobody knows whether the command was carried out.  If that is possible, a
// look costs a system call, and saves the command.
void Connection::look_before_sending() {
  if (!ready() || dialog_->outbox()->empty() || dialog_->has_sent()) {
    return;  // nothing to send, or an answer is due anyway
  }
  if (coarse_ns() - last_traffic_ns_ > kIdleNs) receive();
}

// Returns whether all of it has been sent.
bool Connection::send(Outbox* box) {
  if (stream_->send(box)) return true;
  if (!stream_->failed()) return false;
  // What the server said before it hung up is still there to be read.
  receive();
  return false;
}

// ---- receiving --------------------------------------------------------------

void Connection::run(Monotonic now) {
  const std::size_t before = in_flight();
  if (open()) step();
  if (in_flight() < before) note_progress(now);
  if (was_ready_) return;
  if (std::exchange(stepped_, false)) note_progress(now);
  if (!ready()) return;
  was_ready_ = true;
  ready_at_ = real_now();
  heard_ = now;
  node_.traffic().connects.fetch_add(1, std::memory_order_relaxed);
}

void Connection::step() {
  if (dialer_) {
    const bool connecting = dialer_->wants_write();
    dialer_->run();
    if (dialer_->wants_write() != connecting) stepped_ = true;
    dial();
  } else {
    receive();
  }
  flush();
}

void Connection::receive() {
  std::array<char, kReceiveSize> bytes;
  std::size_t received = 0;
  do {
    received = stream_->receive(bytes.data(), bytes.size());
    greet();
    if (received == 0 || !open()) break;
    last_traffic_ns_ = coarse_ns();
    deliver(std::string_view(bytes.data(), received));
  } while (open() && received == bytes.size());
  if (open() && stream_->failed()) {
    std::string detail = stream_->detail();
    // A server that speaks TLS may close the connection of a client that does
    // not, without an answer.
    if (state_ == State::kGreeting && settings_.certificates == nullptr) {
      detail += " before it answered the login (does it speak TLS?)";
    }
    end(stream_->failure(), std::move(detail));
  }
}

void Connection::deliver(std::string_view bytes) {
  try {
    dialog_->feed(bytes);
  } catch (const std::bad_alloc&) {
    // Without these bytes, later replies would be those of other commands.
    return end(Failure::kLost, "no memory");
  }
  while (open()) {
    switch (dialog_->next()) {
      case Dialog::Event::kNothing:
        return;
      case Dialog::Event::kStep:
        stepped_ = true;
        break;
      case Dialog::Event::kReady:
        stepped_ = true;
        state_ = State::kReady;
        // The server was down and is back: callers need not wait any longer.
        node_.health().let_try(real_now());
        break;
      case Dialog::Event::kAnswered:
        break;
      case Dialog::Event::kFailed:
        if (state_ == State::kGreeting) stepped_ = true;
        return end(dialog_->failure(), dialog_->detail());
    }
  }
}

// ---- closing ----------------------------------------------------------------

// Servers close idle connections, which says nothing against them.
void Connection::end(Failure failure, std::string detail) {
  if (!open()) return;
  const bool idle =
      was_ready_ && failure == Failure::kLost && !dialog_->has_sent();
  if (is_outage(failure) && !idle) {
    was_ready_&& failure == Failure::kLost
        ? node_.health().broke(ready_at_, real_now())
        : node_.health().failed(failure, real_now());
  }
  state_ = State::kClosed;
  failure_ = failure;
  detail_ = std::move(detail);
  dialer_.reset();
  stream_.reset();
  hello_ = {};
  // The socket stays open as long as a copy of it does.
  if (read_end_ != nullptr) read_end_->hang_up();
  read_end_.reset();
  dialog_->fail(failure_, detail_);
}

void Connection::close(Failure failure, std::string detail) {
  if (!open()) return;
  // Wakes a thread that polls the descriptor; closing it would not.
  shutdown(fd(), SHUT_RDWR);
  end(failure, std::move(detail));
}

std::shared_ptr<const ReadEnd> Connection::read_end() {
  if (read_end_ == nullptr && ready()) {
    read_end_ = std::make_shared<ReadEnd>(fd());
  }
  return read_end_ != nullptr && read_end_->valid() ? read_end_ : nullptr;
}

// Threads of the parent may have held the copy: they never give it back.
void Connection::abandon_after_fork() {
  if (dialer_) dialer_->abandon_after_fork();
  dialer_.reset();
  stream_.reset();
  hello_ = {};
  dialog_ = node_.protocol().new_dialog();
  if (open()) {
    state_ = State::kClosed;
    failure_ = Failure::kCancelled;
    detail_ = "the connection is the parent's";
  }
  if (read_end_ != nullptr) read_end_->close();
  read_end_.reset();
}

}  // namespace limitree::remote

#include "net/connection.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <random>
#include <utility>

#include "io/trouble.hpp"

namespace limitree::server {

namespace {

// How long a client may take to read the end of a connection.
constexpr Duration kLinger = 2 * kOneSecond;

// `age`, changed by up to 10%, so that not all clients come back at once.
Duration with_jitter(Duration age) {
  if (age == kNever) return age;
  thread_local std::minstd_rand random{std::random_device{}()};
  return age - age / 10 +
         Duration(std::uniform_int_distribution<std::int64_t>(
             0, (age / 5).count())(random));
}

}  // namespace

Connection::Connection(const ConnectionContext& context,
                       std::unique_ptr<Transport> transport, Permit permit)
    : context_(context),
      permit_(std::move(permit)),
      transport_(std::move(transport)),
      memory_(&context.buffers->memory),
      watched_(EPOLLIN),
      heard_at_(now()),
      drain_at_(after(now(), with_jitter(context.settings->max_age))),
      watchdog_(context.loop, [this] { guarded([this] { check_times(); }); }) {}

// The destructor runs if this throws.
Connection::Connection(const ConnectionContext& context,
                       std::unique_ptr<Transport> transport, Permit permit,
                       const MakeProtocol& make)
    : Connection(context, std::move(transport), std::move(permit)) {
  protocol_ = make(this);
  context_.loop->add(transport_->fd(), watched_, this);
  write_soon();
  check_times();
}

Connection::~Connection() {
  protocol_.reset();
  context_.loop->remove(transport_->fd(), this);
  context_.loop->forget(this);
}

// Closes the connection if there is no memory, because it is unknown what was
// sent.
template <typename Work>
void Connection::guarded(const Work& work) {
  if (!limitree::guarded(work)) close();
}

// ---- Reading ----------------------------------------------------------------

// A client that does not read its answers does not get answers forever.
bool Connection::reads() const {
  if (phase_ != Phase::kOpen) return phase_ == Phase::kLingering;
  return !is_blocked() && !input_ended_ && protocol_->takes_bytes();
}

void Connection::on_ready(std::uint32_t events) {
  // Such a client gets no answer, and the loop would report the event again and
  // again.
  if (!reads() && (events & (EPOLLHUP | EPOLLERR)) != 0) close();
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 ||
      transport_->needs() == EPOLLOUT) {
    guarded([this] { receive(); });
  }
  write_soon();
}

void Connection::receive() {
  while (reads()) {
    const IoResult got = transport_->read(context_.buffers->in);
    if (got.outcome == Io::kClosed) {
      input_ended_ = true;
      if (phase_ == Phase::kLingering) return close();
      return protocol_->on_input_end();
    }
    if (got.outcome != Io::kDone) return;
    take({context_.buffers->in.data(), got.size});
    if (!transport_->has_buffered()) return;
  }
}

void Connection::take(std::string_view bytes) {
  heard_at_ = now();
  if (phase_ == Phase::kOpen) {
    protocol_->on_bytes(bytes);
  } else {
    lingered_bytes_ += bytes.size();
    if (lingered_bytes_ > settings().max_linger_bytes) close();
  }
}

void Connection::change_protocol(std::unique_ptr<Protocol> next,
                                 std::string_view bytes) {
  protocol_.swap(next);
  if (draining_) protocol_->on_drain();
  protocol_->on_bytes(bytes);
  check_times();
}

// ---- Writing ----------------------------------------------------------------

// At the end of the turn everything is written at once.
void Connection::on_turn_end() {
  guarded([this] {
    flush();
    // The socket does not report bytes that the transport has already read.
    if (transport_->has_buffered() && reads()) {
      receive();
      write_soon();
    }
    if (phase_ == Phase::kClosed) return;
    account();
    watch();
  });
  if (phase_ == Phase::kClosed) context_.owner->closed(this);  // destroys this
}

// Counts what is not sent yet.
void Connection::account() {
  memory_.change(accounted_, unsent());
  accounted_ = unsent();
}

void Connection::flush() {
  if (phase_ != Phase::kOpen) return;
  std::string& spare = context_.buffers->out;
  while (write_out()) {
    account();  // the protocol may refuse a client that holds too much
    // The buffers change their roles, so that nothing is copied.
    out_.swap(spare);
    protocol_->on_written();
    const bool wrote = !out_.empty();
    if (!write_out()) break;
    out_.swap(spare);
    if (!wrote) break;
  }
  if (phase_ != Phase::kOpen) return;
  if (is_blocked()) {
    wake_at(after(blocked_at_, settings().write_timeout));
  } else if (protocol_->is_over()) {
    linger();
  }
}

// Writes out_; false if some of it is left.
bool Connection::write_out() {
  while (unsent() > 0) {
    const IoResult put =
        transport_->write(std::string_view(out_).substr(written_));
    if (put.outcome == Io::kClosed) close();
    if (put.outcome != Io::kDone) {
      if (!is_blocked()) blocked_at_ = now();
      return false;
    }
    written_ += put.size;
    // Any progress is enough.
    if (is_blocked()) blocked_at_ = now();
  }
  out_.clear();
  if (is_blocked()) out_.shrink_to_fit();
  written_ = 0;
  blocked_at_ = Monotonic::max();
  return phase_ == Phase::kOpen;
}

void Connection::watch() {
  std::uint32_t events = transport_->needs();
  if (is_blocked() && events == 0) events = EPOLLOUT;
  if (reads()) events |= EPOLLIN;
  if (events == watched_) return;
  watched_ = events;
  context_.loop->change(transport_->fd(), events, this);
}

// ---- The end ----------------------------------------------------------------

// Gives the client time to read what is on its way: an immediate close could
// destroy it.
void Connection::linger() {
  if (input_ended_) return close();
  phase_ = Phase::kLingering;
  transport_->shut_down();
  end_at_ = after(now(), kLinger);
  wake_at(end_at_);
}

void Connection::close() {
  phase_ = Phase::kClosed;
  write_soon();
}

void Connection::drain(Duration grace) {
  if (phase_ != Phase::kOpen) return;
  draining_ = true;
  end_at_ = std::min(end_at_, after(now(), grace));
  wake_at(end_at_);
  protocol_->on_drain();
  write_soon();
}

void Connection::shut_down(Duration grace) {
  shutting_down_ = true;
  drain(grace);
}

void Connection::check_times() {
  Monotonic due = end_at_;
  if (is_blocked()) {
    due = std::min(due, after(blocked_at_, settings().write_timeout));
  }
  if (now() >= due) return close();
  if (phase_ == Phase::kOpen) {
    if (now() >= drain_at_ && !draining_) drain(settings().max_age_grace);
    if (!draining_) due = std::min(due, drain_at_);
    due = std::min(due, protocol_->check_times());
  }
  if (phase_ != Phase::kClosed) wake_at(due);
}

void Connection::wake_at(Monotonic at) {
  if (watchdog_.is_set() && wake_ <= at) return;
  wake_ = at;
  watchdog_.set(at);
}

}  // namespace limitree::server

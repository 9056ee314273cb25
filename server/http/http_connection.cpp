#include "http/http_connection.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "io/trouble.hpp"

namespace limitree::server {

namespace {

// No request of HTTP/1.1 begins as HTTP/2 does.
constexpr std::string_view kHttp2 = "PRI";

// A client that has so many bytes to read must read before its next request is
// answered.
constexpr std::size_t kMaxUnsent = 64 * 1024;

// HTTP/1.1 has no ping: a silent client may have gone.
constexpr Nanoseconds kIdle = 120 * kSecond;
// How long a client may take to read the end of a connection.
constexpr Nanoseconds kLinger = 2 * kSecond;
// While draining: how long the next request may take to come.
constexpr Nanoseconds kNotice = kSecond;

}  // namespace

HttpConnection::HttpConnection(const HttpContext& context,
                               std::unique_ptr<Transport> transport)
    : context_(context),
      transport_(std::move(transport)),
      exchange_(this),
      reader_(exchange_.mutable_request(),
              {context.settings->max_header_bytes,
               context.handlers->max_body_bytes()}),
      memory_(&context.buffers->memory),
      watched_(EPOLLIN),
      begun_(context.loop->now()),
      idle_since_(begun_),
      drain_at_(after(begun_, with_jitter(context.settings->max_age))),
      watchdog_(context.loop, [this] { guarded([this] { check_times(); }); }) {
  context_.loop->add(transport_->fd(), watched_, this);
  wake_at(due());
}

HttpConnection::~HttpConnection() {
  context_.loop->forget(this);
  if (transport_ != nullptr) context_.loop->remove(transport_->fd(), this);
  exchange_.clear();
}

// A connection without memory cannot know what it has said: it is closed.
template <typename Work>
void HttpConnection::guarded(const Work& work) {
  if (!server::guarded(work)) close_now();
}

// ---- Reading ----------------------------------------------------------------

void HttpConnection::on_ready(std::uint32_t events) {
  const bool reads = can_take() || phase_ == Phase::kLingering;
  if (!reads && (events & (EPOLLHUP | EPOLLERR)) != 0) close_now();
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 ||
      transport_->needs() == EPOLLOUT) {
    guarded([this] { receive(); });
  }
  if (http2_ == nullptr) write_soon();
}

void HttpConnection::receive() {
  const bool lingers = phase_ == Phase::kLingering;
  while (lingers || can_take()) {
    const IoResult got = transport_->read(context_.buffers->in);
    if (got.outcome == Io::kClosed) input_ends();
    if (got.outcome != Io::kDone) return;
    if (lingers) {
      lingered_bytes_ += got.size;
      const std::size_t most = context_.settings->max_linger_bytes;
      if (lingered_bytes_ > most) close_now();
    } else {
      take({context_.buffers->in.data(), got.size});
    }
    if (http2_ != nullptr || !transport_->has_buffered()) return;
  }
}

// The client may have closed its side only.
void HttpConnection::input_ends() {
  input_ended_ = last_ = true;
  if (!busy_ && unsent() == 0) close_now();
}

bool HttpConnection::can_take() const {
  return phase_ == Phase::kOpen && !busy_ && !last_ && pending_.empty() &&
         unsent() <= kMaxUnsent;
}

// False if more bytes have to come, or if http2_ has got them.
bool HttpConnection::knows_protocol(std::string_view bytes) {
  if (known_) return true;
  opening_.append(bytes);
  if (opening_.size() < kHttp2.size() && kHttp2.starts_with(opening_)) {
    return false;
  }
  known_ = true;
  if (!opening_.starts_with(kHttp2)) return true;
  become_http2();
  return false;
}

void HttpConnection::become_http2() {
  context_.loop->forget(this);
  context_.loop->remove(transport_->fd(), this);
  watchdog_.cancel();
  account();
  const ConnectionContext context{context_.loop,    context_.settings,
                                  context_.streams, this,
                                  context_.buffers, context_.access};
  http2_ = std::make_unique<Connection>(context, std::move(transport_));
  http2_->begin(std::exchange(opening_, {}));
}

void HttpConnection::take(std::string_view bytes) {
  std::string opening;
  if (!known_) {
    if (!knows_protocol(bytes)) return;
    opening = std::exchange(opening_, {});
    bytes = opening;
  }
  taking_ = true;
  while (can_take() && !bytes.empty()) {
    if (!reader_.has_begun()) request_at_ = context_.loop->now();
    switch (reader_.next(&bytes)) {
      case RequestReader::Step::kRequest:
        serve();
        break;
      case RequestReader::Step::kMore:
        if (reader_.take_expectation()) out_ += "HTTP/1.1 100 Continue\r\n\r\n";
        break;
      case RequestReader::Step::kBad:
        refuse(reader_.status(), reader_.reason());
        break;
    }
  }
  taking_ = false;
  if (!last_) pending_.assign(bytes);
  account();
}

// What the client makes the connection hold.
void HttpConnection::account() {
  const std::size_t held =
      exchange_.request().body.size() + pending_.size() + unsent();
  memory_.change(accounted_, held);
  accounted_ = held;
  if (!busy_ && !last_ && memory_.is_used_up()) {
    refuse(503, "too many requests are not complete");
  }
}

void HttpConnection::serve() {
  busy_ = true;
  last_ = last_ || draining_ || !reader_.keeps_alive();
  exchange_.mutable_request()->begun = request_at_;
  context_.handlers->serve(&exchange_);
}

void HttpConnection::refuse(int status, std::string_view line) {
  busy_ = last_ = true;
  answer_text(&exchange_, status, line);
}

// ---- Writing ----------------------------------------------------------------

void HttpConnection::send(const HttpAnswer& answer) {
  if (!busy_) return;
  write_head(answer, last_ || draining_);
  if (exchange_.request().method != "HEAD") out_ += answer.body;
  busy_ = false;
  last_ = last_ || draining_;
  idle_since_ = context_.loop->now();
  exchange_.clear();
  write_soon();
}

void HttpConnection::write_head(const HttpAnswer& answer, bool closes) {
  out_ += "HTTP/1.1 ";
  out_ += std::to_string(answer.status);
  out_ += ' ';
  out_ += reason_of(answer.status);
  out_ += "\r\nContent-Type: ";
  out_ += answer.content_type;
  out_ += "\r\nContent-Length: ";
  out_ += std::to_string(answer.body.size());
  out_ += "\r\nDate: ";
  out_ += context_.date->now();
  out_ += "\r\n";
  out_ += answer.fields;
  if (closes) {
    out_ += "Connection: close\r\n";
  } else if (!exchange_.request().field("connection").empty()) {
    out_ += "Connection: keep-alive\r\n";  // HTTP/1.0 wants to know
  }
  out_ += "\r\n";
}

// At the end of the turn all answers are written at once.
void HttpConnection::on_turn_end() {
  guarded([this] {
    if (phase_ == Phase::kOpen) flush();
    if (phase_ == Phase::kClosed) return;
    account();
    watch();
    wake_at(due());
  });
  if (phase_ == Phase::kClosed) context_.owner->closed(this);  // destroys this
}

void HttpConnection::flush() {
  if (!write_out()) return;
  if (last_ && !busy_) {
    linger();
  } else {
    go_on();
  }
}

// Writes out_; false if some of it is left.
bool HttpConnection::write_out() {
  while (unsent() > 0) {
    const IoResult put =
        transport_->write(std::string_view(out_).substr(written_));
    if (put.outcome == Io::kClosed) close_now();
    if (put.outcome != Io::kDone) {
      if (blocked_at_ == kNever) blocked_at_ = context_.loop->now();
      return false;
    }
    written_ += put.size;
    // Any progress will do.
    if (blocked_at_ != kNever) blocked_at_ = context_.loop->now();
  }
  out_.clear();
  if (blocked_at_ != kNever) out_.shrink_to_fit();
  written_ = 0;
  blocked_at_ = kNever;
  return phase_ == Phase::kOpen;
}

// With requests that had to wait for the answer.
void HttpConnection::go_on() {
  if (taking_ || busy_ || !known_) return;
  if (!pending_.empty()) {
    const std::string bytes = std::exchange(pending_, {});
    take(bytes);
    write_soon();
  }
  // The socket does not tell what the transport has already read.
  if (can_take() && transport_->has_buffered()) {
    receive();
    write_soon();
  }
}

void HttpConnection::watch() {
  std::uint32_t events = transport_->needs();
  if (blocked_at_ != kNever && events == 0) events = EPOLLOUT;
  const bool reads = can_take() || phase_ == Phase::kLingering;
  if (reads && !input_ended_) events |= EPOLLIN;
  if (events == watched_) return;
  watched_ = events;
  context_.loop->change(transport_->fd(), events, this);
}

// ---- The end ----------------------------------------------------------------

// The client gets the time to read what is on its way: closing at once could
// destroy it.
void HttpConnection::linger() {
  if (input_ended_) {
    close_now();
    return;
  }
  phase_ = Phase::kLingering;
  transport_->shut_down();
  end_at_ = after(context_.loop->now(), kLinger);
}

void HttpConnection::close_now() {
  phase_ = Phase::kClosed;
  write_soon();
}

void HttpConnection::closed(Connection* /*connection*/) {
  context_.owner->closed(this);  // destroys this
}

void HttpConnection::drain(Nanoseconds grace) {
  if (http2_ != nullptr) {
    http2_->drain(grace);
    http2_->shut_down_streams();
    return;
  }
  if (phase_ != Phase::kOpen) return;
  draining_ = true;
  const Instant now = context_.loop->now();
  end_at_ = std::min(end_at_, after(now, grace));
  idle_since_ = now;
  write_soon();
}

// ---- Time -------------------------------------------------------------------

bool HttpConnection::is_idle() const {
  return !busy_ && !reader_.has_begun() && unsent() == 0;
}

Instant HttpConnection::idle_until() const {
  const ConnectionSettings& settings = *context_.settings;
  if (draining_) return after(idle_since_, kNotice);
  if (!known_) return after(begun_, settings.handshake_timeout);
  return std::min(after(idle_since_, std::min(settings.max_idle, kIdle)),
                  drain_at_);
}

// When there is something to do if nothing happens until then.
Instant HttpConnection::due() const {
  const ConnectionSettings& settings = *context_.settings;
  if (phase_ == Phase::kLingering) return end_at_;
  Instant due = end_at_;
  if (blocked_at_ != kNever) {
    due = std::min(due, after(blocked_at_, settings.write_timeout));
  } else if (is_idle()) {
    due = std::min(due, idle_until());
  } else if (!busy_ && reader_.has_begun()) {
    due = std::min(due, after(request_at_, settings.request_timeout));
  }
  return draining_ ? due : std::min(due, drain_at_);
}

void HttpConnection::check_times() {
  const Instant now = context_.loop->now();
  wake_ = kNever;
  if (now >= drain_at_ && !draining_) drain(context_.settings->max_age_grace);
  const Instant next = due();
  if (now < next) {
    wake_at(next);
  } else if (phase_ == Phase::kLingering || now >= end_at_ ||
             blocked_at_ != kNever || !known_) {
    close_now();
  } else if (is_idle()) {
    last_ = true;
    write_soon();
  } else {
    refuse(408, "the request was not complete in time");
  }
}

void HttpConnection::wake_at(Instant at) {
  if (at == kNever || (watchdog_.is_set() && wake_ <= at)) return;
  wake_ = at;
  watchdog_.set(at);
}

}  // namespace limitree::server

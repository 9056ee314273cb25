#include "h2/connection.hpp"

#include <nghttp2/nghttp2.h>
#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "h2/session.hpp"
#include "io/trouble.hpp"

namespace limitree::server {

namespace {

// As much as is written at once; a connection keeps at most as much and one
// frame.
constexpr std::size_t kMaxWrite = 64 * 1024;

// Pings, settings, window updates and the like: more than any client needs.
// Each request allows some more, its header among them.
constexpr std::int64_t kControlFrames = 10'000;
constexpr std::int64_t kControlFramesPerSecond = 1'000;
constexpr std::int64_t kControlFramesPerRequest = 5;

// Of the body of a response, when its stream is used again.
constexpr std::size_t kMaxKept = 4096;

// What nghttp2 and the classes here keep for each stream, about.
constexpr std::size_t kStreamBytes = 1024;

// How long a client may take to read the end of a connection.
constexpr Nanoseconds kLinger = 2 * kSecond;

}  // namespace

Connection::Connection(const ConnectionContext& context,
                       std::unique_ptr<Transport> transport)
    : context_(context),
      transport_(std::move(transport)),
      memory_(&context.buffers->memory),
      watched_(EPOLLIN),
      control_(kControlFrames, kControlFramesPerSecond, context.loop->now()),
      begun_(context.loop->now()),
      heard_(begun_),
      idle_since_(begun_),
      drain_at_(after(begun_, with_jitter(context.settings->max_age))),
      watchdog_(context.loop, [this] { guarded([this] { check_times(); }); }) {
  Session::make(this);
  context_.loop->add(transport_->fd(), watched_, this);
  write_soon();
  check_times();
}

void Connection::begin(std::string_view bytes) {
  heard_ = context_.loop->now();
  guarded([this, bytes] { feed(bytes); });
  write_soon();
}

Connection::~Connection() {
  context_.loop->remove(transport_->fd(), this);
  context_.loop->forget(this);
  while (streams_ != nullptr) remove(streams_);
}

// A connection without memory cannot know what it has said: it is closed.
template <typename Work>
void Connection::guarded(const Work& work) {
  if (!server::guarded(work)) close_now();
}

void Connection::on_ready(std::uint32_t events) {
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 ||
      transport_->needs() == EPOLLOUT) {
    guarded([this] { receive(); });
  }
  write_soon();
}

// At the end of the turn what all streams have to say is written at once.
void Connection::on_turn_end() {
  guarded([this] {
    flush();
    if (phase_ != Phase::kClosed) watch();
  });
  if (phase_ == Phase::kClosed) context_.owner->closed(this);  // destroys this
}

void Connection::receive() {
  // What a client does not read is not answered for ever.
  if (phase_ == Phase::kClosed || blocked_at_ != kNever) return;
  do {
    const IoResult got = transport_->read(context_.buffers->in);
    if (got.outcome == Io::kClosed) close_now();
    if (got.outcome != Io::kDone) return;
    heard_ = context_.loop->now();
    if (phase_ == Phase::kLingering) {
      lingered_bytes_ += got.size;
      if (lingered_bytes_ <= context_.settings->max_linger_bytes) continue;
      close_now();
      return;
    }
    if (!feed({context_.buffers->in.data(), got.size})) return;
  } while (transport_->has_buffered());
}

bool Connection::feed(std::string_view bytes) {
  const ssize_t used = nghttp2_session_mem_recv(
      session_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()),
      bytes.size());
  if (used >= 0) return true;
  // A client that speaks something else cannot be told so.
  if (used == NGHTTP2_ERR_BAD_CLIENT_MAGIC ||
      nghttp2_session_terminate_session(session_.get(),
                                        used == NGHTTP2_ERR_FLOODED
                                            ? NGHTTP2_ENHANCE_YOUR_CALM
                                            : NGHTTP2_INTERNAL_ERROR) != 0) {
    close_now();
  }
  return false;
}

// Fills the buffer from the session; false if the session has nothing.
bool Connection::gather() {
  return gather_frames() || (reset_answered() && gather_frames());
}

bool Connection::gather_frames() {
  std::string& out = context_.buffers->out;
  out.clear();
  while (out.size() < kMaxWrite) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_.get(), &bytes);
    if (size < 0) close_now();
    if (size <= 0) break;
    out.append(reinterpret_cast<const char*>(bytes),
               static_cast<std::size_t>(size));
  }
  return !out.empty() && phase_ != Phase::kClosed;
}

// Clients that could still send need not: their answers are complete.  Resets
// any sooner would overtake the trailers.
bool Connection::reset_answered() {
  bool any = false;
  for (const std::int32_t id : answered_) {
    Stream* const stream = Session::find(this, id);
    if (stream == nullptr || stream->ended_) continue;
    stream->abort(NGHTTP2_NO_ERROR);
    any = true;
  }
  answered_.clear();
  return any;
}

// Writes out_; false if some of it is left.
bool Connection::write_out() {
  while (written_ < out_.size()) {
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
  return true;
}

void Connection::flush() {
  if (phase_ == Phase::kClosed || phase_ == Phase::kLingering) return;
  if (!write_out()) return;
  if (std::exchange(says_goaway_, false)) say_goaway();
  while (gather()) {
    // The buffers change their roles, so that nothing is copied.
    out_.swap(context_.buffers->out);
    if (!write_out()) {
      wake_at(after(blocked_at_, context_.settings->write_timeout));
      return;
    }
    out_.swap(context_.buffers->out);
  }
  if (phase_ != Phase::kClosed) finish_if_done();
}

// When neither side has anything to say, the client gets the time to read what
// is on its way: closing at once could destroy it.
void Connection::finish_if_done() {
  if (nghttp2_session_want_read(session_.get()) != 0 ||
      nghttp2_session_want_write(session_.get()) != 0) {
    return;
  }
  phase_ = Phase::kLingering;
  transport_->shut_down();
  end_at_ = after(context_.loop->now(), kLinger);
  wake_at(end_at_);
}

void Connection::watch() {
  std::uint32_t events = transport_->needs();
  if (blocked_at_ != kNever) {
    if (events == 0) events = EPOLLOUT;
  } else {
    events |= EPOLLIN;
  }
  if (events == watched_) return;
  watched_ = events;
  context_.loop->change(transport_->fd(), events, this);
}

void Connection::close_now() {
  phase_ = Phase::kClosed;
  write_soon();
}

// ---- Streams ----------------------------------------------------------------

bool Connection::may_open() const { return !memory_.is_used_up(); }

void Connection::opened(std::int32_t id) {
  Stream* const stream = context_.application->open();
  stream->connection_ = this;
  stream->id_ = id;
  stream->begun_ = context_.loop->now();
  stream->next_ = streams_;
  if (streams_ != nullptr) streams_->previous_ = stream;
  streams_ = latest_ = stream;
  ++stream_count_;
  memory_.take(kStreamBytes);
  control_.give(kControlFramesPerRequest);
  wake_at(after(stream->begun_, std::min(context_.settings->request_timeout,
                                         context_.settings->write_timeout)));
  nghttp2_session_set_stream_user_data(session_.get(), id, stream);
}

void Connection::remove(Stream* stream) {
  Stream* const previous = std::exchange(stream->previous_, nullptr);
  Stream* const next = std::exchange(stream->next_, nullptr);
  (previous != nullptr ? previous->next_ : streams_) = next;
  if (next != nullptr) next->previous_ = previous;
  if (latest_ == stream) latest_ = nullptr;
  --stream_count_;
  if (std::exchange(stream->lasts_, false)) --lasting_count_;
  idle_since_ = context_.loop->now();
  stream->on_close();
  unsent_bytes_ -= stream->counted_;
  memory_.give(kStreamBytes + stream->counted_);
  stream->connection_ = nullptr;
  stream->body_.clear();
  // Streams are used again: not all of them keep the room of a large answer.
  if (stream->body_.capacity() > kMaxKept) std::string().swap(stream->body_);
  stream->sent_ = stream->counted_ = stream->field_bytes_ = 0;
  stream->ended_ = stream->late_ = stream->responded_ = false;
  stream->has_body_ = stream->body_ended_ = stream->has_trailers_ =
      stream->deferred_ = false;
  context_.application->release(stream);
}

void Connection::shut_down_streams() {
  shutting_down_ = true;
  for (Stream* stream = streams_; stream != nullptr;) {
    Stream* const next = stream->next_;
    stream->on_shutdown();
    stream = next;
  }
}

// The first frame of each client.
void Connection::settings_came() {
  if (std::exchange(ready_, true)) return;
  check_times();
}

void Connection::control_came(std::size_t frames) {
  take_control(static_cast<std::int64_t>(frames));
}

// It may have cost work for nothing, so it does not allow any frames.
void Connection::stream_failed() { take_control(kControlFramesPerRequest); }

void Connection::take_control(std::int64_t frames) {
  if (control_.take(context_.loop->now(), frames)) return;
  nghttp2_session_terminate_session(session_.get(), NGHTTP2_ENHANCE_YOUR_CALM);
}

}  // namespace limitree::server

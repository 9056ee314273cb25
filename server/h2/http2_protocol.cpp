#include "h2/http2_protocol.hpp"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <utility>

namespace limitree::server {

namespace {

// This much is written at once; a connection keeps at most this much and one
// frame.
constexpr std::size_t kMaxWrite = 64 * 1024;

// The size of a frame that brings nothing; a larger one counts as several.
constexpr std::size_t kBytesPerFrame = 1024;

// About the memory that nghttp2 and the classes here keep for each stream.
constexpr std::size_t kStreamBytes = 1024;

// The shortest time between two checks of the streams: there may be many, whose
// times end one after the other.
constexpr Duration kBetweenLooks = kOneSecond;

// The content of the ping that comes with the notice.
constexpr std::string_view kNoticePing = "draining";
static_assert(kNoticePing.size() == 8);

}  // namespace

Http2Protocol::Http2Protocol(Connection* connection, Application* application)
    : connection_(connection),
      application_(application),
      session_(connection),
      begun_(connection->now()),
      idle_since_(begun_) {
  make_session();
}

Http2Protocol::~Http2Protocol() {
  while (streams_ != nullptr) remove(streams_);
}

// ---- Bytes ------------------------------------------------------------------

void Http2Protocol::on_bytes(std::string_view bytes) {
  const ssize_t used = nghttp2_session_mem_recv(
      session_.nghttp2.get(),
      reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (used >= 0) return;
  // A client that speaks something else would not understand why.
  if (used == NGHTTP2_ERR_BAD_CLIENT_MAGIC ||
      nghttp2_session_terminate_session(session_.nghttp2.get(),
                                        used == NGHTTP2_ERR_FLOODED
                                            ? NGHTTP2_ENHANCE_YOUR_CALM
                                            : NGHTTP2_INTERNAL_ERROR) != 0) {
    connection_->close();
  }
}

void Http2Protocol::on_written() {
  if (std::exchange(says_goaway_, false)) say_goaway();
  if (!gather() && reset_answered()) gather();
}

// Takes frames from the session; false if it has none.
bool Http2Protocol::gather() {
  std::string& out = connection_->out();
  while (out.size() < kMaxWrite) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t size =
        nghttp2_session_mem_send(session_.nghttp2.get(), &bytes);
    if (size < 0) connection_->close();
    if (size <= 0) break;
    out.append(reinterpret_cast<const char*>(bytes),
               static_cast<std::size_t>(size));
  }
  return !out.empty();
}

// Resets streams whose answers are complete although their clients could still
// send.  An earlier reset would overtake the trailers.
bool Http2Protocol::reset_answered() {
  bool any = false;
  for (const std::int32_t id : session_.answered) {
    const Stream* const stream = find(id);
    if (stream == nullptr || stream->state_.ended) continue;
    session_.reset(id, NGHTTP2_NO_ERROR);
    any = true;
  }
  session_.answered.clear();
  return any;
}

bool Http2Protocol::is_over() const {
  return nghttp2_session_want_read(session_.nghttp2.get()) == 0 &&
         nghttp2_session_want_write(session_.nghttp2.get()) == 0;
}

// ---- Streams ----------------------------------------------------------------

Stream* Http2Protocol::find(std::int32_t id) const {
  if (latest_ != nullptr && latest_->state_.id == id) return latest_;
  return static_cast<Stream*>(
      nghttp2_session_get_stream_user_data(session_.nghttp2.get(), id));
}

// False if the connection holds too much.
bool Http2Protocol::open(std::int32_t id) {
  if (connection_->memory().is_used_up()) {
    session_.reset(id, NGHTTP2_REFUSED_STREAM);
    return false;
  }
  Stream* const stream = application_->open();
  stream->session_ = &session_;
  stream->state_.id = id;
  stream->state_.begun = connection_->now();
  stream->state_.next = streams_;
  if (streams_ != nullptr) streams_->state_.previous = stream;
  streams_ = latest_ = stream;
  ++stream_count_;
  connection_->memory().take(kStreamBytes);
  session_.control.give(Session::kFramesPerRequest);
  const ConnectionSettings& settings = connection_->settings();
  connection_->wake_at(
      after(stream->state_.begun,
            std::min(settings.request_timeout, settings.write_timeout)));
  nghttp2_session_set_stream_user_data(session_.nghttp2.get(), id, stream);
  return true;
}

// Counts a field as RFC 9113 does.  False if the stream is reset: a byte may
// stand for a field of any size, which takes time to check, and nghttp2 does
// not check the fields of a stream that is reset.
bool Http2Protocol::take_field(Stream* stream, std::size_t bytes) {
  std::size_t& sum = stream->state_.field_bytes;
  sum += bytes + 32;
  if (sum <= connection_->settings().max_header_bytes) return true;
  session_.reset(stream->state_.id, NGHTTP2_ENHANCE_YOUR_CALM);
  return false;
}

void Http2Protocol::remove(Stream* stream) {
  Stream* const previous = stream->state_.previous;
  Stream* const next = stream->state_.next;
  (previous != nullptr ? previous->state_.next : streams_) = next;
  if (next != nullptr) next->state_.previous = previous;
  if (latest_ == stream) latest_ = nullptr;
  --stream_count_;
  if (stream->state_.lasts) --session_.lasting;
  idle_since_ = connection_->now();
  stream->on_close();
  session_.unsent_bytes -= stream->state_.counted;
  connection_->memory().give(kStreamBytes + stream->state_.counted);
  stream->reset_state();
  application_->release(stream);
}

void Http2Protocol::shut_down_streams() {
  for (Stream* stream = streams_; stream != nullptr;) {
    Stream* const next = stream->state_.next;
    stream->on_shutdown();
    stream = next;
  }
}

// Only the header of the frame has come.
void Http2Protocol::on_frame(std::uint8_t type, std::size_t size) {
  // nghttp2 counts frames that reset a stream.
  const bool brings =
      type == NGHTTP2_RST_STREAM || (type == NGHTTP2_DATA && size > 0);
  if (brings) return;
  // The size of a header has its own limit.
  const bool is_header =
      type == NGHTTP2_HEADERS || type == NGHTTP2_CONTINUATION;
  session_.take_control(
      is_header ? 1 : static_cast<std::int64_t>(1 + size / kBytesPerFrame));
}

// ---- The end ----------------------------------------------------------------

void Http2Protocol::on_drain() {
  if (connection_->is_shutting_down()) shut_down_streams();
  if (noticed_at_ != Monotonic::max()) return;
  // The answer to the ping comes after everything that the client sent before
  // it got the notice.
  nghttp2_submit_shutdown_notice(session_.nghttp2.get());
  nghttp2_submit_ping(
      session_.nghttp2.get(), NGHTTP2_FLAG_NONE,
      reinterpret_cast<const std::uint8_t*>(kNoticePing.data()));
  noticed_at_ = connection_->now();
  connection_->wake_at(after(noticed_at_, kDrainNotice));
}

void Http2Protocol::leave() {
  left_ = says_goaway_ = true;
  connection_->write_soon();
}

// GOAWAY names the last stream that is served, and the client sends later
// streams elsewhere.  So it is sent only when everything that was read has been
// handled.
void Http2Protocol::say_goaway() {
  // The streams that came after the client was told to leave; no more follow.
  if (connection_->is_shutting_down()) shut_down_streams();
  nghttp2_session* const session = session_.nghttp2.get();
  nghttp2_submit_goaway(session, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session),
                        NGHTTP2_NO_ERROR, nullptr, 0);
}

void Http2Protocol::on_pong(std::string_view content) {
  pinged_ = false;
  connection_->wake_at(
      after(connection_->heard_at(), connection_->settings().keepalive_time));
  // Only the answer to that ping shows that the client has received the notice.
  if (noticed_at_ != Monotonic::max() && !left_ && content == kNoticePing)
    leave();
}

// ---- Time -------------------------------------------------------------------

// The first frame of each client.
void Http2Protocol::on_settings() {
  if (!std::exchange(ready_, true)) connection_->wake_at(check_times());
}

Monotonic Http2Protocol::check_times() {
  return std::min({check_liveness(), check_age(), check_streams()});
}

// Checks whether the client is still there.
Monotonic Http2Protocol::check_liveness() {
  const ConnectionSettings& settings = connection_->settings();
  const Monotonic now = connection_->now();
  if (!ready_) {
    const Monotonic due = after(begun_, settings.handshake_timeout);
    if (now >= due) connection_->close();
    return due;
  }
  if (connection_->is_blocked()) return Monotonic::max();
  if (pinged_) {
    const Monotonic due = after(pinged_at_, settings.keepalive_timeout);
    if (now >= due) connection_->close();
    return due;
  }
  const Monotonic due = after(connection_->heard_at(), settings.keepalive_time);
  if (now < due) return due;
  nghttp2_submit_ping(session_.nghttp2.get(), NGHTTP2_FLAG_NONE, nullptr);
  pinged_ = true;
  pinged_at_ = now;
  connection_->write_soon();
  return after(now, settings.keepalive_timeout);
}

// Checks whether the connection has been used for long enough.
Monotonic Http2Protocol::check_age() {
  const ConnectionSettings& settings = connection_->settings();
  const Monotonic now = connection_->now();
  if (noticed_at_ != Monotonic::max()) {
    const Monotonic due =
        left_ ? Monotonic::max() : after(noticed_at_, kDrainNotice);
    if (now >= due) leave();
    return left_ ? Monotonic::max() : due;
  }
  if (stream_count_ > 0) return after(now, settings.max_idle);
  const Monotonic due = after(idle_since_, settings.max_idle);
  if (now < due) return due;
  connection_->drain(settings.max_age_grace);
  return after(now, kDrainNotice);
}

// Checks whether a request takes too long to arrive, or its client takes too
// long to read the answer.
Monotonic Http2Protocol::check_streams() {
  if (stream_count_ == 0) return Monotonic::max();
  const Duration timeout = connection_->settings().request_timeout;
  const Duration write_timeout = connection_->settings().write_timeout;
  const Duration shortest = std::min(timeout, write_timeout);
  const Monotonic now = connection_->now();
  // Streams that have no time yet cannot be due before this.
  Monotonic next_due = after(now, shortest);
  for (Stream* stream = streams_; stream != nullptr;) {
    Stream::State& state = stream->state_;
    Stream* const next = state.next;
    if (!state.ended && !state.late) {
      const Monotonic due = after(state.begun, timeout);
      if (now >= due) {
        state.late = true;
        stream->on_late();
      } else {
        next_due = std::min(next_due, due);
      }
    }
    if (stream->has_bytes()) {
      const Monotonic due = after(state.moved, write_timeout);
      if (now >= due) {
        session_.reset(state.id, NGHTTP2_CANCEL);
      } else {
        next_due = std::min(next_due, due);
      }
    }
    stream = next;
  }
  return std::max(next_due, after(now, std::min(kBetweenLooks, shortest / 8)));
}

}  // namespace limitree::server

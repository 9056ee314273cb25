#include "h2/stream.hpp"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "io/trouble.hpp"

namespace limitree::server {

namespace {

// Pings, settings, window updates and the like: more than any client needs.
constexpr std::int64_t kControlFrames = 10'000;
constexpr std::int64_t kControlFramesPerSecond = 1'000;

constexpr std::size_t kMaxFields = 16;

// The memory that a stream keeps for the body of its next response.
constexpr std::size_t kMaxKeptResponse = 4096;

// nghttp2 does not write to the texts that it borrows.
std::uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
}

class FieldPairs {
 public:
  explicit FieldPairs(std::span<const Field> fields) {
    size_ = std::min(fields.size(), kMaxFields);
    for (std::size_t i = 0; i < size_; ++i) {
      const Field& field = fields[i];
      const std::uint8_t flags =
          field.lasts
              ? NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE
              : NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_INDEX;
      pairs_[i] = {bytes_of(field.name), bytes_of(field.value),
                   field.name.size(), field.value.size(), flags};
    }
  }

  const nghttp2_nv* data() const { return pairs_.data(); }
  std::size_t size() const { return size_; }

 private:
  std::array<nghttp2_nv, kMaxFields> pairs_;
  std::size_t size_;
};

}  // namespace

void SessionEnd::operator()(nghttp2_session* session) const noexcept {
  nghttp2_session_del(session);
}

Session::Session(Connection* of)
    : connection(of),
      control(kControlFrames, kControlFramesPerSecond, of->now()),
      rollbacks(&of->memory()) {}

void Session::take_control(std::int64_t frames) {
  if (control.take(connection->now(), frames)) return;
  nghttp2_session_terminate_session(nghttp2.get(), NGHTTP2_ENHANCE_YOUR_CALM);
}

void Session::reset(std::int32_t id, std::uint32_t error) {
  if (nghttp2_submit_rst_stream(nghttp2.get(), NGHTTP2_FLAG_NONE, id, error) !=
      0) {
    connection->close();
  }
  connection->write_soon();
}

// The body as nghttp2 reads it.
struct Stream::BodySource {
  static ssize_t read(nghttp2_session* /*session*/, std::int32_t /*id*/,
                      std::uint8_t* to, std::size_t room, std::uint32_t* flags,
                      nghttp2_data_source* source, void* /*data*/) noexcept {
    auto* const stream = static_cast<Stream*>(source->ptr);
    try {
      return take(stream, {to, room}, flags);
    } catch (...) {
      tell_exception();
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
  }

  static ssize_t take(Stream* stream, std::span<std::uint8_t> to,
                      std::uint32_t* flags) {
    const std::size_t size = std::min(to.size(), stream->unsent());
    std::memcpy(to.data(), stream->body_.data() + stream->state_.sent, size);
    stream->state_.sent += size;
    stream->count_unsent();
    stream->state_.moved = stream->now();
    if (stream->unsent() > 0) return static_cast<ssize_t>(size);
    stream->body_.clear();
    stream->state_.sent = 0;
    stream->on_body_sent();
    if (size == 0 && stream->unsent() > 0) return take(stream, to, flags);
    if (stream->state_.body_ended && stream->unsent() == 0) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      if (stream->state_.has_trailers)
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      stream->leave_rest();
    } else if (size == 0 && stream->unsent() == 0) {
      stream->state_.deferred = true;
      return NGHTTP2_ERR_DEFERRED;
    }
    return static_cast<ssize_t>(size);
  }
};

// Trailers end every answer that is complete.
void Stream::leave_rollback(std::unique_ptr<Rollback> rollback) {
  if (state_.has_trailers && !state_.reset) {
    session_->rollbacks.add(state_.id, std::move(rollback));
  } else {
    Rollbacks::run(rollback.get());
  }
}

void Stream::respond(std::span<const Field> fields) {
  submit_response(fields, true);
}

void Stream::respond_only(std::span<const Field> fields) {
  submit_response(fields, false);
  leave_rest();
}

void Stream::submit_response(std::span<const Field> fields, bool has_body) {
  if (session_ == nullptr || state_.responded) return;
  state_.responded = true;
  state_.has_body = has_body;
  state_.moved = now();
  const FieldPairs pairs(fields);
  nghttp2_data_provider provider{};
  provider.source.ptr = this;
  provider.read_callback = BodySource::read;
  if (nghttp2_submit_response(session_->nghttp2.get(), state_.id, pairs.data(),
                              pairs.size(),
                              has_body ? &provider : nullptr) != 0) {
    session_->connection->close();
  }
  session_->connection->write_soon();
}

// The client need not send the rest of its request.
void Stream::leave_rest() {
  if (state_.ended || session_ == nullptr) return;
  session_->answered.push_back(state_.id);
}

void Stream::count_unsent() {
  session_->unsent_bytes += unsent() - state_.counted;
  session_->connection->memory().change(state_.counted, unsent());
  state_.counted = unsent();
}

void Stream::send_body() {
  if (session_ == nullptr) return;
  count_unsent();
  if (state_.deferred) {
    state_.deferred = false;
    state_.moved = now();
    nghttp2_session_resume_data(session_->nghttp2.get(), state_.id);
  }
  session_->connection->write_soon();
}

void Stream::end_body() {
  state_.body_ended = true;
  send_body();
}

void Stream::send_trailers(std::span<const Field> fields) {
  state_.has_trailers = true;
  const FieldPairs pairs(fields);
  if (nghttp2_submit_trailer(session_->nghttp2.get(), state_.id, pairs.data(),
                             pairs.size()) != 0) {
    session_->connection->close();
  }
}

void Stream::consumed(std::size_t bytes) {
  if (session_ == nullptr) return;
  nghttp2_session_consume_stream(session_->nghttp2.get(), state_.id, bytes);
}

void Stream::reset_state() {
  session_ = nullptr;
  state_ = {};
  body_.clear();
  // A stream does not keep the memory of a large answer.
  if (body_.capacity() > kMaxKeptResponse) std::string().swap(body_);
}

bool Stream::take_memory(std::size_t bytes) {
  const std::size_t most = session_->connection->settings().max_held_bytes;
  if (bytes > most - session_->held_bytes) return false;
  if (session_->connection->memory().is_used_up()) return false;
  session_->held_bytes += bytes;
  session_->connection->memory().take(bytes);
  return true;
}

void Stream::give_memory(std::size_t bytes) {
  if (session_ == nullptr) return;
  session_->held_bytes -= bytes;
  session_->connection->memory().give(bytes);
}

bool Stream::reads_too_slowly() const {
  return session_ != nullptr &&
         (session_->unsent_bytes >
              session_->connection->settings().max_unsent_bytes ||
          session_->connection->memory().is_used_up());
}

bool Stream::may_last() {
  if (state_.lasts || session_ == nullptr) return true;
  const std::size_t most = session_->connection->settings().max_lasting;
  if (session_->lasting >= most) return false;
  ++session_->lasting;
  state_.lasts = true;
  return true;
}

void Stream::charge_frames(std::size_t frames) {
  if (session_ == nullptr || frames == 0) return;
  session_->take_control(static_cast<std::int64_t>(frames));
}

}  // namespace limitree::server

#include "h2/stream.hpp"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "h2/connection.hpp"
#include "io/trouble.hpp"

namespace limitree::server {

namespace {

constexpr std::size_t kMaxFields = 16;

// nghttp2 does not write to the texts that it borrows.
std::uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
}

class Fields {
 public:
  explicit Fields(std::span<const Field> fields) {
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

// The body as nghttp2 reads it.
struct StreamBody {
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
    std::memcpy(to.data(), stream->body_.data() + stream->sent_, size);
    stream->sent_ += size;
    stream->count_unsent();
    stream->moved_ = stream->now();
    if (stream->unsent() > 0) return static_cast<ssize_t>(size);
    stream->body_.clear();
    stream->sent_ = 0;
    stream->on_body_sent();
    if (size == 0 && stream->unsent() > 0) return take(stream, to, flags);
    if (stream->body_ended_ && stream->unsent() == 0) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      if (stream->has_trailers_) *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      stream->leave_rest();
    } else if (size == 0 && stream->unsent() == 0) {
      stream->deferred_ = true;
      return NGHTTP2_ERR_DEFERRED;
    }
    return static_cast<ssize_t>(size);
  }
};

void Stream::respond(std::span<const Field> fields) {
  submit_response(fields, true);
}

void Stream::respond_only(std::span<const Field> fields) {
  submit_response(fields, false);
  leave_rest();
}

void Stream::submit_response(std::span<const Field> fields, bool has_body) {
  if (connection_ == nullptr || responded_) return;
  responded_ = true;
  has_body_ = has_body;
  moved_ = now();
  const Fields pairs(fields);
  nghttp2_data_provider provider{};
  provider.source.ptr = this;
  provider.read_callback = StreamBody::read;
  if (nghttp2_submit_response(connection_->session_.get(), id_, pairs.data(),
                              pairs.size(),
                              has_body ? &provider : nullptr) != 0) {
    connection_->close_now();
  }
  connection_->write_soon();
}

// A client that has more to say need not say it.
void Stream::leave_rest() {
  if (!ended_ && connection_ != nullptr) connection_->answered_.push_back(id_);
}

void Stream::count_unsent() {
  connection_->unsent_bytes_ += unsent() - counted_;
  connection_->memory_.change(counted_, unsent());
  counted_ = unsent();
}

void Stream::send_body() {
  if (connection_ == nullptr) return;
  count_unsent();
  if (deferred_) {
    deferred_ = false;
    moved_ = now();
    nghttp2_session_resume_data(connection_->session_.get(), id_);
  }
  connection_->write_soon();
}

void Stream::end_body() {
  body_ended_ = true;
  send_body();
}

void Stream::send_trailers(std::span<const Field> fields) {
  has_trailers_ = true;
  const Fields pairs(fields);
  if (nghttp2_submit_trailer(connection_->session_.get(), id_, pairs.data(),
                             pairs.size()) != 0) {
    connection_->close_now();
  }
}

void Stream::consumed(std::size_t bytes) {
  if (connection_ == nullptr) return;
  nghttp2_session_consume_stream(connection_->session_.get(), id_, bytes);
}

void Stream::abort(std::uint32_t error) {
  if (nghttp2_submit_rst_stream(connection_->session_.get(), NGHTTP2_FLAG_NONE,
                                id_, error) != 0) {
    connection_->close_now();
  }
  connection_->write_soon();
}

const Access& Stream::access() const { return connection_->context_.access; }

Instant Stream::now() const { return connection_->context_.loop->now(); }

bool Stream::take_memory(std::size_t bytes) {
  const std::size_t most = connection_->context_.settings->max_held_bytes;
  if (bytes > most - connection_->held_bytes_) return false;
  if (connection_->memory_.is_used_up()) return false;
  connection_->held_bytes_ += bytes;
  connection_->memory_.take(bytes);
  return true;
}

void Stream::give_memory(std::size_t bytes) {
  if (connection_ == nullptr) return;
  connection_->held_bytes_ -= bytes;
  connection_->memory_.give(bytes);
}

bool Stream::reads_too_slowly() const {
  return connection_ != nullptr &&
         (connection_->unsent_bytes_ >
              connection_->context_.settings->max_unsent_bytes ||
          connection_->memory_.is_used_up());
}

bool Stream::may_last() {
  if (lasts_ || connection_ == nullptr) return true;
  const std::size_t most = connection_->context_.settings->max_lasting;
  if (connection_->lasting_count_ >= most) return false;
  ++connection_->lasting_count_;
  lasts_ = true;
  return true;
}

void Stream::charge_frames(std::size_t frames) {
  if (connection_ == nullptr || frames == 0) return;
  connection_->control_came(frames);
}

}  // namespace limitree::server

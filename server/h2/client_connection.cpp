#include "h2/client_connection.hpp"

#include <nghttp2/nghttp2.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "io/failure.hpp"
#include "io/trouble.hpp"

namespace limitree::server {

namespace {

constexpr std::int32_t kWindow = 1 << 20;
constexpr std::size_t kRead = 64 * 1024;

ClientConnection* connection_of(void* data) {
  return static_cast<ClientConnection*>(data);
}

// No exception may pass through nghttp2.
template <typename Call>
int safely(const Call& call) noexcept {
  return guarded(call) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

nghttp2_nv field_of(const std::pair<std::string, std::string>& field) {
  // nghttp2 copies both, and changes neither.
  const auto bytes = [](const std::string& text) {
    return const_cast<std::uint8_t*>(
        reinterpret_cast<const std::uint8_t*>(text.data()));
  };
  return {bytes(field.first), bytes(field.second), field.first.size(),
          field.second.size(), NGHTTP2_NV_FLAG_NONE};
}

}  // namespace

struct ClientConnection::Callbacks {
  static int on_header(nghttp2_session* /*session*/,
                       const nghttp2_frame* /*frame*/, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value,
                       std::size_t value_size, std::uint8_t /*flags*/,
                       void* data) {
    return safely([&] {
      connection_of(data)->listener_->on_field(
          {reinterpret_cast<const char*>(name), name_size},
          {reinterpret_cast<const char*>(value), value_size});
    });
  }

  static int on_data(nghttp2_session* /*session*/, std::uint8_t /*flags*/,
                     std::int32_t /*id*/, const std::uint8_t* bytes,
                     std::size_t size, void* data) {
    return safely([&] {
      connection_of(data)->listener_->on_data(
          {reinterpret_cast<const char*>(bytes), size});
    });
  }

  static int on_frame(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                      void* data) {
    const bool ends =
        frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS;
    // After GOAWAY, the client should connect again.
    if (frame->hd.type == NGHTTP2_GOAWAY ||
        (ends && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)) {
      return safely([&] { connection_of(data)->end(""); });
    }
    return 0;
  }

  static int on_close(nghttp2_session* /*session*/, std::int32_t /*id*/,
                      std::uint32_t error, void* data) {
    return safely([&] {
      connection_of(data)->end(error == NGHTTP2_NO_ERROR
                                   ? std::string()
                                   : std::string("the stream ended with ") +
                                         nghttp2_http2_strerror(error));
    });
  }

  static ssize_t read_body(nghttp2_session* /*session*/, std::int32_t /*id*/,
                           std::uint8_t* to, std::size_t room,
                           std::uint32_t* /*flags*/,
                           nghttp2_data_source* source, void* /*data*/) {
    auto* const connection = static_cast<ClientConnection*>(source->ptr);
    const std::size_t size = connection->take(to, room);
    return size == 0 ? static_cast<ssize_t>(NGHTTP2_ERR_DEFERRED)
                     : static_cast<ssize_t>(size);
  }

  static nghttp2_session* make_session(ClientConnection* connection) {
    nghttp2_session_callbacks* callbacks = nullptr;
    if (nghttp2_session_callbacks_new(&callbacks) != 0) throw std::bad_alloc();
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks,
                                                              on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session* session = nullptr;
    const int error =
        nghttp2_session_client_new(&session, callbacks, connection);
    nghttp2_session_callbacks_del(callbacks);
    if (error != 0) throw std::bad_alloc();
    return session;
  }

  static std::int32_t open(
      ClientConnection* connection, nghttp2_session* session,
      const std::vector<std::pair<std::string, std::string>>& fields) {
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindow}};
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings,
                            std::size(settings));
    nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0,
                                          kWindow);
    std::vector<nghttp2_nv> sent;
    sent.reserve(fields.size());
    for (const auto& field : fields) sent.push_back(field_of(field));
    nghttp2_data_provider body{};
    body.source.ptr = connection;
    body.read_callback = read_body;
    return nghttp2_submit_request(session, nullptr, sent.data(), sent.size(),
                                  &body, nullptr);
  }
};

ClientConnection::ClientConnection(
    Loop* loop, std::unique_ptr<Transport> transport,
    const std::vector<std::pair<std::string, std::string>>& fields,
    ClientListener* listener)
    : loop_(loop), transport_(std::move(transport)), listener_(listener) {
  session_ = Callbacks::make_session(this);
  stream_ = Callbacks::open(this, session_, fields);
  if (stream_ < 0) {
    nghttp2_session_del(session_);
    throw Failure("the request is not valid");
  }
  loop_->add(transport_->fd(), EPOLLIN | EPOLLOUT, this);
}

ClientConnection::~ClientConnection() {
  loop_->remove(transport_->fd(), this);
  loop_->forget(this);
  nghttp2_session_del(session_);
}

void ClientConnection::send(std::string_view bytes) {
  body_ += bytes;
  if (deferred_) nghttp2_session_resume_data(session_, stream_);
  deferred_ = false;
  loop_->at_turn_end(this);
}

std::size_t ClientConnection::take(std::uint8_t* to, std::size_t room) {
  const std::size_t size = std::min(room, body_.size());
  std::memcpy(to, body_.data(), size);
  body_.erase(0, size);
  deferred_ = size == 0;
  return size;
}

void ClientConnection::on_ready(std::uint32_t events) {
  if ((events & ~EPOLLOUT) != 0 || transport_->needs() == EPOLLOUT) receive();
  loop_->at_turn_end(this);
}

std::string ClientConnection::why_closed() const {
  const std::string trouble = transport_->trouble();
  return trouble.empty() ? "the connection is closed" : trouble;
}

void ClientConnection::receive() {
  char block[kRead];
  while (!ended_) {
    const IoResult got = transport_->read(block);
    if (got.outcome == Io::kClosed) end(why_closed());
    if (got.outcome != Io::kDone) return;
    heard_ = true;
    const ssize_t used = nghttp2_session_mem_recv(
        session_, reinterpret_cast<const std::uint8_t*>(block), got.size);
    if (used < 0) end(nghttp2_strerror(static_cast<int>(used)));
  }
}

void ClientConnection::write_out() {
  while (!ended_) {
    if (out_.empty()) {
      const std::uint8_t* bytes = nullptr;
      const ssize_t size = nghttp2_session_mem_send(session_, &bytes);
      if (size < 0) end(nghttp2_strerror(static_cast<int>(size)));
      if (size <= 0) break;
      out_.assign(reinterpret_cast<const char*>(bytes),
                  static_cast<std::size_t>(size));
    }
    const IoResult put = transport_->write(out_);
    if (put.outcome == Io::kClosed) end(why_closed());
    if (put.outcome != Io::kDone) break;
    out_.erase(0, put.size);
  }
  if (ended_) return;
  std::uint32_t events = transport_->needs();
  if (!out_.empty() && events == 0) events = EPOLLOUT;
  loop_->change(transport_->fd(), events | EPOLLIN, this);
}

void ClientConnection::on_turn_end() {
  write_out();
  if (ended_) listener_->on_end(why_);  // may destroy this
}

// Only the first reason counts.
void ClientConnection::end(const std::string& why) {
  if (ended_) return;
  ended_ = true;
  why_ = why;
  loop_->at_turn_end(this);
}

}  // namespace limitree::server

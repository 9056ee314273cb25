#include "h2/session.hpp"

#include <nghttp2/nghttp2.h>

#include <memory>
#include <new>

#include "io/trouble.hpp"
#include "net/block_memory.hpp"

namespace limitree::server {

namespace {

constexpr std::int32_t kConnectionWindow = 1 << 20;
// Each is a request that may have cost work for nothing.  A proxy whose own
// clients go away, or whose timeout is short, resets many streams for a while.
constexpr std::uint64_t kResets = 10'000;
constexpr std::uint64_t kResetsPerSecond = 1'000;

// Of a frame that brings nothing: a larger one counts as several.
constexpr std::size_t kBytesPerFrame = 1024;

Connection* connection_of(void* user_data) {
  return static_cast<Connection*>(user_data);
}

// No exception may pass through nghttp2.
template <typename Call>
int safely(const Call& call) noexcept {
  try {
    return call();
  } catch (...) {
    tell_exception();
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }
}

std::string_view view_of(nghttp2_rcbuf* text) {
  const nghttp2_vec bytes = nghttp2_rcbuf_get_buf(text);
  return {reinterpret_cast<const char*>(bytes.base), bytes.len};
}

int on_begin_headers(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                     void* data) {
  if (frame->hd.type != NGHTTP2_HEADERS ||
      frame->headers.cat != NGHTTP2_HCAT_REQUEST) {
    return 0;
  }
  return safely([&] {
    return Session::on_begin(connection_of(data), frame->hd.stream_id);
  });
}

int on_header(nghttp2_session* /*session*/, const nghttp2_frame* frame,
              nghttp2_rcbuf* name, nghttp2_rcbuf* value, std::uint8_t /*flags*/,
              void* data) {
  const bool is_header = frame->headers.cat == NGHTTP2_HCAT_REQUEST;
  return safely([&] {
    return Session::on_field(connection_of(data), frame->hd.stream_id,
                             is_header, view_of(name), view_of(value));
  });
}

int on_data_chunk(nghttp2_session* /*session*/, std::uint8_t /*flags*/,
                  std::int32_t id, const std::uint8_t* bytes, std::size_t size,
                  void* data) {
  return safely([&] {
    return Session::on_data(connection_of(data), id,
                            {reinterpret_cast<const char*>(bytes), size});
  });
}

// Only its header has come.  Also called for frames that are then ignored.
int on_begin_frame(nghttp2_session* /*session*/, const nghttp2_frame_hd* header,
                   void* data) {
  return safely([&] {
    return Session::on_frame(connection_of(data), header->type, header->length);
  });
}

// A frame that is complete.
int on_frame_recv(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                  void* data) {
  Connection* const connection = connection_of(data);
  const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  return safely([&] {
    if (frame->hd.type == NGHTTP2_HEADERS) {
      if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
        return Session::on_headers(connection, frame->hd.stream_id, ends);
      }
      return ends ? Session::on_end(connection, frame->hd.stream_id) : 0;
    }
    if (frame->hd.type == NGHTTP2_DATA && ends) {
      return Session::on_end(connection, frame->hd.stream_id);
    }
    if (frame->hd.type == NGHTTP2_PING &&
        (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) {
      return Session::on_pong(
          connection, {reinterpret_cast<const char*>(frame->ping.opaque_data),
                       sizeof frame->ping.opaque_data});
    }
    if (frame->hd.type == NGHTTP2_SETTINGS) Session::on_settings(connection);
    return 0;
  });
}

int on_frame_send(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                  void* data) {
  if (frame->hd.type != NGHTTP2_RST_STREAM) return 0;
  return safely([&] {
    return Session::on_reset(connection_of(data), frame->rst_stream.error_code);
  });
}

int on_stream_close(nghttp2_session* /*session*/, std::int32_t id,
                    std::uint32_t /*error*/, void* data) {
  return safely([&] { return Session::on_close(connection_of(data), id); });
}

// Of a frame whose type is not one of RFC 9113: its content means nothing.
int ignore_extension(nghttp2_session* /*session*/, void** /*payload*/,
                     const nghttp2_frame_hd* /*header*/, void* /*data*/) {
  return NGHTTP2_ERR_CANCEL;
}

using Callbacks = std::unique_ptr<nghttp2_session_callbacks,
                                  decltype(&nghttp2_session_callbacks_del)>;
using Options = std::unique_ptr<nghttp2_option, decltype(&nghttp2_option_del)>;

Callbacks make_callbacks() {
  nghttp2_session_callbacks* made = nullptr;
  if (nghttp2_session_callbacks_new(&made) != 0) throw std::bad_alloc();
  nghttp2_session_callbacks_set_on_begin_headers_callback(made,
                                                          on_begin_headers);
  nghttp2_session_callbacks_set_on_begin_frame_callback(made, on_begin_frame);
  nghttp2_session_callbacks_set_on_header_callback2(made, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made,
                                                            on_data_chunk);
  nghttp2_session_callbacks_set_on_frame_recv_callback(made, on_frame_recv);
  nghttp2_session_callbacks_set_on_frame_send_callback(made, on_frame_send);
  nghttp2_session_callbacks_set_on_stream_close_callback(made, on_stream_close);
  nghttp2_session_callbacks_set_unpack_extension_callback(made,
                                                          ignore_extension);
  return {made, nghttp2_session_callbacks_del};
}

Options make_options() {
  nghttp2_option* made = nullptr;
  if (nghttp2_option_new(&made) != 0) throw std::bad_alloc();
  nghttp2_option_set_no_auto_window_update(made, 1);
  nghttp2_option_set_no_closed_streams(made, 1);
  nghttp2_option_set_max_outbound_ack(made, 1000);
  nghttp2_option_set_stream_reset_rate_limit(made, kResets, kResetsPerSecond);
  // Else nghttp2 would not tell of frames with other types.
  for (unsigned type = NGHTTP2_CONTINUATION + 1; type <= UINT8_MAX; ++type) {
    nghttp2_option_set_user_recv_extension_type(
        made, static_cast<std::uint8_t>(type));
  }
  return {made, nghttp2_option_del};
}

BlockMemory* memory_of(void* user_data) {
  return static_cast<BlockMemory*>(user_data);
}

nghttp2_mem functions_of(BlockMemory* memory) {
  return {
      memory,
      [](std::size_t size, void* data) { return memory_of(data)->take(size); },
      [](void* block, void* data) { memory_of(data)->give(block); },
      [](std::size_t count, std::size_t size, void* data) {
        return memory_of(data)->take_zeros(count, size);
      },
      [](void* block, std::size_t size, void* data) {
        return memory_of(data)->change(block, size);
      }};
}

void submit_settings(nghttp2_session* session,
                     const ConnectionSettings& settings) {
  const nghttp2_settings_entry entries[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, settings.max_streams},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
       static_cast<std::uint32_t>(settings.max_header_bytes)},
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1}};
  if (nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, entries,
                              std::size(entries)) != 0 ||
      nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0,
                                            kConnectionWindow) != 0) {
    throw std::bad_alloc();
  }
}

}  // namespace

void SessionEnd::operator()(nghttp2_session* session) const noexcept {
  nghttp2_session_del(session);
}

void Session::make(Connection* connection) {
  static const Callbacks callbacks = make_callbacks();
  static const Options options = make_options();
  nghttp2_mem memory = functions_of(&BlockMemory::of_thread());
  nghttp2_session* made = nullptr;
  if (nghttp2_session_server_new3(&made, callbacks.get(), connection,
                                  options.get(), &memory) != 0) {
    throw std::bad_alloc();
  }
  connection->session_.reset(made);
  submit_settings(made, *connection->context_.settings);
}

Stream* Session::find(Connection* connection, std::int32_t id) {
  Stream* const latest = connection->latest_;
  if (latest != nullptr && latest->id_ == id) return latest;
  return static_cast<Stream*>(
      nghttp2_session_get_stream_user_data(connection->session_.get(), id));
}

int Session::on_begin(Connection* connection, std::int32_t id) {
  if (connection->may_open()) {
    connection->opened(id);
    return 0;
  }
  nghttp2_submit_rst_stream(connection->session_.get(), NGHTTP2_FLAG_NONE, id,
                            NGHTTP2_REFUSED_STREAM);
  return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

int Session::on_field(Connection* connection, std::int32_t id, bool is_header,
                      std::string_view name, std::string_view value) {
  Stream* const stream = find(connection, id);
  if (stream == nullptr) return 0;
  // As RFC 9113 counts them.
  stream->field_bytes_ += name.size() + value.size() + 32;
  if (stream->field_bytes_ > connection->context_.settings->max_header_bytes) {
    // A byte may stand for a field of any size, whose check takes time: nghttp2
    // does not look at fields of a stream that is reset.
    stream->abort(NGHTTP2_ENHANCE_YOUR_CALM);
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }
  if (is_header) stream->on_field(name, value);
  return 0;
}

int Session::on_headers(Connection* connection, std::int32_t id, bool ends) {
  Stream* const stream = find(connection, id);
  if (stream == nullptr) return 0;
  stream->ended_ = ends;
  stream->on_request();
  if (ends) stream->on_end();
  return 0;
}

int Session::on_data(Connection* connection, std::int32_t id,
                     std::string_view bytes) {
  nghttp2_session_consume_connection(connection->session_.get(), bytes.size());
  Stream* const stream = find(connection, id);
  if (stream != nullptr) stream->on_data(bytes);
  return 0;
}

int Session::on_end(Connection* connection, std::int32_t id) {
  Stream* const stream = find(connection, id);
  if (stream == nullptr) return 0;
  stream->ended_ = true;
  stream->on_end();
  return 0;
}

int Session::on_close(Connection* connection, std::int32_t id) {
  Stream* const stream = find(connection, id);
  if (stream != nullptr) connection->remove(stream);
  return 0;
}

int Session::on_frame(Connection* connection, std::uint8_t type,
                      std::size_t size) {
  // nghttp2 counts frames that reset a stream.
  const bool brings =
      type == NGHTTP2_RST_STREAM || (type == NGHTTP2_DATA && size > 0);
  if (brings) return 0;
  // The size of a header has a limit of its own.
  const bool is_header =
      type == NGHTTP2_HEADERS || type == NGHTTP2_CONTINUATION;
  connection->control_came(is_header ? 1 : 1 + size / kBytesPerFrame);
  return 0;
}

int Session::on_reset(Connection* connection, std::uint32_t error) {
  const bool was_served =
      error != NGHTTP2_NO_ERROR && error != NGHTTP2_REFUSED_STREAM;
  if (was_served) connection->stream_failed();
  return 0;
}

int Session::on_settings(Connection* connection) {
  connection->settings_came();
  return 0;
}

int Session::on_pong(Connection* connection, std::string_view content) {
  connection->pong_came(content);
  return 0;
}

}  // namespace limitree::server

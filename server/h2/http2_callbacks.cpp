// The callbacks of nghttp2 for the HTTP/2 server.

#include <nghttp2/nghttp2.h>

#include <memory>
#include <new>

#include "h2/http2_protocol.hpp"
#include "io/trouble.hpp"
#include "net/block_memory.hpp"

namespace limitree::server {

namespace {

constexpr std::int32_t kConnectionWindow = 1 << 20;
// Each reset is a request that may have cost work for nothing.  A proxy whose
// own clients go away, or whose timeout is short, resets many streams for a
// while.
constexpr std::uint64_t kResets = 10'000;
constexpr std::uint64_t kResetsPerSecond = 1'000;

using Options = std::unique_ptr<nghttp2_option, decltype(&nghttp2_option_del)>;

Options make_options() {
  nghttp2_option* made = nullptr;
  if (nghttp2_option_new(&made) != 0) throw std::bad_alloc();
  nghttp2_option_set_no_auto_window_update(made, 1);
  nghttp2_option_set_no_closed_streams(made, 1);
  nghttp2_option_set_max_outbound_ack(made, 1000);
  nghttp2_option_set_stream_reset_rate_limit(made, kResets, kResetsPerSecond);
  // Otherwise nghttp2 would not report frames with other types.
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

// No exception may pass through nghttp2, so each is guarded.  They return 0 or
// an error of nghttp2.
struct Http2Protocol::Callbacks {
  static Http2Protocol* of(void* data) {
    return static_cast<Http2Protocol*>(data);
  }

  template <typename Call>
  static int guarded(const Call& call) noexcept {
    try {
      return call();
    } catch (...) {
      tell_exception();
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
  }

  // Does nothing for a stream that has ended.
  template <typename Call>
  static int with_stream(void* data, std::int32_t id,
                         const Call& call) noexcept {
    return guarded([&] {
      Stream* const stream = of(data)->find(id);
      if (stream != nullptr) call(stream);
      return 0;
    });
  }

  static std::string_view view_of(nghttp2_rcbuf* text) {
    const nghttp2_vec bytes = nghttp2_rcbuf_get_buf(text);
    return {reinterpret_cast<const char*>(bytes.base), bytes.len};
  }

  static bool is_request(const nghttp2_frame* frame) {
    return frame->hd.type == NGHTTP2_HEADERS &&
           frame->headers.cat == NGHTTP2_HCAT_REQUEST;
  }

  static int on_begin_headers(nghttp2_session* /*session*/,
                              const nghttp2_frame* frame, void* data) {
    if (!is_request(frame)) return 0;
    return guarded([&] {
      const bool opened = of(data)->open(frame->hd.stream_id);
      return opened ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    });
  }

  // A field in the header of a request, or in the trailers after its body.
  static int on_header(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                       nghttp2_rcbuf* name, nghttp2_rcbuf* value,
                       std::uint8_t /*flags*/, void* data) {
    return guarded([&] {
      Stream* const stream = of(data)->find(frame->hd.stream_id);
      if (stream == nullptr) return 0;
      const std::string_view name_text = view_of(name);
      const std::string_view text = view_of(value);
      if (!of(data)->take_field(stream, name_text.size() + text.size())) {
        return int{NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE};
      }
      if (is_request(frame)) stream->on_field(name_text, text);
      return 0;
    });
  }

  static int on_data_chunk(nghttp2_session* session, std::uint8_t /*flags*/,
                           std::int32_t id, const std::uint8_t* bytes,
                           std::size_t size, void* data) {
    nghttp2_session_consume_connection(session, size);
    return with_stream(data, id, [&](Stream* stream) {
      stream->on_data({reinterpret_cast<const char*>(bytes), size});
    });
  }

  // Only the header of the frame has come.  Also called for frames that are
  // then ignored.
  static int on_begin_frame(nghttp2_session* /*session*/,
                            const nghttp2_frame_hd* header, void* data) {
    return guarded([&] {
      of(data)->on_frame(header->type, header->length);
      return 0;
    });
  }

  // A frame that is complete.
  static int on_frame_recv(nghttp2_session* /*session*/,
                           const nghttp2_frame* frame, void* data) {
    switch (frame->hd.type) {
      case NGHTTP2_HEADERS:
      case NGHTTP2_DATA:
        return with_stream(data, frame->hd.stream_id, [&](Stream* stream) {
          const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
          if (ends) stream->state_.ended = true;
          if (is_request(frame)) stream->on_request();
          if (ends) stream->on_end();
        });
      case NGHTTP2_RST_STREAM:
        return guarded([&] {
          Stream* const stream = of(data)->find(frame->hd.stream_id);
          if (stream != nullptr) {
            stream->state_.reset = true;
          } else {
            of(data)->session_.rollbacks.run(frame->hd.stream_id);
          }
          return 0;
        });
      case NGHTTP2_PING:
        return guarded([&] {
          if ((frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) return 0;
          of(data)->on_pong(
              {reinterpret_cast<const char*>(frame->ping.opaque_data),
               sizeof frame->ping.opaque_data});
          return 0;
        });
      case NGHTTP2_SETTINGS:
        return guarded([&] {
          of(data)->on_settings();
          return 0;
        });
      default:
        return 0;
    }
  }

  // A request that fails may have cost work for nothing, so it does not allow
  // any frames.
  static int on_frame_send(nghttp2_session* /*session*/,
                           const nghttp2_frame* frame, void* data) {
    if (frame->hd.type != NGHTTP2_RST_STREAM) return 0;
    const std::uint32_t error = frame->rst_stream.error_code;
    if (error == NGHTTP2_NO_ERROR || error == NGHTTP2_REFUSED_STREAM) return 0;
    return guarded([&] {
      of(data)->session_.take_control(Session::kFramesPerRequest);
      return 0;
    });
  }

  static int on_stream_close(nghttp2_session* /*session*/, std::int32_t id,
                             std::uint32_t /*error*/, void* data) {
    return with_stream(data, id,
                       [&](Stream* stream) { of(data)->remove(stream); });
  }

  // The content of a frame whose type is not in RFC 9113; it has no meaning.
  static int ignore_extension(nghttp2_session* /*session*/, void** /*payload*/,
                              const nghttp2_frame_hd* /*header*/,
                              void* /*data*/) {
    return NGHTTP2_ERR_CANCEL;
  }

  static nghttp2_session_callbacks* make() {
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
    nghttp2_session_callbacks_set_on_stream_close_callback(made,
                                                           on_stream_close);
    nghttp2_session_callbacks_set_unpack_extension_callback(made,
                                                            ignore_extension);
    return made;
  }
};

void Http2Protocol::make_session() {
  static const std::unique_ptr<nghttp2_session_callbacks,
                               decltype(&nghttp2_session_callbacks_del)>
      callbacks(Callbacks::make(), nghttp2_session_callbacks_del);
  static const Options options = make_options();
  nghttp2_mem memory = functions_of(&BlockMemory::of_thread());
  nghttp2_session* made = nullptr;
  if (nghttp2_session_server_new3(&made, callbacks.get(), this, options.get(),
                                  &memory) != 0) {
    throw std::bad_alloc();
  }
  session_.nghttp2.reset(made);
  submit_settings(made, connection_->settings());
}

}  // namespace limitree::server

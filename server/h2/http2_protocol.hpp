// HTTP/2 on the connection of a client.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "h2/stream.hpp"
#include "net/connection.hpp"

namespace limitree::server {

class Http2Protocol final : public Protocol {
 public:
  Http2Protocol(Connection* connection, Application* application);
  ~Http2Protocol() override;
  Http2Protocol(const Http2Protocol&) = delete;
  Http2Protocol& operator=(const Http2Protocol&) = delete;

  void on_bytes(std::string_view bytes) override;
  void on_input_end() override { connection_->close(); }
  void on_written() override;
  bool is_over() const override;
  void on_drain() override;
  Monotonic check_times() override;

 private:
  // The callbacks of nghttp2.
  struct Callbacks;

  // With the server's settings ready to be sent.
  void make_session();
  bool gather();
  bool reset_answered();

  // Null if the stream has ended.
  Stream* find(std::int32_t id) const;
  bool open(std::int32_t id);
  bool take_field(Stream* stream, std::size_t bytes);
  void remove(Stream* stream);
  void shut_down_streams();

  void on_frame(std::uint8_t type, std::size_t size);
  void on_settings();
  void on_pong(std::string_view content);
  void leave();
  void say_goaway();
  Monotonic check_liveness();
  Monotonic check_age();
  Monotonic check_streams();

  Connection* connection_;
  Application* application_;
  Session session_;
  Stream* streams_ = nullptr;
  Stream* latest_ = nullptr;  // most calls of the session are about it
  std::size_t stream_count_ = 0;
  bool ready_ = false;        // the client's first frame has come
  bool pinged_ = false;       // and no answer yet
  bool left_ = false;         // the client knows that it should go elsewhere
  bool says_goaway_ = false;  // when it writes next
  Monotonic begun_;
  Monotonic idle_since_;
  Monotonic pinged_at_{};
  Monotonic noticed_at_ =
      Monotonic::max();  // when the client was asked to leave
};

}  // namespace limitree::server

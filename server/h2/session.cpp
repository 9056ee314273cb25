#include "h2/session.hpp"

#include <nghttp2/nghttp2.h>

namespace limitree::server {

namespace {

// Pings, settings, window updates and the like: more than any client needs.
constexpr std::int64_t kControlFrames = 10'000;
constexpr std::int64_t kControlFramesPerSecond = 1'000;

}  // namespace

void SessionEnd::operator()(nghttp2_session* session) const noexcept {
  nghttp2_session_del(session);
}

Session::Session(Connection* of)
    : connection(of),
      control(kControlFrames, kControlFramesPerSecond, of->now()) {}

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

}  // namespace limitree::server

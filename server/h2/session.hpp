// A session of nghttp2, and what its streams count together.

#ifndef LIMITREE_SERVER_H2_SESSION_HPP
#define LIMITREE_SERVER_H2_SESSION_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "io/timer.hpp"
#include "net/connection.hpp"

struct nghttp2_session;

namespace limitree::server {

// How many frames that bring nothing a client may send: `burst` at once, and
// then `per_second`.
class Allowance {
 public:
  Allowance(std::int64_t burst, std::int64_t per_second, Monotonic now)
      : interval_(kSecond / per_second),
        offset_(interval_ * burst),
        full_at_(now) {}

  // Whether so many more frames are allowed.
  bool take(Monotonic now, std::int64_t frames = 1) {
    const Monotonic full_at = std::max(full_at_, now) + interval_ * frames;
    if (full_at - now > offset_) return false;
    full_at_ = full_at;
    return true;
  }

  // Gives back `frames`.
  void give(std::int64_t frames) { full_at_ -= interval_ * frames; }

 private:
  Duration interval_;
  Duration offset_;
  Monotonic full_at_;
};

struct SessionEnd {
  void operator()(nghttp2_session* session) const noexcept;
};

struct Session {
  // Each request allows so many frames more, its header among them.
  static constexpr std::int64_t kFramesPerRequest = 5;

  explicit Session(Connection* of);

  // Ends the session if the client has sent too many.
  void take_control(std::int64_t frames);
  // Ends one stream.
  void reset(std::int32_t id, std::uint32_t error);

  Connection* connection;
  std::unique_ptr<nghttp2_session, SessionEnd> nghttp2;
  std::size_t lasting = 0;       // streams that take several messages
  std::size_t held_bytes = 0;    // by requests that are not complete
  std::size_t unsent_bytes = 0;  // of responses
  // Streams that are answered although their clients could send more.
  std::vector<std::int32_t> answered;
  Allowance control;  // frames that bring nothing
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_H2_SESSION_HPP

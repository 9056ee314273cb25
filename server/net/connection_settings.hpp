// What one connection may cost, and how long it may last.

#pragma once

#include <cstddef>
#include <cstdint>

#include "io/timer.hpp"

namespace limitree::server {

struct ConnectionSettings {
  std::uint32_t max_streams = 1000;          // at a time
  std::size_t max_header_bytes = 16 * 1024;  // of one request
  std::size_t max_lasting = 100;             // calls with many messages
  // Bytes of all requests that are not answered, and of all responses that the
  // client has not taken.
  std::size_t max_held_bytes = 16 * 1024 * 1024;
  std::size_t max_unsent_bytes = 1024 * 1024;
  // Bytes that a client may send while it gets time to read the end.
  std::size_t max_linger_bytes = 16 * 1024 * 1024;
  // The TLS handshake and the first frames must have come by then.
  Duration handshake_timeout = 10 * kOneSecond;
  // A request must be complete this long after its first frame.
  Duration request_timeout = 60 * kOneSecond;
  // A connection that takes no bytes for this long is closed.
  Duration write_timeout = 30 * kOneSecond;
  // A silent connection is asked for a sign of life, which must come in time.
  Duration keepalive_time = 300 * kOneSecond;
  Duration keepalive_timeout = 20 * kOneSecond;
  Duration max_idle = kNever;  // without a stream
  // At this age the client is asked to make another connection, and this one is
  // closed when its streams have ended, or at the end of the grace period.  The
  // age differs by up to 10% between connections.
  Duration max_age = 24 * 3600 * kOneSecond;
  Duration max_age_grace = 3600 * kOneSecond;
};

}  // namespace limitree::server

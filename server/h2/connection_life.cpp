// How long a connection lasts, and its end.

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <string_view>

#include "h2/connection.hpp"

namespace limitree::server {

namespace {

// How long it may take to learn that it should use another connection.
constexpr Nanoseconds kNotice = kSecond;

// So long after a look at the streams is the next one at the earliest: there
// may be many, whose times end one after the other.
constexpr Nanoseconds kBetweenLooks = kSecond;

// The content of the ping that comes with the notice.
constexpr std::string_view kNoticePing = "draining";
static_assert(kNoticePing.size() == 8);

}  // namespace

void Connection::wake_at(Instant at) {
  if (watchdog_.is_set() && wake_ <= at) return;
  wake_ = at;
  watchdog_.set(at);
}

void Connection::check_times() {
  const Instant next =
      std::min({check_liveness(), check_age(), check_streams()});
  if (phase_ != Phase::kClosed) wake_at(next);
}

// Whether the client is there.
Instant Connection::check_liveness() {
  const ConnectionSettings& settings = *context_.settings;
  const Instant now = context_.loop->now();
  if (!ready_) {
    const Instant due = after(begun_, settings.handshake_timeout);
    if (now >= due) close_now();
    return due;
  }
  if (blocked_at_ != kNever) {
    const Instant due = after(blocked_at_, settings.write_timeout);
    if (now >= due) close_now();
    return due;
  }
  if (pinged_) {
    const Instant due = after(pinged_at_, settings.keepalive_timeout);
    if (now >= due) close_now();
    return due;
  }
  if (phase_ == Phase::kLingering) return kNever;
  const Instant due = after(heard_, settings.keepalive_time);
  if (now < due) return due;
  nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr);
  pinged_ = true;
  pinged_at_ = now;
  write_soon();
  return after(now, settings.keepalive_timeout);
}

// Whether the connection has lasted long enough.
Instant Connection::check_age() {
  const ConnectionSettings& settings = *context_.settings;
  const Instant now = context_.loop->now();
  if (now >= end_at_) close_now();
  if (phase_ == Phase::kNoticed) {
    const Instant due = after(noticed_at_, kNotice);
    if (now >= due) leave();
    return std::min(due, end_at_);
  }
  if (phase_ != Phase::kOpen) return end_at_;
  if (now >= drain_at_) {
    drain(settings.max_age_grace);
    return after(now, kNotice);
  }
  Instant due = drain_at_;
  if (settings.max_idle != kNever && stream_count_ == 0) {
    const Instant idle = after(idle_since_, settings.max_idle);
    if (now >= idle) drain(settings.max_age_grace);
    due = std::min(due, now >= idle ? after(now, kNotice) : idle);
  } else if (settings.max_idle != kNever) {
    due = std::min(due, after(now, settings.max_idle));
  }
  return due;
}

// Whether a request takes too long to come, or its client to read the answer.
Instant Connection::check_streams() {
  if (stream_count_ == 0) return kNever;
  const Nanoseconds timeout = context_.settings->request_timeout;
  const Nanoseconds write_timeout = context_.settings->write_timeout;
  const Nanoseconds shortest = std::min(timeout, write_timeout);
  const Instant now = context_.loop->now();
  // Streams that have no time yet can be due no sooner.
  Instant next_due = after(now, shortest);
  for (Stream* stream = streams_; stream != nullptr;) {
    Stream* const next = stream->next_;
    if (!stream->ended_ && !stream->late_) {
      const Instant due = after(stream->begun_, timeout);
      if (now >= due) {
        stream->late_ = true;
        stream->on_late();
      } else {
        next_due = std::min(next_due, due);
      }
    }
    if (stream->has_bytes()) {
      const Instant due = after(stream->moved_, write_timeout);
      if (now >= due) {
        stream->abort(NGHTTP2_CANCEL);
      } else {
        next_due = std::min(next_due, due);
      }
    }
    stream = next;
  }
  return std::max(next_due, after(now, std::min(kBetweenLooks, shortest / 8)));
}

void Connection::pong_came(std::string_view content) {
  pinged_ = false;
  wake_at(after(heard_, context_.settings->keepalive_time));
  // Only the answer to that ping tells that the client has got the notice.
  if (phase_ == Phase::kNoticed && content == kNoticePing) leave();
}

void Connection::drain(Nanoseconds grace) {
  const Instant now = context_.loop->now();
  if (phase_ == Phase::kClosed || phase_ == Phase::kLingering) return;
  end_at_ = std::min(end_at_, after(now, grace));
  if (phase_ == Phase::kOpen) {
    phase_ = Phase::kNoticed;
    // The answer to the ping comes after all that the client sent before it
    // knew.
    nghttp2_submit_shutdown_notice(session_.get());
    nghttp2_submit_ping(
        session_.get(), NGHTTP2_FLAG_NONE,
        reinterpret_cast<const std::uint8_t*>(kNoticePing.data()));
    noticed_at_ = now;
  }
  wake_at(std::min(end_at_, after(now, kNotice)));
  write_soon();
}

void Connection::leave() {
  phase_ = Phase::kLeaving;
  says_goaway_ = true;
  write_soon();
}

// Names the last stream that is served, so it waits until all that was read is
// handled: the client sends the streams after that one elsewhere.
void Connection::say_goaway() {
  // Those that came since the client was told to leave; no more follow.
  if (shutting_down_) shut_down_streams();
  nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_.get()),
                        NGHTTP2_NO_ERROR, nullptr, 0);
}

}  // namespace limitree::server

// One request of HTTP/2 and its response, and what the streams of a session
// count together.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "h2/rollbacks.hpp"
#include "io/timer.hpp"
#include "net/connection.hpp"

struct nghttp2_session;

namespace limitree::server {

class Http2Protocol;

// How many frames that bring nothing a client may send: `burst` at once, and
// then `per_second`.
class Allowance {
 public:
  Allowance(std::int64_t burst, std::int64_t per_second, Monotonic now)
      : interval_(kOneSecond / per_second),
        offset_(interval_ * burst),
        full_at_(now) {}

  // Whether this many more frames are allowed.
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
  // Each request allows this many more frames, including its header.
  static constexpr std::int64_t kFramesPerRequest = 5;

  explicit Session(Connection* of);

  // Ends the session if the client has sent too many.
  void take_control(std::int64_t frames);
  // Ends one stream.
  void reset(std::int32_t id, std::uint32_t error);

  Connection* connection;
  std::unique_ptr<nghttp2_session, SessionEnd> nghttp2;
  std::size_t lasting = 0;       // streams that take several messages
  std::size_t held_bytes = 0;    // by requests that are not answered
  std::size_t unsent_bytes = 0;  // of responses
  // Streams that are answered although their clients could send more.
  std::vector<std::int32_t> answered;
  Allowance control;  // frames that bring nothing
  Rollbacks rollbacks;
};

// A header field of a response.
struct Field {
  std::string_view name;
  std::string_view value;
  bool lasts = true;  // both have static storage
};

// The protocol calls the functions named on_...; derived classes answer with
// the others, during these calls or later, until on_close().
class Stream {
 public:
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  virtual void on_field(std::string_view name, std::string_view value) = 0;
  // All fields of the request have come.
  virtual void on_request() = 0;
  virtual void on_data(std::string_view bytes) = 0;
  // No more data will come.
  virtual void on_end() = 0;
  // The request is not complete although its time is over.
  virtual void on_late() = 0;
  // The server is about to end: finish what would last.
  virtual void on_shutdown() = 0;
  // The connection has taken all of the body.  After end_body(),
  // send_trailers() may be called here.
  virtual void on_body_sent() = 0;
  // The stream has ended, for whatever reason.
  virtual void on_close() = 0;

 protected:
  Stream() = default;

  // Starts the response, with 16 fields at most.
  void respond(std::span<const Field> fields);
  // A response without a body.
  void respond_only(std::span<const Field> fields);
  bool has_responded() const { return state_.responded; }

  // Bytes to send: append, then call send_body().
  std::string& body() { return body_; }
  void send_body();
  // The body ends with what it has now.
  void end_body();
  bool has_ended_body() const { return state_.body_ended; }
  // Bytes of the body that the connection has not taken yet.
  std::size_t unsent() const { return body_.size() - state_.sent; }
  // Only from on_body_sent().
  void send_trailers(std::span<const Field> fields);

  // Bytes of on_data() have been used: the client may send as many more.
  void consumed(std::size_t bytes);

  // The bytes of the fields of the request, as RFC 9113 counts them.
  std::size_t field_bytes() const { return state_.field_bytes; }
  // Whether the client has ended its side.
  bool has_ended() const { return state_.ended; }

  // The access of the client of its connection.
  const Access& access() const { return session_->connection->access(); }
  Monotonic now() const { return session_->connection->now(); }
  // When the turn began in which the header came.
  Monotonic begun() const { return state_.begun; }
  // Takes memory of the connection, for bytes that requests hold until they are
  // answered.
  bool take_memory(std::size_t bytes);
  void give_memory(std::size_t bytes);
  // Whether the client has left so much of its responses unread that it should
  // get no more.
  bool reads_too_slowly() const;
  // Counts this stream among those of its connection that take several
  // messages, or answer with several; false if there are too many.
  bool may_last();
  // From on_close(): for an answer that the client may not have taken.
  void leave_rollback(std::unique_ptr<Rollback> rollback);
  // The request has cost as much work as this many frames that bring nothing.
  void charge_frames(std::size_t frames);

 private:
  friend class Http2Protocol;
  struct BodySource;

  // The state of one request; another one may use the stream after it.
  struct State {
    Stream* next = nullptr;  // of the same session
    Stream* previous = nullptr;
    Monotonic begun{};
    Monotonic moved{};        // when the client took bytes, or got the first
    std::size_t sent = 0;     // of the body
    std::size_t counted = 0;  // in Session::unsent_bytes
    std::size_t field_bytes = 0;
    std::int32_t id = 0;
    bool ended = false;
    bool reset = false;  // by the client
    bool late = false;
    bool lasts = false;
    bool responded = false;
    bool has_body = false;
    bool body_ended = false;
    bool has_trailers = false;
    bool deferred = false;  // the session waits for more of the body
  };

  void submit_response(std::span<const Field> fields, bool has_body);
  void leave_rest();
  void count_unsent();
  // Whether there are bytes for the client to take.
  bool has_bytes() const { return state_.has_body && !state_.deferred; }
  // Makes it ready for another request.
  void reset_state();

  Session* session_ = nullptr;
  State state_;
  std::string body_;
};

// Where streams come from.  Belongs to the thread of one loop.
class Application {
 public:
  virtual Stream* open() = 0;
  // Called after on_close().
  virtual void release(Stream* stream) = 0;

 protected:
  ~Application() = default;
};

// Makes streams of one class, and reuses those that have ended.
template <typename Made, typename... Args>
class StreamPool final : public Application {
 public:
  explicit StreamPool(Args... args) : args_(args...) {}

  Stream* open() override {
    if (free_.empty()) {
      return std::apply([](auto... args) { return new Made(args...); }, args_);
    }
    Made* const stream = free_.back().release();
    free_.pop_back();
    return stream;
  }

  void release(Stream* stream) override {
    std::unique_ptr<Made> ended(static_cast<Made*>(stream));
    if (free_.size() < kMaxFree) free_.push_back(std::move(ended));
  }

 private:
  static constexpr std::size_t kMaxFree = 1024;

  std::tuple<Args...> args_;
  std::vector<std::unique_ptr<Made>> free_;
};

}  // namespace limitree::server

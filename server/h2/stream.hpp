// One request of HTTP/2 and its response.

#ifndef LIMITREE_SERVER_H2_STREAM_HPP
#define LIMITREE_SERVER_H2_STREAM_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "io/timer.hpp"
#include "net/access.hpp"

struct nghttp2_session;

namespace limitree::server {

class Connection;

// A header field of a response.
struct Field {
  std::string_view name;
  std::string_view value;
  bool lasts = true;  // both have static storage
};

// Its connection calls the functions named on_...; classes made from it answer
// by the others, from any of these calls or later, until on_close().
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
  // All of the body has been taken.  After end_body() this is the time for
  // send_trailers().
  virtual void on_body_sent() = 0;
  // The stream has ended, for whatever reason.
  virtual void on_close() = 0;

 protected:
  Stream() = default;

  // Starts the response, with 16 fields at most.
  void respond(std::span<const Field> fields);
  // A response without a body.
  void respond_only(std::span<const Field> fields);
  bool has_responded() const { return responded_; }

  // Bytes to send: append, then call send_body().
  std::string& body() { return body_; }
  void send_body();
  // The body ends with what it has now.
  void end_body();
  bool has_ended_body() const { return body_ended_; }
  // Bytes of the body that the connection has not taken yet.
  std::size_t unsent() const { return body_.size() - sent_; }
  // Only from on_body_sent().
  void send_trailers(std::span<const Field> fields);

  // Bytes that were given to on_data(): the client may send as many more.
  void consumed(std::size_t bytes);

  // Of the fields of the request, as RFC 9113 counts them.
  std::size_t field_bytes() const { return field_bytes_; }
  // Whether the client has ended its side.
  bool has_ended() const { return ended_; }

  // Of those who use its connection.
  const Access& access() const;
  Instant now() const;
  // The time at which the turn began in which the header came.
  Instant begun() const { return begun_; }
  // Of the connection, for bytes that requests hold until they are complete.
  bool take_memory(std::size_t bytes);
  void give_memory(std::size_t bytes);
  // Whether the client has left so much of the responses of its connection
  // unread that there should not be more.
  bool reads_too_slowly() const;
  // Counts this stream among those of its connection that take several
  // messages, or answer with several; false if there are too many.
  bool may_last();
  // The request has cost as much work as so many frames that bring nothing.
  void charge_frames(std::size_t frames);

 private:
  friend class Connection;
  friend class Session;
  friend struct StreamBody;

  void submit_response(std::span<const Field> fields, bool has_body);
  void leave_rest();
  void count_unsent();
  // Whether the client is due to take bytes.
  bool has_bytes() const { return has_body_ && !deferred_; }
  void abort(std::uint32_t error);

  std::string body_;
  std::size_t sent_ = 0;
  std::size_t counted_ = 0;  // in the connection's unsent bytes
  Connection* connection_ = nullptr;
  Stream* next_ = nullptr;  // of the same connection
  Stream* previous_ = nullptr;
  Instant begun_ = 0;
  Instant moved_ = 0;  // when the client took bytes, or got the first ones
  std::size_t field_bytes_ = 0;
  std::int32_t id_ = 0;
  bool ended_ = false;
  bool late_ = false;
  bool lasts_ = false;
  bool responded_ = false;
  bool has_body_ = false;
  bool body_ended_ = false;
  bool has_trailers_ = false;
  bool deferred_ = false;  // the session waits for more of the body
};

// Where streams come from.  Belongs to the thread of one loop.
class Application {
 public:
  virtual Stream* open() = 0;
  // After on_close().
  virtual void release(Stream* stream) = 0;

 protected:
  ~Application() = default;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_H2_STREAM_HPP

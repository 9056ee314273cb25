// One connection of HTTP/2: a socket, a session of nghttp2 and its streams.

#ifndef LIMITREE_SERVER_H2_CONNECTION_HPP
#define LIMITREE_SERVER_H2_CONNECTION_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "h2/allowance.hpp"
#include "h2/settings.hpp"
#include "h2/stream.hpp"
#include "io/loop.hpp"
#include "io/transport.hpp"
#include "net/access.hpp"
#include "net/memory_budget.hpp"

namespace limitree::server {

// Buffers that all connections of a loop share, and the budget for what each of
// them holds.
struct IoBuffers {
  std::array<char, 64 * 1024> in;
  std::string out;
  MemoryBudget memory;
};

struct SessionEnd {
  void operator()(nghttp2_session* session) const noexcept;
};

class ConnectionOwner {
 public:
  // Destroys the connection, which calls nothing afterwards.
  virtual void closed(Connection* connection) = 0;

 protected:
  ~ConnectionOwner() = default;
};

// What the connections of a worker have in common.  Outlives them.
struct ConnectionContext {
  Loop* loop;
  const ConnectionSettings* settings;
  Application* application;
  ConnectionOwner* owner;
  IoBuffers* buffers;
  Access access = {};
};

class Connection final : public Watcher, public AtTurnEnd {
 public:
  Connection(const ConnectionContext& context,
             std::unique_ptr<Transport> transport);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Takes the first bytes of the client, if they have been read already.
  void begin(std::string_view bytes);

  // Asks the client to use another connection, serves what it has sent until
  // it knows, and closes when all streams have ended or after `grace`.
  void drain(Nanoseconds grace);
  // Tells all streams that the server is about to end, also those that come
  // until the client uses another connection.
  void shut_down_streams();

  void on_ready(std::uint32_t events) override;
  void on_turn_end() override;

 private:
  friend class Stream;
  friend class Session;

  // How far the end of the connection has come.
  enum class Phase { kOpen, kNoticed, kLeaving, kLingering, kClosed };

  template <typename Work>
  void guarded(const Work& work);
  void receive();
  bool feed(std::string_view bytes);
  void flush();
  bool write_out();
  bool gather();
  bool gather_frames();
  bool reset_answered();
  void finish_if_done();
  void watch();
  void close_now();
  void leave();
  void say_goaway();
  void check_times();
  Instant check_liveness();
  Instant check_age();
  Instant check_streams();
  void wake_at(Instant at);
  void write_soon() { context_.loop->at_turn_end(this); }

  // Called by the session.
  bool may_open() const;
  void opened(std::int32_t id);
  void remove(Stream* stream);
  void settings_came();
  void control_came(std::size_t frames);
  void stream_failed();
  void take_control(std::int64_t frames);
  void pong_came(std::string_view content);

  const ConnectionContext context_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<nghttp2_session, SessionEnd> session_;
  Stream* streams_ = nullptr;
  Stream* latest_ = nullptr;  // most calls of the session are about it
  std::size_t stream_count_ = 0;
  std::size_t lasting_count_ = 0;  // of those that take several messages
  std::size_t held_bytes_ = 0;     // by requests that are not complete
  std::size_t unsent_bytes_ = 0;   // of responses
  MemoryShare memory_;             // of both, and of the streams
  // Streams that are answered although their clients could send more.
  std::vector<std::int32_t> answered_;
  std::string out_;  // written in part
  std::size_t written_ = 0;
  std::size_t lingered_bytes_ = 0;  // that were read at the end
  std::uint32_t watched_;
  Phase phase_ = Phase::kOpen;
  bool ready_ = false;   // the client's first frame has come
  bool pinged_ = false;  // and no answer yet
  bool shutting_down_ = false;
  bool says_goaway_ = false;  // when it writes next
  Allowance control_;         // frames that bring nothing
  Instant begun_;
  Instant heard_;  // when bytes came last
  Instant pinged_at_ = 0;
  Instant noticed_at_ = 0;
  Instant blocked_at_ = kNever;  // since then nothing could be written
  Instant idle_since_;
  Instant drain_at_;
  Instant end_at_ = kNever;  // of the grace, or of the lingering
  Timer watchdog_;
  Instant wake_ = kNever;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_H2_CONNECTION_HPP

// The connection of a client, in any protocol: what is read and written, how
// long that may take, and the end.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "io/loop.hpp"
#include "io/transport.hpp"
#include "net/access.hpp"
#include "net/connection_settings.hpp"
#include "net/memory_budget.hpp"
#include "net/permits.hpp"

namespace limitree::server {

class Connection;

// While a connection drains: how long a client may take to send its next
// request, or to learn that it should use another connection.
inline constexpr Duration kDrainNotice = kOneSecond;

// The protocol of one client.  Its connection calls all of these.
class Protocol {
 public:
  virtual ~Protocol() = default;

  virtual void on_bytes(std::string_view bytes) = 0;
  // Whether it takes bytes now.
  virtual bool takes_bytes() const { return true; }
  // The client has closed its side.
  virtual void on_input_end() = 0;
  // All bytes are written: more may be appended to Connection::out().
  virtual void on_written() = 0;
  // Whether neither side has anything to say.
  virtual bool is_over() const = 0;
  // Asks the client to use another connection; may be called again.
  virtual void on_drain() = 0;
  // Does what is due.  Returns when the next time is over.
  virtual Monotonic check_times() = 0;
};

using MakeProtocol = std::function<std::unique_ptr<Protocol>(Connection*)>;

// Buffers that all connections of a loop share, and the budget for what each of
// them holds.
struct IoBuffers {
  std::array<char, 64 * 1024> in;
  std::string out;
  MemoryBudget memory;
};

class ConnectionOwner {
 public:
  // Destroys the connection, which makes no calls afterwards.
  virtual void closed(Connection* connection) = 0;

 protected:
  ~ConnectionOwner() = default;
};

// What the connections of a loop have in common.  Outlives them.
struct ConnectionContext {
  Loop* loop;
  const ConnectionSettings* settings;
  IoBuffers* buffers;
  ConnectionOwner* owner;
  Access access = {};
};

class Connection final : public Watcher, public AtTurnEnd {
 public:
  Connection(const ConnectionContext& context,
             std::unique_ptr<Transport> transport, Permit permit,
             const MakeProtocol& make);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Asks the client to use another connection, serves what it has sent until
  // it knows, and closes when all is answered or after `grace`.
  void drain(Duration grace);
  // Also tells lasting streams that the server is about to end.
  void shut_down(Duration grace);

  // ---- For the protocol ----

  // Destroys the protocol, and gives `bytes` to `next`.
  void change_protocol(std::unique_ptr<Protocol> next, std::string_view bytes);

  // Bytes to write: append, then call write_soon().
  std::string& out() { return out_; }
  std::size_t unsent() const { return out_.size() - written_; }
  void write_soon() { context_.loop->at_turn_end(this); }
  void close();
  // Calls Protocol::check_times() by then.
  void wake_at(Monotonic at);

  const ConnectionSettings& settings() const { return *context_.settings; }
  // The access of the client.
  const Access& access() const { return context_.access; }
  Monotonic now() const { return context_.loop->now(); }
  Monotonic heard_at() const { return heard_at_; }  // when bytes came last
  // Whether the client takes no bytes at the moment; then none are read.
  bool is_blocked() const { return blocked_at_ != Monotonic::max(); }
  bool is_draining() const { return draining_; }
  bool is_shutting_down() const { return shutting_down_; }
  MemoryShare& memory() { return memory_; }

  void on_ready(std::uint32_t events) override;
  void on_turn_end() override;

 private:
  enum class Phase { kOpen, kLingering, kClosed };

  Connection(const ConnectionContext& context,
             std::unique_ptr<Transport> transport, Permit permit);

  template <typename Work>
  void guarded(const Work& work);
  bool reads() const;
  void receive();
  void take(std::string_view bytes);
  void account();
  void flush();
  bool write_out();
  void linger();
  void watch();
  void check_times();

  const ConnectionContext context_;
  Permit permit_;
  std::unique_ptr<Transport> transport_;
  std::string out_;  // written in part
  std::size_t written_ = 0;
  std::size_t accounted_ = 0;  // of them, in memory_
  MemoryShare memory_;
  std::size_t lingered_bytes_ = 0;  // that were read at the end
  std::uint32_t watched_;
  Phase phase_ = Phase::kOpen;
  bool input_ended_ = false;
  bool draining_ = false;
  bool shutting_down_ = false;
  Monotonic heard_at_;
  Monotonic blocked_at_ =
      Monotonic::max();  // since then nothing could be written
  Monotonic drain_at_;
  Monotonic end_at_ = Monotonic::max();  // of the grace, or of the lingering
  Timer watchdog_;
  Monotonic wake_ = Monotonic::max();
  std::unique_ptr<Protocol> protocol_;
};

}  // namespace limitree::server

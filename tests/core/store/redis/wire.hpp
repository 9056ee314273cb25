// What a test needs to use a Connection: commands that keep their outcome, and
// functions that wait for it.

#pragma once

#include <poll.h>

#include <chrono>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "store/redis/common/remote.hpp"
#include "store/redis/wire/redis_dialog.hpp"
#include "store/redis/wire/resp.hpp"
#include "store/remote/wire/connection.hpp"

namespace limitree::redis {

inline std::string resp(std::initializer_list<std::string_view> words) {
  std::string bytes;
  append_command(words, &bytes);
  return bytes;
}

class TestCommand : public Command {
 public:
  TestCommand(std::initializer_list<std::string_view> words)
      : bytes_(resp(words)) {}

  std::string_view bytes() const override { return bytes_; }
  void complete(Outcome outcome) noexcept override {
    ++completions_;
    outcome_ = std::move(outcome);
  }

  bool done() const { return completions_ > 0; }
  int completions() const { return completions_; }
  const Outcome& outcome() const { return outcome_; }

  // The outcome as text: a string, status or error as it is, an integer in
  // decimal, "(nil)" or "(array)".  Without an answer, "not sent: <failure>" or
  // "unknown: <failure>".
  std::string text() const {
    if (!done()) return "not done";
    if (outcome_.fate != Outcome::Fate::kAnswered) {
      const bool unsent = outcome_.fate == Outcome::Fate::kNotSent;
      return std::string(unsent ? "not sent: " : "unknown: ") +
             failure_name(outcome_.failure);
    }
    const redisReply& reply = redis_reply(outcome_);
    if (reply.type == REDIS_REPLY_INTEGER) return std::to_string(reply.integer);
    if (reply.type == REDIS_REPLY_NIL) return "(nil)";
    if (reply.type == REDIS_REPLY_ARRAY) return "(array)";
    return {reply.str, reply.len};
  }

 private:
  const std::string bytes_;
  int completions_ = 0;
  Outcome outcome_;
};

struct WireNode {
  WireNode(const Endpoint& endpoint, const Login& login)
      : protocol(login), node(endpoint, protocol, &traffic) {}

  Traffic traffic;
  RedisProtocol protocol;
  Node node;
};

// A Connection with its own node, which connects at once.
class Wire : private WireNode, public Connection {
 public:
  Wire(const Endpoint& endpoint, const Settings& settings, const Login& login)
      : WireNode(endpoint, login), Connection(&node, settings) {
    prepare(now(), false);
  }

  void push(Command* command, bool asking = false) {
    Connection::push(command, asking, now());
  }
  void run() { Connection::run(now()); }
  bool closed() const { return !open(); }

 private:
  static Monotonic now() { return std::chrono::steady_clock::now(); }
};

// Runs the connection whenever its descriptor is ready, until `enough()`.
// Returns false if the connection closes first, or if that takes longer than
// `patience`.
template <typename Enough>
bool run_until(Wire* connection, Enough enough,
               std::chrono::milliseconds patience = std::chrono::seconds(10)) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!enough()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0 || connection->fd() < 0) return false;
    pollfd watched{connection->fd(), POLLIN, 0};
    if (connection->wants_write()) watched.events |= POLLOUT;
    if (poll(&watched, 1, static_cast<int>(left.count())) > 0) {
      connection->run();
    }
  }
  return true;
}

// Sends a command, waits for its outcome, and returns that as text().
inline std::string ask(Wire* connection,
                       std::initializer_list<std::string_view> words) {
  TestCommand command(words);
  connection->push(&command);
  connection->flush();
  run_until(connection, [&] { return command.done(); });
  if (!command.done()) connection->abandon(&command);
  return command.text();
}

}  // namespace limitree::redis

// What the tests of both drivers share: settings, commands whose answers show
// which command they belong to, and a router that a test controls.

#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/sanitizers.hpp"
#include "core/store/redis/lateness.hpp"
#include "store/redis/common/remote.hpp"
#include "store/redis/common/settings.hpp"
#include "store/redis/wire/redis_dialog.hpp"
#include "store/redis/wire/resp.hpp"
#include "store/remote/common/node.hpp"
#include "store/remote/route/router.hpp"

namespace limitree::redis {

using namespace std::chrono_literals;

// How much later than its deadline a call may return, by a Stopwatch, which
// does not see that a whole machine stands still.  A call that waits for its
// server takes seconds.
inline constexpr auto kGrace = 200ms;

inline Monotonic now() { return std::chrono::steady_clock::now(); }

inline Endpoint local(int port) {
  return {.host = "127.0.0.1", .port = static_cast<std::uint16_t>(port)};
}

inline Settings settings_for(Duration timeout = 5s) {
  Settings settings;
  settings.timeout = timeout;
  return settings;
}

// ECHO.  If each call sends its own text, the answer shows whose it is.
inline std::string echo(const std::string& text) {
  std::string bytes;
  append_command({"ECHO", text}, &bytes);
  return bytes;
}

inline std::string text_of(const Outcome& outcome) {
  if (outcome.fate != Outcome::Fate::kAnswered) {
    return std::string("<") + failure_name(outcome.failure) + ": " +
           outcome.detail + ">";
  }
  return {redis_reply(outcome).str,
          static_cast<std::size_t>(redis_reply(outcome).len)};
}

inline int open_descriptors() {
  const std::filesystem::directory_iterator folder("/proc/self/fd");
  return static_cast<int>(std::distance(begin(folder), end(folder)));
}

template <typename Body>
void on_threads(int count, Body body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

// Waits until `holds` returns true.  False if that takes longer than `limit`.
template <typename Condition>
bool soon(Condition holds, Duration limit = 60s) {
  for (const Monotonic end = now() + limit; now() < end;) {
    if (holds()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

// Sends one ECHO, after some pauses, and keeps the outcome.
class EchoTask : public Task {
 public:
  explicit EchoTask(const std::string& text, Target to = {})
      : sent(text), target_(std::move(to)), bytes_(echo(text)) {}

  Step start() override {
    if (std::exchange(starts_starved, false)) throw std::bad_alloc();
    return next();
  }
  Step resumed() override { return next(); }
  Step answered(Outcome of) override {
    if (std::exchange(starved, false)) throw std::bad_alloc();
    outcome = std::move(of);
    done = true;
    return {Step::Kind::kDone, {}};
  }
  bool accepts(const Outcome&) override { return !picky; }
  std::string_view bytes() const override { return bytes_; }
  const Target& target() const override { return target_; }

  bool right() const { return done && text_of(outcome) == sent; }

  const std::string sent;
  std::vector<Duration> pauses;  // taken from the end
  bool picky = false;            // accepts no reply
  bool starved = false;          // finds no memory for its first outcome
  bool starts_starved = false;   // finds none to start
  Outcome outcome;
  bool done = false;

 private:
  Step next() {
    if (pauses.empty()) return {Step::Kind::kSend, {}};
    const Duration pause = pauses.back();
    pauses.pop_back();
    return {Step::Kind::kPause, pause};
  }

  const Target target_;
  const std::string bytes_;
};

// Routes to one server while `known` is true, and to any endpoint that a target
// names.
class FakeRouter : public Router {
 public:
  FakeRouter(const Settings& settings, Traffic* traffic, Endpoint server)
      : protocol_(settings.login),
        traffic_(traffic),
        server_(std::move(server)) {}

  Node* route(const Target& target) override {
    if (!known && !target.endpoint) return nullptr;
    const Endpoint endpoint = target.endpoint.value_or(server_);
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Node>& node = nodes_[endpoint.text()];
    if (node == nullptr) {
      node = std::make_unique<Node>(endpoint, protocol_, traffic_);
    }
    return node.get();
  }

  // Returns a task that asks the server where it is.  The answer sets `known`
  // to `finds`.
  std::unique_ptr<Task> discovery() override {
    if (no_discovery) return nullptr;
    ++discoveries;
    if (starved.exchange(false)) throw std::bad_alloc();
    return std::make_unique<Discovery>(this);
  }

  Status discovery_failure() override {
    return to_status(Failure::kMasterDown, "sentinels", "no primary");
  }

  Check check_due(Node* node, Monotonic) override {
    if (!check.exchange(false)) return {};
    return {node, check_bytes_};
  }

  void checked(Node*, const Outcome& outcome) override {
    if (text_of(outcome) == "check") ++checks;
  }

  bool learn(Node*, const Target&, const Outcome& outcome) override {
    if (outcome.failure == Failure::kNone) return false;
    ++lessons;
    return learns;
  }

  void for_each(const std::function<void(Node*)>& visit) override {
    for (const auto& [name, node] : nodes_) visit(node.get());
  }

  void before_fork() override { mutex_.lock(); }
  void after_fork() override { mutex_.unlock(); }

  Node* node() { return route({.endpoint = server_}); }

  std::atomic<bool> known{true};
  std::atomic<bool> no_discovery{false};
  std::atomic<bool> starved{false};  // the next discovery finds no memory
  std::atomic<bool> finds{true};     // discoveries end with the server known
  std::atomic<bool> learns{false};
  std::atomic<bool> check{false};  // a check is due
  std::atomic<int> discoveries{0};
  std::atomic<int> lessons{0};
  std::atomic<int> checks{0};  // answered correctly
  Endpoint asked_first;        // by discoveries, if it has a host

 private:
  class Discovery final : public Task {
   public:
    explicit Discovery(FakeRouter* router) : router_(*router) {
      target_.endpoint = router_.asked_first.host.empty() ? router_.server_
                                                          : router_.asked_first;
    }
    Step start() override { return {Step::Kind::kSend, {}}; }
    Step resumed() override { return {Step::Kind::kSend, {}}; }
    Step answered(Outcome outcome) override {
      if (text_of(outcome) == "where") {
        router_.known = router_.finds.load();
      } else if (*target_.endpoint != router_.server_) {
        target_.endpoint = router_.server_;
        return {Step::Kind::kPause, 1ms};
      }
      return {Step::Kind::kDone, {}};
    }
    std::string_view bytes() const override { return bytes_; }
    const Target& target() const override { return target_; }

   private:
    FakeRouter& router_;
    Target target_;
    const std::string bytes_ = echo("where");
  };

  const RedisProtocol protocol_;
  Traffic* const traffic_;
  const Endpoint server_;
  const std::string check_bytes_ = echo("check");
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Node>> nodes_;
};

}  // namespace limitree::redis

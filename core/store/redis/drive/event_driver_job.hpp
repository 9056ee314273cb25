// The pieces of an EventDriver, for its own sources.

#ifndef LIMITREE_STORE_REDIS_DRIVE_EVENT_DRIVER_JOB_HPP
#define LIMITREE_STORE_REDIS_DRIVE_EVENT_DRIVER_JOB_HPP

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "store/redis/drive/event_driver.hpp"

namespace limitree::redis {

// A task under way, and the command that it is about to be answered.
struct EventDriver::Job final : Command {
  enum class State : std::uint8_t {
    kFree,
    kSent,       // pushed to the line of `link`
    kAnswered,   // in answered_
    kPausing,    // until `soon`
    kRouteless,  // in routeless_
  };

  explicit Job(EventDriver* of) : driver(*of), deadline(this), soon(this) {}

  std::string_view bytes() const override { return task->bytes(); }
  Joinable joinable() const override { return task->joinable(); }

  void complete(Outcome result) noexcept override {
    outcome = std::move(result);
    state = State::kAnswered;
    driver.answered_.push(this);
  }

  EventDriver& driver;
  std::unique_ptr<AsyncTask> owner;  // null: a discovery
  Task* task = nullptr;
  State state = State::kFree;
  Link* link = nullptr;  // where the command was sent; null: nowhere
  Monotonic sent_at{};
  std::int32_t routes = 0;  // of the present command
  bool fresh = false;       // it was sent again, over a fresh connection
  Outcome outcome;
  Timer<Job> deadline;
  Timer<Job> soon;
  Job* previous = nullptr;
  Job* next = nullptr;
};

// A command that no task waits for.
struct EventDriver::Check final : Command {
  explicit Check(EventDriver* of) : driver(*of) {}

  std::string_view bytes() const override { return words; }

  void complete(Outcome result) noexcept override {
    outcome = std::move(result);
    driver.checked_.push_back(this);
  }

  EventDriver& driver;
  Node* node = nullptr;
  std::string_view words;
  bool due = false;
  Outcome outcome;
};

struct EventDriver::Link {
  Link(Node* of, const Settings& settings, EventDriver* driver)
      : node(of), check(driver), line(of, settings) {
    check.node = of;
  }

  Node* const node;
  Check check;
  Line line;
  std::uint64_t drops = 0;  // of the node, that the line has followed
  // What the poller was told last.
  struct Watched {
    int fd = -1;
    bool write = false;
    std::uint64_t generation = 0;
    friend bool operator==(const Watched&, const Watched&) = default;
  };
  Watched watched;
  bool fd_is_final = false;  // the connection is ready
  bool touched = false;
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_DRIVE_EVENT_DRIVER_JOB_HPP

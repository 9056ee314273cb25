// Tasks that send one command, such as INCR, and keep the outcome of each call.

#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "store/redis/common/remote.hpp"
#include "store/redis/route/slot.hpp"
#include "store/redis/route/topology_reply.hpp"
#include "store/redis/wire/resp.hpp"
#include "store/remote/route/task.hpp"

namespace limitree::redis {

// One command.  It follows redirections, and tries again after READONLY and
// TRYAGAIN.
class KeyTask : public Task {
 public:
  // `key` decides the slot.
  KeyTask(std::string_view key, std::initializer_list<std::string_view> words)
      : target_{.slot = slot_of(key)} {
    append_command(words, &bytes_);
  }

  Step start() override { return {Step::Kind::kSend}; }
  Step resumed() override { return {Step::Kind::kSend}; }
  std::string_view bytes() const override { return bytes_; }
  const Target& target() const override { return target_; }

  Step answered(Outcome of) override {
    outcome = std::move(of);
    ++attempts;
    target_.endpoint.reset();
    target_.asking = false;
    switch (outcome.failure) {
      case Failure::kAsk:
        target_.endpoint =
            parse_redirect(redis_reply(outcome)).value().endpoint;
        target_.asking = true;
        return {Step::Kind::kSend};
      case Failure::kMoved:
      case Failure::kReadOnly:
        return {Step::Kind::kSend};
      case Failure::kTryAgain:
        return {Step::Kind::kPause, std::chrono::milliseconds(1)};
      default:
        return {};
    }
  }

  Outcome outcome;
  int attempts = 0;

 private:
  Target target_;
  std::string bytes_;
};

struct CountTask : KeyTask {
  explicit CountTask(std::string_view key) : KeyTask(key, {"INCR", key}) {}
};

}  // namespace limitree::redis

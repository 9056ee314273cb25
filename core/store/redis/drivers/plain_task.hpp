// Commands whose answers need no judgement, one after the other: forgetting
// buckets, asking whether a server is there.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "store/redis/common/settings.hpp"
#include "store/redis/drivers/retry.hpp"
#include "store/remote/route/task.hpp"

namespace limitree::redis {

class PlainTask final : public Task {
 public:
  explicit PlainTask(const Settings& settings) : settings_(settings) {}

  // Adds a command, for the node that has `place`.  Only before start().
  void add(const Place& place, std::string bytes) {
    commands_.push_back({place, std::move(bytes)});
  }

  Step start() override { return next(); }

  Step answered(Outcome outcome) override {
    if (outcome.failure == Failure::kNone) {
      ++at_;
      return next();
    }
    if (const auto again = retry_.after(outcome)) return *again;
    status_ = retry_.failure(outcome, settings_);
    return {};
  }

  Step resumed() override { return {Step::Kind::kSend}; }
  std::string_view bytes() const override { return commands_[at_].bytes; }
  const Target& target() const override { return retry_.target(); }

  // The first failure; commands after it have not been sent.
  Status take_status() { return std::move(status_); }

 private:
  struct Item {
    Place place;
    std::string bytes;
  };

  Step next() {
    if (at_ == commands_.size()) return {};
    retry_.begin(commands_[at_].place);
    return {Step::Kind::kSend};
  }

  const Settings& settings_;
  std::vector<Item> commands_;
  std::size_t at_ = 0;
  Retry retry_;
  Status status_;
};

}  // namespace limitree::redis
